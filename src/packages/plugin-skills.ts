import * as z from 'zod';
import { parse } from 'yaml';
import { textOf } from './check-files.ts';
import type { BundleFile } from '../stores/harness-record.ts';
import type { Skipped } from './read-plugin.ts';

export interface PluginSkill {
  readonly name: string;
  readonly description: string;
}

/** Longer front matter is none: it is read each time, and YAML takes its time. */
const maxUnits = 64 * 1024;

const frontMatter = z.object({
  name: z
    .string('The front matter needs a name.')
    .max(64, 'The name has more than 64 characters.')
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'The name is not made of a-z, 0-9 and single hyphens.'),
  description: z
    .string('The front matter needs a description.')
    .refine((text) => text.trim() !== '' && characters(text) <= 1024, 'The description is not 1 to 1024 characters.'),
  license: z.string('The license must be text.').nullish(),
  compatibility: z
    .string('The compatibility must be text.')
    .refine((text) => characters(text) <= 500, 'The compatibility has more than 500 characters.')
    .nullish(),
  metadata: z.record(z.string(), z.unknown(), 'The metadata must be a map.').nullish(),
  'allowed-tools': z.union([z.string(), z.array(z.string())], 'The allowed tools must be text.').nullish(),
});

/** The folders directly in `skills/` that hold a `SKILL.md`; those that are no skill are named (UP-36). */
export function readSkills(files: readonly BundleFile[]): {
  readonly found: readonly PluginSkill[];
  readonly skipped: readonly Skipped[];
} {
  const found: PluginSkill[] = [];
  const skipped: Skipped[] = [];
  for (const file of files) {
    const folder = /^skills\/([^/]+)\/SKILL\.md$/.exec(file.path)?.[1];
    if (folder === undefined) continue;
    const skill = readSkill(textOf(file));
    const wrong = 'fault' in skill ? skill.fault : skill.name === folder ? null : 'Its name is not that of its folder.';
    if (wrong !== null) skipped.push({ path: `skills/${folder}`, reason: wrong });
    else if ('name' in skill) found.push(skill);
  }
  return { found, skipped };
}

function readSkill(text: string | null): PluginSkill | { readonly fault: string } {
  const block = text === null ? undefined : /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1];
  if (block === undefined || block.length > maxUnits)
    return { fault: 'There is no front matter between two lines of three hyphens.' };
  const { data, error } = frontMatter.safeParse(parseYaml(block));
  if (data !== undefined) return { name: data.name, description: data.description };
  const issue = error.issues[0];
  return { fault: issue === undefined || issue.path.length === 0 ? 'The front matter is no YAML map.' : issue.message };
}

/** An emoji is one, not two. */
function characters(text: string): number {
  return Array.from(text).length;
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' });
  } catch {
    return null;
  }
}
