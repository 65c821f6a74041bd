import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { execFileSync } from 'node:child_process';
import { chmod, link, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { appendFile, lstat, truncate, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createSessionFiles, type SessionFiles, type SessionFilesOptions } from './session-files.ts';
import { createWorkspaces } from './workspaces.ts';
import { join } from 'node:path';
import { runIds, sessionIds } from '../core/ids.ts';
import { text as textOf } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import type { RunPlace } from './held-states.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const sessionId = sessionIds.make('a');
const run = (number: number): RunPlace => ({ sessionId, runId: runIds.make(`r${number}`) });
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface Rig {
  readonly dataDir: string;
  readonly root: string;
  readonly files: SessionFiles;
  /** The same folders, as another process has them. */
  again(): SessionFiles;
  place(path: string, text: string): Promise<void>;
  workspaceOf(session: RunPlace['sessionId']): Promise<string>;
}

async function open(options: Partial<SessionFilesOptions> = {}): Promise<Rig> {
  const dataDir = await mkdtemp(join(tmpdir(), 'reins-files-'));
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
  const workspaces = createWorkspaces({ dataDir });
  const create = () => createSessionFiles({ dataDir, workspaces, maxBytes: 1e6, maxFiles: 100, ...options });
  const root = await workspaces.ensure(sessionId);
  return {
    dataDir,
    root,
    files: create(),
    again: create,
    async place(path, text) {
      await mkdir(join(root, path, '..'), { recursive: true });
      await writeFile(join(root, path), text);
    },
    workspaceOf: (session) => workspaces.ensure(session),
  };
}

async function treeOf(root: string, folder = ''): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const name of (await readdir(join(root, folder))).toSorted()) {
    const path = folder === '' ? name : `${folder}/${name}`;
    const stats = await lstat(join(root, path));
    if (stats.isDirectory()) Object.assign(tree, { [path]: 'folder' }, await treeOf(root, path));
    else if (stats.isSymbolicLink()) tree[path] = `link ${await readlink(join(root, path))}`;
    else if (stats.isFile()) tree[path] = `${stats.mode & 0o777} ${await readFile(join(root, path), 'utf8')}`;
  }
  return tree;
}

test('UD-53: what a run made, changed and removed is told by path and hash; what it only touched is not', async () => {
  const { files, place, root } = await open();
  await files.begin(run(1));
  for (const name of ['same', 'changed', 'gone', 'touched']) await place(name, name);
  await files.finish(run(1));
  await files.begin(run(2));
  await place('changed', 'anew');
  await place('deep/new', 'n');
  await rm(join(root, 'gone'));
  await chmod(join(root, 'touched'), 0o755);
  const { changes, left } = await files.finish(run(2));
  expect(changes).toEqual([
    { kind: 'modify', path: 'changed', bytes: 4, sha256: sha256('anew') },
    { kind: 'create', path: 'deep/new', bytes: 1, sha256: sha256('n') },
    { kind: 'delete', path: 'gone' },
  ]);
  expect(left).toEqual([]);
  const kept = await files.open(sessionId, { sha256: sha256('changed'), bytes: 7 });
  expect(kept === null ? null : await textOf(kept.stream())).toBe('changed');
});

test('F3: what was made before a crash is found by the leg after it; a run that never began has made nothing', async () => {
  const { files, place, again } = await open();
  await place('before', 'b');
  await files.begin(run(1));
  await place('made', 'm');
  const after = again();
  await after.begin(run(1));
  await place('later', 'l');
  expect((await after.finish(run(1))).changes.map(({ path }) => path)).toEqual(['later', 'made']);
  expect((await after.finish(run(2))).changes).toEqual([]);
  expect(await after.has(run(2))).toBe(true);
});

test('UD-44: a file that was given to a run at work is none that it made', async () => {
  const { files, place } = await open();
  await files.begin(run(1));
  await place('given', 'g');
  await files.given(run(1), 'given');
  expect((await files.finish(run(1))).changes).toEqual([]);
});

test('B119: links, second names, pipes and sparse files are left where they are, named, and nothing outside is read', async () => {
  const { files, place, root, dataDir } = await open();
  await writeFile(join(dataDir, 'secret'), 'secret');
  await files.begin(run(1));
  await place('good', 'good');
  await symlink('/etc/hostname', join(root, 'to-system'));
  await symlink(dataDir, join(root, 'to-folder'));
  await symlink('nowhere', join(root, 'dangling'));
  await link(join(dataDir, 'secret'), join(root, 'second-name'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  await writeFile(join(root, 'sparse'), '');
  await truncate(join(root, 'sparse'), 10 * 1024 ** 3);
  const { changes, left } = await files.finish(run(1));
  expect(changes.map(({ path }) => path)).toEqual(['good']);
  const names = ['dangling', 'pipe', 'second-name', 'sparse', 'to-folder', 'to-system'];
  expect(left.toSorted()).toEqual(names);
  expect((await files.left(sessionId)).toSorted()).toEqual(names);
  expect(await readdir(join(dataDir, 'files', sessionId, 'kept'))).toEqual([sha256('good')]);
  expect(await files.has(run(1))).toBe(false);
  await rm(join(root, 'sparse'));
  await files.begin(run(2));
  expect(await files.finish(run(2))).toEqual({ changes: [], isCut: false, left: [] });
  expect(await files.left(sessionId)).not.toContain('sparse');
});

test('UD-53: an artifact that becomes a link is gone; one that merely cannot be looked at is not', async () => {
  const { files, place, root } = await open();
  await files.begin(run(1));
  await place('a', 'a');
  await place('b', 'b');
  await files.finish(run(1));
  await files.begin(run(2));
  await rm(join(root, 'a'));
  await symlink('b', join(root, 'a'));
  await link(join(root, 'b'), join(root, '..', 'outside'));
  const { changes, left } = await files.finish(run(2));
  expect(changes).toEqual([{ kind: 'delete', path: 'a' }]);
  expect(left.toSorted()).toEqual(['a', 'b']);
});

test('UD-53: version control, dependencies and caches are no artifacts, but come along in a fork', async () => {
  const { files, place, workspaceOf } = await open();
  await files.begin(run(1));
  await place('.git/objects/x', 'x');
  await place('web/node_modules/m/index.js', 'm');
  await place('web/index.js', 'w');
  expect((await files.finish(run(1))).changes.map(({ path }) => path)).toEqual(['web/index.js']);
  const to = sessionIds.make('b');
  expect(await files.restore(run(1), to)).toBe(true);
  expect(Object.keys(await treeOf(await workspaceOf(to)))).toContain('web/node_modules/m/index.js');
});

test('U-423, F4: what is over the bounds of a session is left out and named, and the rest is kept', async () => {
  const { files, place } = await open({ maxBytes: 10, maxFiles: 2 });
  await files.begin(run(1));
  await place('large', 'x'.repeat(11));
  await place('small', 'x');
  expect(await files.finish(run(1))).toMatchObject({ changes: [{ path: 'small' }], isCut: true, left: ['large'] });
  await files.begin(run(2));
  expect(await files.finish(run(2))).toMatchObject({ changes: [], isCut: false });
  await place('second', 'y');
  await place('third', 'z');
  const { changes, left } = await files.finish(run(2));
  expect([...changes.map(({ path }) => path), ...left].toSorted()).toEqual(['second', 'third']);
  expect(changes).toHaveLength(1);
});

test('F4: what a crash has cut off takes no room, and is gone as soon as the session works again', async () => {
  const { files, place, dataDir } = await open({ maxBytes: 10, maxFiles: 1 });
  await files.begin(run(1));
  const folder = join(dataDir, 'files', sessionId);
  for (const name of ['kept', 'held']) await writeFile(join(folder, name, '.new-1'), 'x'.repeat(20));
  await place('made', 'm');
  expect(await files.finish(run(1))).toMatchObject({ changes: [{ path: 'made' }], isCut: false });
  // Of a run that goes on after a crash, too.
  await files.begin(run(1));
  expect(await readdir(join(folder, 'kept'))).toEqual([sha256('m')]);
  expect(await readdir(join(folder, 'held'))).toEqual([]);
});

test('UD-28: the newest twenty states are held, and bytes that only older ones name are gone', async () => {
  const { files, place, dataDir } = await open();
  for (let number = 1; number <= 22; number++) {
    await files.begin(run(number));
    await place('.git/head', `head ${number}`);
    await files.finish(run(number));
  }
  expect([await files.has(run(2)), await files.has(run(3)), await files.has(run(22))]).toEqual([false, true, true]);
  expect(await readdir(join(dataDir, 'files', sessionId, 'held'))).toHaveLength(20);
  expect(await files.restore(run(2), sessionIds.make('b'))).toBe(false);
});

test('F4: a state that is too large is not held; older ones go where all of them together are', async () => {
  const { files, place } = await open({ maxHeldBytes: 10 });
  for (const [number, size] of [8, 9, 7, 11].entries()) {
    await files.begin(run(number));
    await place('.git/head', String(number).repeat(size));
    await files.finish(run(number));
  }
  expect(await Promise.all([0, 1, 2, 3].map((number) => files.has(run(number))))).toEqual([false, true, true, false]);
});

test('what a crash cut off on the disk is as if it were not there', async () => {
  const { files, dataDir, place } = await open();
  await files.begin(run(1));
  await place('a', 'a');
  await files.finish(run(1));
  const folder = join(dataDir, 'files', sessionId);
  await writeFile(join(folder, 'states', `${run(1).runId}.json`), '[["a",{"ki');
  await writeFile(join(folder, 'left.json'), '["a');
  await appendFile(join(folder, 'begun', `${run(1).runId}.given`), '["b",{"k');
  expect(await files.has(run(1))).toBe(false);
  expect(await files.left(sessionId)).toEqual([]);
  for (const other of ['[["a",{"kind":"file"}]]', '{"a":1}']) {
    await writeFile(join(folder, 'states', `${run(1).runId}.json`), other);
    await writeFile(join(folder, 'left.json'), other);
    expect([await files.has(run(1)), await files.left(sessionId)]).toEqual([false, []]);
  }
  expect((await files.finish(run(1))).changes).toHaveLength(1);
});

test('a session takes all of its files along', async () => {
  const { files, dataDir, place } = await open();
  await files.begin(run(1));
  await place('a', 'a');
  await files.finish(run(1));
  expect(await files.list()).toEqual([sessionId]);
  await files.remove(sessionId);
  expect(await readdir(join(dataDir, 'files'))).toEqual([]);
});

const name = fc.constantFrom('a', 'b', 'c', 'ä "x"\n');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
const step = fc.oneof(
  fc.record({ does: fc.constant('write' as const), path, text: fc.string({ maxLength: 5 }) }),
  fc.record({ does: fc.constantFrom('remove', 'folder', 'link', 'run' as const), path }),
  fc.record({ does: fc.constant('move' as const), path, to: path }),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Steps that make no sense where they come are none. */
async function perform(root: string, each: Step): Promise<void> {
  const at = join(root, each.path);
  const work = async () => {
    if (each.does === 'write') await writeFile(at, each.text);
    else if (each.does === 'remove') await rm(at, { recursive: true, force: true });
    else if (each.does === 'folder') await mkdir(at, { recursive: true });
    else if (each.does === 'link') await symlink('a', at);
    else if (each.does === 'move') await rename(at, join(root, each.to));
    else if ((await stat(at)).isFile()) await chmod(at, 0o755);
  };
  await work().catch(() => {});
}

test('whatever is done to a directory, the changes are the difference of its files, and a fork is its equal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), async (first, second) => {
      const { files, root, workspaceOf } = await open();
      const artifacts = (tree: Record<string, string>) =>
        new Map(
          Object.entries(tree).flatMap(([at, what]) => (/^\d/.test(what) ? [[at, what.replace(/^\d+ /, '')]] : [])),
        );
      await files.begin(run(1));
      for (const each of first) await perform(root, each);
      await files.finish(run(1));
      const before = artifacts(await treeOf(root));
      await files.begin(run(2));
      for (const each of second) await perform(root, each);
      const tree = await treeOf(root);
      const { changes } = await files.finish(run(2));
      const after = artifacts(tree);
      const expected = [
        ...[...after].flatMap(([at, text]) =>
          before.get(at) === text ? [] : [`${before.has(at) ? 'modify' : 'create'} ${at} ${sha256(text)}`],
        ),
        ...[...before.keys()].flatMap((at) => (after.has(at) ? [] : [`delete ${at} `])),
      ];
      const told = changes.map((change) => `${change.kind} ${change.path} ${'sha256' in change ? change.sha256 : ''}`);
      expect(told.toSorted()).toEqual(expected.toSorted());
      const to = sessionIds.make('b');
      expect(await files.restore(run(2), to)).toBe(true);
      const inside = Object.entries(tree);
      expect(Object.entries(await treeOf(await workspaceOf(to)))).toEqual(inside);
    }),
    { numRuns: 40 },
  );
});
