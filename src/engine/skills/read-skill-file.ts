import { isJsonObject, toJsonValue } from '../../core/json.ts';
import { readTextFile } from '../tools/read-text.ts';
import { ToolRefusal } from '../tools/tool-refusal.ts';
import { locate } from '../tools/workspace-path.ts';

export const skillFile = 'SKILL.md';

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Absolute path. */
  readonly folder: string;
  /** Whether commands of the agent find the folder under that path. */
  readonly isShown?: boolean;
}

const maxNameUnits = 64;
const maxDescriptionUnits = 1024;

/** A text file of the folder, never one outside of it. @throws ToolRefusal, or a system error. */
export async function readTextOf(folder: string, path: string): Promise<string> {
  await using place = await locate(folder, path);
  const { bytes } = await readTextFile(place, path);
  return new TextDecoder().decode(bytes);
}

/** What the front matter says (UP-36). @throws an error whose message says what is wrong. */
export async function readSkill(folder: string): Promise<Skill> {
  const { frontMatter } = splitSkill(await readTextOf(folder, skillFile));
  if (frontMatter === null) throw new ToolRefusal('There is no front matter between two lines of three hyphens.');
  const { parse } = await import('yaml');
  const fields = toJsonValue(parse(frontMatter, { logLevel: 'error' }));
  const { name = null, description = null } = isJsonObject(fields) ? fields : {};
  if (typeof name !== 'string' || name.length > maxNameUnits || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    throw new ToolRefusal(`The name is not 1 to ${maxNameUnits} of a-z, 0-9 and single hyphens.`);
  if (typeof description !== 'string' || description.trim() === '' || description.length > maxDescriptionUnits)
    throw new ToolRefusal(`The description is not 1 to ${maxDescriptionUnits} characters.`);
  return { name, description: description.trim().replaceAll(/\s+/g, ' '), folder };
}

export function splitSkill(text: string): { readonly frontMatter: string | null; readonly body: string } {
  const found = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text);
  return { frontMatter: found?.[1] ?? null, body: text.slice(found?.[0].length ?? 0) };
}
