// Two machines, each with a data folder of its own, and one store that both reach.

import { afterEach, expect, test } from 'vitest';
import { createFolderBlobs } from './folder-blobs.ts';
import { createSessionFiles, type SessionFiles } from './session-files.ts';
import { createWorkspaces } from './workspaces.ts';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { runIds, sessionIds } from '../core/ids.ts';
import { tmpdir } from 'node:os';
import type { BlobStore } from './blob-store.ts';
import type { RunPlace } from './held-states.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const sessionId = sessionIds.make('a');
const run = (number: number): RunPlace => ({ sessionId, runId: runIds.make(`r${number}`) });
const [first, second, third] = [run(1), run(2), run(3)];

interface Machine {
  readonly files: SessionFiles;
  shell(script: string): Promise<string>;
}

/** A store whose writes can be made to fail. */
type Breakable = { -readonly [K in keyof BlobStore]: BlobStore[K] };

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'reins-moving-'));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function open(
  maxHeldBytes = 1e6,
): Promise<{ readonly one: Machine; readonly two: Machine; readonly blobs: Breakable }> {
  const blobs: Breakable = { ...createFolderBlobs(await folder()), place: 'bucket' };
  const machine = async (): Promise<Machine> => {
    const dataDir = await folder();
    const workspaces = createWorkspaces({ dataDir });
    return {
      files: createSessionFiles({ dataDir, workspaces, blobs, maxBytes: 1e6, maxFiles: 100, maxHeldBytes }),
      async shell(script) {
        return execFileSync('sh', ['-c', script], { cwd: await workspaces.ensure(sessionId), encoding: 'utf8' });
      },
    };
  };
  return { one: await machine(), two: await machine(), blobs };
}

/** A whole run at a machine; what it changed. */
async function work({ files, shell }: Machine, place: RunPlace, o: { after: RunPlace | null; script: string }) {
  expect(await files.settle(place, { after: o.after, how: 'begin' })).toBe(true);
  await files.begin(place);
  const said = await shell(o.script);
  const { changes } = await files.finish(place);
  return { said, changes: changes.map(({ kind, path }) => `${kind} ${path}`) };
}

test('M1: a directory goes from machine to machine with each run, and only what a run changed is its change', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'mkdir d; echo 1 > d/a; echo 1 > b; chmod 755 b; ln -s d/a link' });
  const there = await work(two, second, {
    after: first,
    script: 'cat d/a link; test -x b && echo runs; echo 2 >> d/a; rm b',
  });
  expect(there).toEqual({ said: '1\n1\nruns\n', changes: ['delete b', 'modify d/a'] });
  // Of an older state that still lies here nothing is left.
  const back = await work(one, third, { after: second, script: 'cat d/a; ls' });
  expect(back).toEqual({ said: '1\n2\nd\nlink\n', changes: [] });
});

test('M2: a run that is parked takes along what it made, and how it began; what it has not touched is not its change', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > old; echo 1 > changed' });
  await one.files.settle(second, { after: first, how: 'begin' });
  await one.shell('echo g > given');
  await one.files.begin(second);
  await one.shell('echo 2 > made; echo 2 > changed');
  expect(await one.files.park(second)).toBe(true);
  expect(await two.files.settle(second, { after: first, how: 'continue' })).toBe(true);
  expect(await two.files.begin(second)).toBe(true);
  expect(await two.shell('cat changed given made old; echo 3 > later')).toBe('2\ng\n2\n1\n');
  // And back again: whoever has parked it last has the newest.
  expect(await two.files.park(second)).toBe(true);
  expect(await one.files.settle(second, { after: first, how: 'continue' })).toBe(true);
  expect(await one.shell('cat later')).toBe('3\n');
  const { changes } = await one.files.finish(second);
  expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['modify changed', 'create later', 'create made']);
});

test('M2: who parked a run goes on where it stands, also beyond what it has parked', async () => {
  const { one } = await open();
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.files.park(first);
  await one.shell('echo 1 > since');
  expect(await one.files.settle(first, { after: null, how: 'continue' })).toBe(true);
  expect((await one.files.finish(first)).changes).toMatchObject([{ path: 'since' }]);
});

test('M2: what a crash has cut off is left behind: the run goes on elsewhere from how it began, and here from where it was', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  await one.files.settle(second, { after: first, how: 'begin' });
  await one.files.begin(second);
  await one.shell('echo 2 > lost');
  expect(await one.files.settle(second, { after: first, how: 'continue' })).toBe(true);
  expect(await one.shell('ls')).toBe('a\nlost\n');
  expect(await two.files.settle(second, { after: first, how: 'continue' })).toBe(true);
  expect(await two.shell('ls')).toBe('a\n');
});

test('M1: a directory that was too much to be stored stays where it is: elsewhere that is said, and nothing is put in its place', async () => {
  const { one, two } = await open(10);
  await work(one, first, { after: null, script: 'echo 1 > a' });
  await work(one, second, { after: first, script: 'echo far too much > b' });
  expect(await two.files.settle(third, { after: second, how: 'begin' })).toBe(false);
  expect(await two.shell('ls')).toBe('');
  expect(await one.files.settle(third, { after: second, how: 'begin' })).toBe(true);
  await one.files.begin(third);
  expect(await one.files.park(third)).toBe(false);
});

test('M1: a store that fails at the end of a run leaves the directory of use where it is', async () => {
  const { one, blobs } = await open();
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.shell('echo 1 > a');
  const { put } = blobs;
  blobs.put = () => Promise.reject(new Error('away'));
  await expect(one.files.finish(first)).rejects.toThrow('away');
  blobs.put = put;
  expect(await one.files.settle(second, { after: first, how: 'begin' })).toBe(true);
  expect(await one.shell('ls')).toBe('a\n');
});

test('M3: of many who want it at once one puts the directory in its place, and no work in it is lost', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  const settled = Array.from({ length: 5 }, () => two.files.settle(second, { after: first, how: 'begin' }));
  await settled[0];
  await two.files.begin(second);
  await two.shell('echo 2 > b');
  expect(await Promise.all(settled)).toEqual([true, true, true, true, true]);
  expect(await two.shell('ls')).toBe('a\nb\n');
});

test('UD-28: a fork begins as the run that it is of has ended, at any machine', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  const to = sessionIds.make('b');
  const forked = { sessionId: to, runId: runIds.make('f1') };
  expect(await two.files.restore(first, to)).toBe(true);
  expect(await two.files.settle(forked, { after: first, how: 'begin' })).toBe(true);
  // Its first run may be taken over by another.
  expect(await one.files.settle(forked, { after: first, how: 'continue' })).toBe(true);
});
