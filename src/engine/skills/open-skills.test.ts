import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runIds, sessionIds } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { openSkills, type OpenedSkills } from './open-skills.ts';

let folder: string;
let log: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reins-skills-'));
  log = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}
const skill = (name: string, description = 'Does things.', body = '# How\nLike this.\n') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;

function open(...folders: string[]): Promise<OpenedSkills> {
  const warn = (message: string, facts: JsonObject = {}) => void log.push(`${message} ${JSON.stringify(facts)}`);
  return openSkills(folders.length > 0 ? folders.map((each) => join(folder, each)) : [folder], {
    logger: { warn, info: warn, error: warn },
  });
}

async function read({ tools }: OpenedSkills, input: JsonObject) {
  const [tool] = tools;
  if (tool === undefined) throw new Error('no tool');
  return tool.run(input, {
    runId: runIds.make('r'),
    sessionId: sessionIds.make('s'),
    executionKey: 'r:1:c',
    toolAttempt: 1,
    signal: new AbortController().signal,
    workspace: '/',
    show() {},
  });
}

test('E-904: name and description are in the prompt, the body is read when asked for, as it is then', async () => {
  write('pdf/SKILL.md', skill('pdf', '>\n  Fills forms\n  in PDF files.'));
  write('csv/SKILL.md', skill('csv'));
  const skills = await open();
  expect(skills.prompt.split('\n').slice(1)).toEqual(['- csv: Does things.', '- pdf: Fills forms in PDF files.']);
  expect(skills.prompt).not.toContain('Like this');
  expect(skills.tools).toMatchObject([{ name: 'read_skill', useKind: 'readonly', replay: 'safe' }]);
  expect(await read(skills, { name: 'pdf' })).toEqual({ content: '# How\nLike this.\n' });
  write('pdf/SKILL.md', skill('pdf', 'x', 'Changed.'));
  expect(await read(skills, { name: 'pdf' })).toEqual({ content: 'Changed.' });
});

test('other files of a skill are named with its body, and read on demand', async () => {
  write('pdf/SKILL.md', skill('pdf'));
  write('pdf/reference/fields.md', 'Fields.');
  write('pdf/logo.png', new Uint8Array([0, 1]));
  const skills = await open('pdf');
  expect((await read(skills, { name: 'pdf' })).content).toContain('skill:]\nlogo.png\nreference/fields.md');
  expect(await read(skills, { name: 'pdf', file: 'reference/fields.md' })).toEqual({ content: 'Fields.' });
  expect(await read(skills, { name: 'pdf', file: 'logo.png' })).toMatchObject({ isError: true });
});

test('E-904: nothing outside of the folder is read, by path or by link', async () => {
  write('secret.md', 'secret');
  write('a/SKILL.md', skill('a'));
  write('b/SKILL.md', skill('b'));
  symlinkSync('../secret.md', join(folder, 'a/link.md'));
  symlinkSync('..', join(folder, 'a/up'));
  const skills = await open();
  for (const file of [
    '../secret.md',
    '../b/SKILL.md',
    'link.md',
    'up/secret.md',
    join(folder, 'secret.md'),
    'nothing.md',
    '.',
  ]) {
    const output = await read(skills, { name: 'a', file });
    expect(output.isError).toBe(true);
    expect(output.content).not.toContain(folder + '/a');
  }
  expect(await read(skills, { name: '../b' })).toMatchObject({ isError: true });
});

test('a broken skill is named in a warning and takes nothing from the others', async () => {
  write('good/SKILL.md', skill('good'));
  write('good-too/SKILL.md', `\uFEFF${skill('good-too').replaceAll('\n', '\r\n')}`);
  write('no-front/SKILL.md', '# Only a body');
  write('bad-yaml/SKILL.md', '---\nname: [\n---\n');
  write('bad-name/SKILL.md', skill('Bad--Name'));
  write('no-description/SKILL.md', skill('no-description', "''"));
  write('long/SKILL.md', skill('long', 'x'.repeat(1025)));
  write('twin/SKILL.md', skill('good'));
  write('binary/SKILL.md', new Uint8Array(100));
  write('empty/README.md', '');
  mkdirSync(join(folder, 'pipe'));
  symlinkSync('../good/SKILL.md', join(folder, 'pipe/SKILL.md'));
  const { prompt } = await open();
  expect(prompt.split('\n').slice(1)).toEqual(['- good: Does things.', '- good-too: Does things.']);
  const named = ['bad-name', 'bad-yaml', 'binary', 'long', 'no-description', 'no-front', 'pipe', 'twin'];
  expect(log.map((line) => /([\w-]+)","cause/.exec(line)?.[1])).toEqual(named);
});

test('without a skill there is no prompt and no tool', async () => {
  expect(await openSkills([], { logger: { warn() {}, info() {}, error() {} } })).toEqual({ prompt: '', tools: [] });
  expect(await open('missing')).toEqual({ prompt: '', tools: [] });
  expect(log).toHaveLength(1);
});
