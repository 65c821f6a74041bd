import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../core/json.ts';
import type { ToolOutput } from '../tool.ts';
import { fileTools } from './file-tools.ts';
import { toolContext } from '../../testing/tool-context.ts';

let workspace: string;

beforeEach(() => {
  workspace = mkdtempSync(join(realpathSync(tmpdir()), 'reins-tools-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), content);
}
const onDisk = (path: string) => readFileSync(join(workspace, path), 'utf8');

async function run(name: string, input: JsonObject, signal = new AbortController().signal): Promise<ToolOutput> {
  const tool = fileTools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool.run(input, toolContext({ signal, workspace }));
}
const lines = (output: ToolOutput) => output.content.split('\n');

test('9.6: names, required arguments and replay policies are those of the table', () => {
  const table = fileTools.map(({ name, replay, inputSchema }) => [name, replay, inputSchema['required']]);
  expect(table).toEqual([
    ['read_file', 'safe', ['path']],
    ['list_files', 'safe', []],
    ['glob', 'safe', ['pattern']],
    ['grep', 'safe', ['pattern']],
    ['write_file', 'idempotent', ['path', 'content']],
    ['edit_file', 'manual', ['path', 'old', 'new']],
  ]);
});

test('E-514: arguments of a wrong type are an error result, whoever left the schema check out', async () => {
  for (const { name } of fileTools) expect(await run(name, { path: 1 })).toMatchObject({ isError: true });
  expect(await run('read_file', { path: 'a', offset: -1 })).toMatchObject({ isError: true });
});

test('E-536: a call whose signal is aborted does nothing and gives no answer', async () => {
  await expect(run('write_file', { path: 'a', content: '' }, AbortSignal.abort())).rejects.toThrow('abort');
  expect(readdirSync(workspace)).toEqual([]);
});

describe('read_file', () => {
  test('gives the text as it is: byte order mark, CR LF and a missing last line end are kept', async () => {
    const text = '\ufeffone\r\ntwo\n\nlast';
    write('a.txt', text);
    expect(await run('read_file', { path: 'a.txt' })).toEqual({ content: text });
  });

  test('gives a part and says how to go on', async () => {
    write('a.txt', 'one\ntwo\nthree\nfour\n');
    expect(lines(await run('read_file', { path: 'a.txt', offset: 2, limit: 2 }))).toEqual([
      'two',
      'three',
      '[Lines 2 to 3 of 4. Go on with offset 4.]',
    ]);
    expect(await run('read_file', { path: 'a.txt', offset: 4 })).toEqual({ content: 'four\n' });
    expect(await run('read_file', { path: 'a.txt', offset: 5 })).toMatchObject({ isError: true });
  });

  test('the parts that its notes lead to are the whole file, each bounded', async () => {
    const text = Array.from({ length: 9000 }, (_, index) => `line ${index} ${'x'.repeat(index % 90)}\n`).join('');
    write('long.txt', text);
    let whole = '';
    for (let offset: number | undefined = 1; offset !== undefined;) {
      const { content } = await run('read_file', { path: 'long.txt', offset });
      expect(content.length).toBeLessThan(101_000);
      const note = /\n\[Lines .* Go on with offset (\d+)\.\]$/.exec(content);
      whole += note === null ? content : `${content.slice(0, note.index)}\n`;
      offset = note === null ? undefined : Number(note[1]);
    }
    expect(whole).toBe(text);
  });

  test('E-551: a line that is too long is cut between code points and said to be', async () => {
    write('a.txt', `a${'🐈'.repeat(60_000)}\nnext`);
    const { content } = await run('read_file', { path: 'a.txt' });
    expect(content.isWellFormed()).toBe(true);
    expect(content).toContain('[Line 1 has 120002 characters and is cut.]\n[Lines 1 to 1 of 2. Go on with offset 2.]');
  });

  test('E-551: bytes that are not UTF-8 become U+FFFD', async () => {
    write('a.txt', Buffer.from([0x61, 0xff, 0xed, 0xa0, 0x80]));
    expect(await run('read_file', { path: 'a.txt' })).toEqual({ content: 'a\ufffd\ufffd\ufffd\ufffd' });
  });

  test('refuses binary files and folders with a sentence, and says that an empty file is empty', async () => {
    write('bin', Buffer.from([1, 0, 2]));
    write('empty', '');
    expect(await run('read_file', { path: 'bin' })).toEqual({
      content: '"bin" is a binary file, not text.',
      isError: true,
    });
    expect(await run('read_file', { path: '' })).toMatchObject({ isError: true });
    expect(await run('read_file', { path: 'no/such' })).toEqual({
      content: 'There is nothing at "no/such".',
      isError: true,
    });
    expect(await run('read_file', { path: 'empty' })).toEqual({ content: '[The file is empty.]' });
  });
});

describe('write_file', () => {
  test('makes folders, writes the whole content, and reports size and digest', async () => {
    const sha256 = createHash('sha256').update('grüße').digest('hex');
    const created = { kind: 'create', path: 'a/b/c.txt', bytes: 7, sha256 };
    expect((await run('write_file', { path: './a//b/c.txt', content: 'grüße' })).files).toEqual([created]);
    expect(onDisk('a/b/c.txt')).toBe('grüße');
    const again = await run('write_file', { path: 'a/b/c.txt', content: 'grüße' });
    expect(again.files).toEqual([{ ...created, kind: 'modify' }]);
    expect(readdirSync(join(workspace, 'a/b'))).toEqual(['c.txt']);
  });

  test('refuses a folder and a file in the way', async () => {
    write('a/b.txt', 'b');
    expect(await run('write_file', { path: 'a', content: '' })).toEqual({ content: '"a" is a folder.', isError: true });
    expect(await run('write_file', { path: 'a/b.txt/c', content: '' })).toMatchObject({ isError: true });
    expect(onDisk('a/b.txt')).toBe('b');
  });
});

const edit = (old: string, text: string, all?: boolean) =>
  run('edit_file', { path: 'a.txt', old, new: text, ...(all === undefined ? {} : { all }) });

describe('edit_file', () => {
  test('replaces exact text and reports the change', async () => {
    write('a.txt', '\ufeffone two\r\nthree');
    const output = await edit('two\r\n', '$& $1\n');
    expect(output).toMatchObject({
      content: 'Replaced 1 place in "a.txt".',
      files: [{ kind: 'modify', path: 'a.txt' }],
    });
    expect(onDisk('a.txt')).toBe('\ufeffone $& $1\nthree');
  });

  test('text that is missing or not unique is an error that says so, and nothing is changed', async () => {
    write('a.txt', 'x = 1;\r\nx = 1;\r\n');
    expect(await edit('x = 2', 'y')).toMatchObject({ isError: true, content: expect.stringContaining('not found') });
    expect(await edit('x = 1;\nx', 'y')).toMatchObject({ isError: true, content: expect.stringContaining('CR LF') });
    expect(await edit('x = 1', 'y')).toMatchObject({
      isError: true,
      content: expect.stringContaining('found 2 times'),
    });
    expect(await edit('', 'y')).toMatchObject({ isError: true });
    expect(await edit('x', 'x')).toMatchObject({ isError: true });
    expect(onDisk('a.txt')).toBe('x = 1;\r\nx = 1;\r\n');
    expect(await edit('x = 1', 'y', true)).toMatchObject({ content: 'Replaced 2 places in "a.txt".' });
    expect(onDisk('a.txt')).toBe('y;\r\ny;\r\n');
  });

  test('an edit that would grow without bound is refused before it is built', async () => {
    write('a.txt', 'a'.repeat(1_000_000));
    expect(await edit('a', 'b'.repeat(1_000_000), true)).toMatchObject({ isError: true });
  });

  test('a file with bytes that are not UTF-8 is refused: they would be lost', async () => {
    write('a.txt', Buffer.from([0x61, 0xff]));
    expect(await edit('a', 'b')).toMatchObject({ isError: true, content: expect.stringContaining('UTF-8') });
  });
});

describe('list_files', () => {
  test('lists one level in order: folders end with a slash, links with an at sign', async () => {
    write('b/c/d.txt', '');
    write('a.txt', '');
    write('.env', '');
    write('line\nbreak', '');
    symlinkSync('/etc', join(workspace, 'link'));
    expect(lines(await run('list_files', {}))).toEqual(['.env', 'a.txt', 'b/', '"line\\nbreak"', 'link@']);
    expect(lines(await run('list_files', { path: 'b' }))).toEqual(['c/']);
  });

  test('says so when a folder is empty, or holds more than it shows', async () => {
    mkdirSync(join(workspace, 'none'));
    expect(await run('list_files', { path: 'none' })).toEqual({ content: '[The folder is empty.]' });
    for (let index = 0; index < 1001; index++) write(`many/${index}`, '');
    const listed = lines(await run('list_files', { path: 'many' }));
    expect(listed).toHaveLength(1001);
    expect(listed.at(-1)).toContain('1000 of 1001 entries');
  });
});

describe('glob and grep', () => {
  beforeEach(() => {
    write('src/a.ts', 'const a = 1;\r\nexport { a };\n');
    write('src/deep/b.ts', 'const b = a;\n');
    write('.github/ci.yml', 'name: a\n');
    write('readme.md', '# A\n');
    write('node_modules/x/index.ts', 'const a = 1;');
    write('.git/config', 'const a = 1;');
    write('image.png', Buffer.from([0x61, 0, 0x61]));
    symlinkSync('..', join(workspace, 'src/up'));
    symlinkSync('/etc', join(workspace, 'etc'));
  });

  test('glob gives paths relative to the working directory, in order, and follows no link', async () => {
    expect(lines(await run('glob', { pattern: '**/*.ts' }))).toEqual(['src/a.ts', 'src/deep/b.ts']);
    expect(lines(await run('glob', { pattern: '*.ts', path: 'src' }))).toEqual(['src/a.ts']);
    expect(lines(await run('glob', { pattern: '**/*.{yml,md}' }))).toEqual(['.github/ci.yml', 'readme.md']);
    expect(lines(await run('glob', { pattern: 'etc/*' }))).toEqual(['[No file matches.]']);
    expect(lines(await run('glob', { pattern: '*.ts', path: 'node_modules/x' }))).toEqual(['node_modules/x/index.ts']);
    expect(await run('glob', { pattern: '../*' })).toMatchObject({ isError: true });
    expect(await run('glob', { pattern: '*', path: 'readme.md' })).toMatchObject({ isError: true });
  });

  test('grep gives path, line and text, without binary files, links, .git and node_modules', async () => {
    expect(lines(await run('grep', { pattern: '\\ba;?$' }))).toEqual([
      '.github/ci.yml:1:name: a',
      'src/deep/b.ts:1:const b = a;',
    ]);
    expect(lines(await run('grep', { pattern: '(?i)^# a', glob: '*.md' }))).toEqual(['readme.md:1:# A']);
    expect(lines(await run('grep', { pattern: '};$', path: 'src/a.ts' }))).toEqual(['src/a.ts:2:export { a };']);
    expect(lines(await run('grep', { pattern: 'const', path: 'src', glob: 'deep/*.ts' }))).toEqual([
      'src/deep/b.ts:1:const b = a;',
    ]);
    expect(lines(await run('grep', { pattern: 'nowhere' }))).toEqual(['[No line matches.]']);
  });

  test('grep bounds matches and line length, and says so', async () => {
    write('many.txt', 'match\n'.repeat(2000));
    write('long.txt', `match${'x'.repeat(100_000)}`);
    const found = lines(await run('grep', { pattern: 'match' }));
    expect(found).toHaveLength(501);
    expect(found[0]).toHaveLength('long.txt:1:'.length + 500);
    expect(found.at(-1)).toContain('More than 500 lines match');
  });

  test('an invalid expression is an error result', async () => {
    expect(await run('grep', { pattern: '(' })).toEqual({
      content: '"(" is not a valid regular expression.',
      isError: true,
    });
  });

  test('E-536: an expression that would run for ages holds up nothing and ends with the signal', async () => {
    write('trap.txt', `${'a'.repeat(60)}!`);
    // Wherever the call is by then: before its thread began, while it starts, or in the expression.
    for (const turns of [0, 1, 10, 100, 1000, 10_000]) {
      const stop = new AbortController();
      const call = run('grep', { pattern: '^(a+)+$', path: 'trap.txt' }, stop.signal);
      const ended = expect(call).rejects.toThrow('stopped');
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      stop.abort(new Error('stopped'));
      await ended;
    }
  });
});
