import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { readFile } from 'node:fs/promises';
import { isRecord } from '../../protocol/parts/part-json.ts';
import type { V1Skill } from './harness-v1.ts';

/** Skills as texts: their other files stay where they are, and are named. */
export function readSkills(folders: readonly string[]): Promise<readonly V1Skill[]> {
  return Promise.all(folders.map(readSkill));
}

async function readSkill(folder: string): Promise<V1Skill> {
  const text = await readFile(join(folder, 'SKILL.md'), 'utf8');
  const [, head = '', body = text] = /^---\r?\n([^]*?)\r?\n---\r?\n?([^]*)$/.exec(text) ?? [];
  const facts: unknown = parse(head);
  const { name = basename(folder), description = '' } = isRecord(facts) ? facts : {};
  return { name: String(name), description: String(description), content: `${body}\n\nIts files are in ${folder}.` };
}
