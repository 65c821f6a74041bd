import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import type { Tool } from '../tool.ts';
import { createReadSkill } from './read-skill-tool.ts';
import { readSkill, skillFile, type Skill } from './read-skill-file.ts';

export interface OpenedSkills {
  /** For the system prompt: each skill in one line; '' when there is none. */
  readonly prompt: string;
  readonly tools: readonly Tool[];
}

const maxSkills = 100;
const introduction =
  'Skills hold instructions for certain kinds of work. When one fits the task, read it with read_skill before you begin.';

export type NamedSkill = Pick<Skill, 'name' | 'folder' | 'isShown'>;

export interface SkillOptions {
  readonly logger: Logger;
  /** Skills whose folders have other names than they do: theirs are given, and win over those that are found. */
  readonly named?: readonly NamedSkill[];
  /** Names that are not offered. */
  readonly suppressed?: readonly string[];
}

/**
 * The skills of these folders: each is a skill itself, or holds skills in folders of its own. Only front matter is read
 * now. What is broken, twice there or too much is named in a warning and left out. Never rejects.
 */
export async function openSkills(
  folders: readonly string[],
  { logger, named = [], suppressed = [] }: SkillOptions,
): Promise<OpenedSkills> {
  const skills = new Map<string, Skill>();
  for (const skill of named) skills.set(skill.name, await readNamed(skill));
  const leaveOut = (folder: string, cause: string) =>
    logger.warn(`The skill in ${folder} is left out.`, { folder, cause });
  for (const folder of await findSkills(folders, leaveOut)) {
    try {
      const skill = await readSkill(folder);
      if (suppressed.includes(skill.name)) continue;
      if (skills.has(skill.name)) leaveOut(folder, 'Another skill has this name.');
      else if (skills.size === maxSkills) leaveOut(folder, `There are more than ${maxSkills} skills.`);
      else skills.set(skill.name, skill);
    } catch (error) {
      leaveOut(folder, error instanceof Error ? error.message : String(error));
    }
  }
  if (skills.size === 0) return { prompt: '', tools: [] };
  const found = [...skills.values()];
  const lines = found.map(({ name, description }) => `- ${name}: ${description}`);
  return { prompt: [introduction, ...lines].join('\n'), tools: [createReadSkill(found)] };
}

/** Of a skill that was given its name nothing else is asked (U-122). */
async function readNamed(skill: NamedSkill): Promise<Skill> {
  const read = await readSkill(skill.folder).catch(() => null);
  return { ...skill, description: read?.description ?? 'Read it to see what it is for.' };
}

async function findSkills(
  folders: readonly string[],
  leaveOut: (folder: string, cause: string) => void,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const given of folders.map((folder) => resolve(folder))) {
    const isSkill = existsSync(join(given, skillFile));
    const names = isSkill ? [''] : await readdir(given).catch(() => []);
    const inside = names.toSorted().map((name) => join(given, name));
    const skills = inside.filter((folder) => existsSync(join(folder, skillFile)));
    if (skills.length === 0) leaveOut(given, `There is no ${skillFile} in it, nor in a folder of it.`);
    found.push(...skills);
  }
  return found;
}
