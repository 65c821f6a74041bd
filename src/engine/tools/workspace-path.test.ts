import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../core/json.ts';
import type { Tool, ToolOutput } from '../tool.ts';
import { toolContext } from '../../testing/tool-context.ts';
import { editFile } from './edit-file.ts';
import { fileTools } from './file-tools.ts';
import { listFiles } from './list-files.ts';
import { readFile } from './read-file.ts';
import { locate, openFile, replaceFile, type Anchor } from './workspace-path.ts';
import { writeFile } from './write-file.ts';

const secret = 'the secret of another session';
let base: string;
let workspace: string;
let outside: string;

beforeEach(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'reins-path-'));
  workspace = join(base, 'workspace');
  outside = join(base, 'outside');
  mkdirSync(join(workspace, 'src'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(workspace, 'src/a.txt'), 'inside');
  writeFileSync(join(outside, 'secret.txt'), secret);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function run(subject: Tool, input: JsonObject): Promise<ToolOutput> {
  return subject.run(input, toolContext({ workspace }));
}

function expectOutsideUntouched(): void {
  expect(readdirSync(outside)).toEqual(['secret.txt']);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(secret);
  expect(readdirSync(base).toSorted()).toEqual(['outside', 'workspace']);
}

interface Hostile {
  readonly name: string;
  /** Makes what the path needs; gives the path. */
  readonly make: () => string;
}

const hostile: readonly Hostile[] = [
  { name: 'a path with ..', make: () => '../outside/secret.txt' },
  { name: 'a path that leaves and comes back', make: () => '../workspace/../outside/secret.txt' },
  { name: '.. behind a folder that is missing', make: () => 'no/such/../../../outside/secret.txt' },
  { name: 'an absolute path', make: () => join(outside, 'secret.txt') },
  { name: 'an absolute path to a folder whose name begins alike', make: () => `${workspace}-2/secret.txt` },
  {
    name: 'a link to a system file',
    make: () => (symlinkSync('/etc/passwd', join(workspace, 'link')), 'link'),
  },
  {
    name: 'a link to the folder of another session',
    make: () => (symlinkSync('../outside', join(workspace, 'link')), 'link/secret.txt'),
  },
  {
    name: 'a link below a link',
    make: () => {
      symlinkSync('..', join(workspace, 'src/up'));
      symlinkSync('up/../outside', join(workspace, 'src/out'));
      return 'src/out/secret.txt';
    },
  },
  {
    name: 'a link that leaves through a missing name',
    make: () => (symlinkSync('no/../../outside/secret.txt', join(workspace, 'link')), 'link'),
  },
  {
    name: 'a dangling link out',
    make: () => (symlinkSync('../outside/new.txt', join(workspace, 'link')), 'link'),
  },
  {
    name: 'a dangling link that stays inside',
    make: () => (symlinkSync('src/new.txt', join(workspace, 'link')), 'link'),
  },
  { name: 'a link to itself', make: () => (symlinkSync('link', join(workspace, 'link')), 'link') },
  { name: 'a FIFO', make: () => (execFileSync('/usr/bin/env', ['mkfifo', join(workspace, 'pipe')]), 'pipe') },
  { name: 'a device', make: () => (symlinkSync('/dev/zero', join(workspace, 'zero')), 'zero') },
  { name: 'a NUL', make: () => 'src/a.txt\0.png' },
  { name: 'a very long name', make: () => 'n'.repeat(300) },
  { name: 'a very long path', make: () => 'd/'.repeat(3000) },
  { name: 'a file used as a folder', make: () => 'src/a.txt/b' },
  { name: 'the process itself', make: () => '/proc/self/environ' },
];

describe.each(hostile)('B119, E-571: $name', ({ make }) => {
  test.each([
    ['read_file', (path: string) => run(readFile, { path })],
    ['write_file', (path: string) => run(writeFile, { path, content: 'stolen' })],
    ['edit_file', (path: string) => run(editFile, { path, old: 'secret', new: 'stolen' })],
    ['list_files', (path: string) => run(listFiles, { path })],
    ['grep', (path: string) => run(tool('grep'), { path, pattern: '.' })],
    ['glob', (path: string) => run(tool('glob'), { path, pattern: '**' })],
  ])('%s refuses it, names the path as given and no host path, and touches nothing outside', async (_, call) => {
    const path = make();
    const output = await call(path);
    expect(output.isError).toBe(true);
    expect(output.content).toContain(JSON.stringify(path).slice(1, 200));
    if (!path.startsWith('/')) expect(output.content).not.toContain(base);
    expect(output.content).not.toContain('secret of');
    expect(output.files).toBeUndefined();
    expectOutsideUntouched();
  });
});

function tool(name: string): Tool {
  const found = fileTools.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return found;
}

test('E-571: an answer is the same whether or not there is something outside', async () => {
  symlinkSync('../outside/secret.txt', join(workspace, 'there'));
  symlinkSync('../outside/nothing.txt', join(workspace, 'gone.'));
  const [there, gone] = [await run(readFile, { path: 'there' }), await run(readFile, { path: 'gone.' })];
  expect(gone.content.replace('gone.', 'there')).toBe(there.content);
});

test('E-571: an encoded path is a name like any other', async () => {
  expect((await run(writeFile, { path: '%2e%2e%2fsecret', content: 'x' })).isError).toBeUndefined();
  expect(readdirSync(workspace)).toContain('%2e%2e%2fsecret');
  expectOutsideUntouched();
});

test.each([
  'ñandú – 猫 🐈.txt',
  'a\nb.txt',
  '"quoted".txt',
  ' lead',
  'e\u0301',
  '\u202Etxt.exe',
  '-rf',
  '~',
  '..x',
  '...',
])('B121: %j is written and read back under its own name', async (path) => {
  const written = await run(writeFile, { path, content: 'text' });
  expect(written.files).toMatchObject([{ kind: 'create', path, bytes: 4 }]);
  expect(readdirSync(workspace)).toContain(path);
  expect(await run(readFile, { path })).toEqual({ content: 'text' });
});

test('E-551: a lone surrogate in a path is U+FFFD in the file system and in the answer', async () => {
  const written = await run(writeFile, { path: 'a\ud800.txt', content: 'b\udc00' });
  expect(written.files?.[0]?.path).toBe('a\ufffd.txt');
  expect(written.content.isWellFormed()).toBe(true);
  expect(readFileSync(join(workspace, 'a\ufffd.txt'), 'utf8')).toBe('b\ufffd');
});

test('E-571: an absolute path inside the workspace is the same as the relative one, also through another name of it', async () => {
  expect(await run(readFile, { path: join(workspace, 'src/a.txt') })).toEqual({ content: 'inside' });
  const alias = join(outside, 'alias');
  symlinkSync(workspace, alias);
  const context = toolContext({ workspace: alias });
  expect(await readFile.run({ path: join(alias, 'src/a.txt') }, context)).toEqual({ content: 'inside' });
  expect(await readFile.run({ path: join(workspace, 'src/a.txt') }, context)).toEqual({ content: 'inside' });
});

test('E-571: links that stay inside are walked, and changes are told under the path free of links', async () => {
  symlinkSync('../src/./../src', join(workspace, 'src/again'));
  symlinkSync(join(workspace, 'src'), join(workspace, 'absolute'));
  symlinkSync('a.txt', join(workspace, 'src/same.txt'));
  expect(await run(readFile, { path: 'absolute/again/same.txt' })).toEqual({ content: 'inside' });
  const written = await run(writeFile, { path: 'absolute/same.txt', content: 'new' });
  expect(written.files).toMatchObject([{ kind: 'modify', path: 'src/a.txt' }]);
  expect(await run(readFile, { path: 'src/same.txt' })).toEqual({ content: 'new' });
  await run(writeFile, { path: 'absolute/deep/er/b.txt', content: 'b' });
  expect(readFileSync(join(workspace, 'src/deep/er/b.txt'), 'utf8')).toBe('b');
});

test('B119: a write replaces a hard link and leaves the file behind it as it was', async () => {
  linkSync(join(outside, 'secret.txt'), join(workspace, 'hard.txt'));
  await run(writeFile, { path: 'hard.txt', content: 'new' });
  await run(editFile, { path: 'hard.txt', old: 'new', new: 'newer' });
  expect(readFileSync(join(workspace, 'hard.txt'), 'utf8')).toBe('newer');
  expectOutsideUntouched();
});

test('B119: a huge sparse file is refused by its size', async () => {
  writeFileSync(join(workspace, 'sparse'), '');
  truncateSync(join(workspace, 'sparse'), 10 * 2 ** 30);
  expect(await run(readFile, { path: 'sparse' })).toMatchObject({
    isError: true,
    content: expect.stringContaining('10 MiB'),
  });
  expect(await run(tool('grep'), { pattern: '.' })).toMatchObject({ content: 'src/a.txt:1:inside' });
});

test('B119: a socket is refused', async () => {
  const server = createServer().listen(join(workspace, 'sock'));
  await new Promise((resolve) => server.once('listening', resolve));
  expect((await run(readFile, { path: 'sock' })).isError).toBe(true);
  await new Promise((resolve) => server.close(resolve));
});

const real = (path: string) => path.replace('@base', base);

describe.each<Anchor>(['descriptor', 'name'])('held by %s', (anchor) => {
  const signal = new AbortController().signal;
  const replacement = { bytes: Buffer.from('stolen'), temporaryName: 'temporary', signal };

  test('B119, C1: a folder swapped for a link after the check is not followed', async () => {
    writeFileSync(join(workspace, 'src/secret.txt'), 'mine');
    await using place = await locate(workspace, 'src/secret.txt', { anchor });
    renameSync(join(workspace, 'src'), join(workspace, 'moved'));
    symlinkSync(outside, join(workspace, 'src'));
    await using handle = await openFile(place.folder, place.name).catch(() => null);
    expect((await handle?.readFile('utf8')) ?? 'refused').toBe(anchor === 'descriptor' ? 'mine' : 'refused');
    await replaceFile(place.folder, place.name, replacement).catch(() => {});
    expectOutsideUntouched();
  });

  test('B119, C1: a file swapped for a link after the check is not followed, and a write replaces the link', async () => {
    await using place = await locate(workspace, 'src/a.txt', { anchor });
    unlinkSync(join(workspace, 'src/a.txt'));
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'src/a.txt'));
    await expect(openFile(place.folder, place.name)).rejects.toMatchObject({ code: 'ELOOP' });
    await replaceFile(place.folder, place.name, replacement);
    expect(readFileSync(join(workspace, 'src/a.txt'), 'utf8')).toBe('stolen');
    expectOutsideUntouched();
  });

  test('B119, C1: a link that took the place of a folder is not entered', async () => {
    await using place = await locate(workspace, '.', { anchor });
    rmSync(join(workspace, 'src'), { recursive: true });
    symlinkSync(outside, join(workspace, 'src'));
    await expect(place.folder.enter('src')).rejects.toThrow();
  });

  test('B119, C3: a FIFO that took the place of a file is refused without waiting for a writer', async () => {
    await using place = await locate(workspace, 'src/a.txt', { anchor });
    unlinkSync(join(workspace, 'src/a.txt'));
    execFileSync('/usr/bin/env', ['mkfifo', join(workspace, 'src/a.txt')]);
    await expect(openFile(place.folder, place.name)).rejects.toThrow('not a regular file');
  });

  test('C4: a write that fails leaves the old content and nothing beside it', async () => {
    await using place = await locate(workspace, 'src/a.txt', { anchor });
    await expect(
      replaceFile(place.folder, place.name, { ...replacement, signal: AbortSignal.abort() }),
    ).rejects.toThrow('abort');
    expect(readdirSync(join(workspace, 'src'))).toEqual(['a.txt']);
    expect(readFileSync(join(workspace, 'src/a.txt'), 'utf8')).toBe('inside');
  });

  test('C4: the mode of a replaced file stays', async () => {
    chmodSync(join(workspace, 'src/a.txt'), 0o757);
    await using place = await locate(workspace, 'src/a.txt', { anchor });
    await replaceFile(place.folder, place.name, { ...replacement, mode: 0o757 });
    expect(statSync(join(workspace, 'src/a.txt')).mode & 0o777).toBe(0o757);
  });

  test('E-571: no sequence of paths and links ever leads out of the workspace', async () => {
    const name = fc.constantFrom('..', '.', 'a', 'b', 'src', 'outside', 'secret.txt');
    const path = fc.array(name, { maxLength: 4 }).map((names) => names.join('/'));
    const target = fc.oneof(
      path,
      path.map((names) => `@base/${names}`),
    );
    const step = fc.oneof(
      fc.record({ make: fc.constant('link'), at: fc.constantFrom('a', 'b', 'src/a', 'src/b'), target }),
      fc.record({ make: fc.constant('file'), at: target, target }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        rmSync(workspace, { recursive: true });
        mkdirSync(join(workspace, 'src'), { recursive: true });
        for (const { make, at, target: to } of steps) {
          await using place = await locate(workspace, real(at), { anchor, missingFolders: 'create' }).catch(() => null);
          if (place === null || place.kind === 'special') continue;
          expect(realpathSync(place.folder.at('.')).startsWith(workspace)).toBe(true);
          if (place.kind === 'folder') continue;
          if (make === 'file') await replaceFile(place.folder, place.name, replacement);
          else if (place.kind === 'missing') symlinkSync(real(to) || '.', place.folder.at(place.name));
          if (make === 'file') expect(readFileSync(place.folder.at(place.name), 'utf8')).toBe('stolen');
        }
        expectOutsideUntouched();
      }),
      { numRuns: 200 },
    );
  });
});

test('B119: while another process swaps a folder and a link, no call reads or writes outside', async () => {
  const [x, y, made] = [join(workspace, 'x'), join(workspace, 'y'), join(workspace, 'made')];
  const swaps = [
    () => rmSync(x, { force: true, recursive: true }),
    () => symlinkSync(outside, x),
    () => renameSync(x, y),
    () => mkdirSync(made, { recursive: true }),
    () => writeFileSync(join(made, 'secret.txt'), 'mine'),
    () => renameSync(made, x),
    () => renameSync(x, y),
    () => symlinkSync(outside, x),
    () => rmSync(y, { force: true, recursive: true }),
  ];
  for (let round = 0; round < 100; round++) {
    const calls = [
      run(readFile, { path: 'x/secret.txt' }),
      run(writeFile, { path: 'x/secret.txt', content: 'stolen' }),
    ];
    for (let turn = 0; turn < 40; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      try {
        swaps[turn % swaps.length]?.();
      } catch {
        // the calls make and take folders too
      }
    }
    for (const { content } of await Promise.all(calls)) expect(content).not.toContain('secret of');
  }
  expectOutsideUntouched();
});
