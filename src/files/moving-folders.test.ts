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

const here = { at: 'here' };
const elsewhere = (why: string) => ({ at: 'elsewhere', why });

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
  expect(await files.settle(place, { after: o.after, how: 'begin' })).toEqual(here);
  await files.begin(place);
  const said = await shell(o.script);
  const { changes } = await files.finish(place);
  await files.leave(place);
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
  expect(await one.files.park(second)).toBeNull();
  expect(await two.files.settle(second, { after: first, how: 'continue' })).toEqual(here);
  expect(await two.files.begin(second)).toBe(true);
  expect(await two.shell('cat changed given made old; echo 3 > later')).toBe('2\ng\n2\n1\n');
  // And back again: whoever has parked it last has the newest.
  expect(await two.files.park(second)).toBeNull();
  expect(await one.files.settle(second, { after: first, how: 'continue' })).toEqual(here);
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
  expect(await one.files.settle(first, { after: null, how: 'continue' })).toEqual(here);
  expect((await one.files.finish(first)).changes).toMatchObject([{ path: 'since' }]);
});

test('M2: what a crash has cut off is left behind: the run goes on elsewhere from how it began, and here from where it was', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  await one.files.settle(second, { after: first, how: 'begin' });
  await one.files.begin(second);
  await one.shell('echo 2 > lost');
  expect(await one.files.settle(second, { after: first, how: 'continue' })).toEqual(here);
  expect(await one.shell('ls')).toBe('a\nlost\n');
  expect(await two.files.settle(second, { after: first, how: 'continue' })).toEqual(here);
  expect(await two.shell('ls')).toBe('a\n');
});

test('M1: a directory that was too much to be stored stays where it is: elsewhere that is said, and nothing is put in its place', async () => {
  const { one, two } = await open(10);
  await work(one, first, { after: null, script: 'echo 1 > a' });
  await work(one, second, { after: first, script: 'echo far too much > b' });
  expect(await two.files.settle(third, { after: second, how: 'begin' })).toEqual(elsewhere('too-large'));
  expect(await two.shell('ls')).toBe('');
  expect(await one.files.settle(third, { after: second, how: 'begin' })).toEqual(here);
  await one.files.begin(third);
  // What a crash leaves of the next run is for its machine, too.
  expect([await two.files.whyElsewhere(third, second), await one.files.whyElsewhere(third, second)]).toEqual([
    'too-large',
    null,
  ]);
  expect(await one.files.park(third)).toBe('too-large');
});

test('M1: a store that fails at the end of a run leaves the directory of use where it is', async () => {
  const { one, blobs } = await open();
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.shell('echo 1 > a');
  const { put } = blobs;
  blobs.put = () => Promise.reject(new Error('away'));
  await expect(one.files.finish(first)).rejects.toThrow('away');
  await one.files.leave(first);
  blobs.put = put;
  expect(await one.files.settle(second, { after: first, how: 'begin' })).toEqual(here);
  expect(await one.shell('ls')).toBe('a\n');
});

test('M3: of many who want it at once one puts the directory in its place, and no work in it is lost', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  const settled = Array.from({ length: 5 }, () => two.files.settle(second, { after: first, how: 'begin' }));
  await settled[0];
  await two.files.begin(second);
  await two.shell('echo 2 > b');
  expect(await Promise.all(settled)).toEqual([here, here, here, here, here]);
  expect(await two.shell('ls')).toBe('a\nb\n');
});

test('UD-28: a fork begins as the run that it is of has ended, at any machine', async () => {
  const { one, two } = await open();
  await work(one, first, { after: null, script: 'echo 1 > a' });
  const to = sessionIds.make('b');
  const forked = { sessionId: to, runId: runIds.make('f1') };
  expect(await two.files.restore(first, to)).toBe(true);
  expect(await two.files.settle(forked, { after: first, how: 'begin' })).toEqual(here);
  // Its first run may be taken over by another.
  expect(await one.files.settle(forked, { after: first, how: 'continue' })).toEqual(here);
});

/** A run that was parked at one machine and worked on at the other. */
async function movedTo(other: Machine, { one, script }: { readonly one: Machine; readonly script: string }) {
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.shell('echo 1 > a');
  await one.files.park(first);
  await other.files.settle({ ...first, generation: 2 }, { after: null, how: 'continue' });
  await other.shell(script);
}

test('M1: where a run cannot be parked again, nobody goes on from what was parked before, and its machine does', async () => {
  const { one, two } = await open(10);
  await movedTo(two, { one, script: 'echo far too much > b' });
  expect(await two.files.park({ ...first, generation: 2 })).toBe('too-large');
  await two.files.stay(first, { why: 'too-large', by: 'two' });
  const taken = { ...first, generation: 3 };
  const o = { after: null, how: 'continue' } as const;
  expect(await one.files.settle(taken, o)).toEqual(elsewhere('too-large'));
  expect(await one.files.whyElsewhere(first, null)).toBe('too-large');
  expect(await two.files.whyElsewhere(first, null)).toBeNull();
  // Nor does who has not got it say what it would be.
  expect(await one.files.park(taken)).toBeNull();
  expect(await one.files.settle({ ...first, generation: 4 }, o)).toEqual(elsewhere('too-large'));
  const back = { ...first, generation: 5 };
  expect(await two.files.settle(back, o)).toEqual(here);
  expect(await two.shell('rm b; cat a; echo 2 > c')).toBe('1\n');
  expect(await two.files.park(back)).toBeNull();
  expect(await one.files.settle({ ...first, generation: 6 }, o)).toEqual(here);
  expect(await one.shell('ls')).toBe('a\nc\n');
});

test('M1: of a run that was never parked, too, it is said that one machine alone can go on', async () => {
  const { one, two } = await open();
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.shell('echo 1 > a; ln a ../outside');
  expect(await one.files.park(first)).toBe('not-whole');
  await one.files.stay(first, { why: 'not-whole', by: 'one' });
  const [o, taken] = [{ after: null, how: 'continue' } as const, { ...first, generation: 2 }];
  expect(await two.files.settle(taken, o)).toEqual(elsewhere('not-whole'));
  // Whoever ends it there speaks of no directory, and the session goes on where it is.
  expect(await two.files.leave(taken)).toBe(false);
  const next = { after: first, how: 'begin' } as const;
  expect(await two.files.settle(second, next)).toEqual(elsewhere('not-stored'));
  expect(await one.files.settle(second, next)).toEqual(here);
  expect(await one.shell('ls')).toBe('a\n');
});

test('M4: what came back to a process is not taken for what it had there before', async () => {
  const { one, two } = await open();
  await movedTo(two, { one, script: 'echo 2 > b' });
  await two.files.park({ ...first, generation: 2 });
  const back = { ...first, generation: 3 };
  expect(await one.files.park(back)).toBeNull();
  expect(await one.files.settle(back, { after: null, how: 'end' })).toEqual(here);
  expect(await one.shell('ls')).toBe('a\nb\n');
});

test('M1: a state that became too much after an ending that was overtaken takes the place of the one before', async () => {
  const { one, two } = await open(10);
  await one.files.settle(first, { after: null, how: 'begin' });
  await one.files.begin(first);
  await one.shell('echo 1 > a');
  await one.files.finish(first);
  await one.shell('echo far too much > b');
  await one.files.finish(first);
  // A crash came before its end was noted here, and after it was stored.
  const next = { after: first, how: 'begin' } as const;
  expect(await two.files.settle(second, next)).toEqual(elsewhere('too-large'));
  expect(await one.files.settle(second, next)).toEqual(here);
  expect(await one.shell('ls')).toBe('a\nb\n');
});

test('M2: what a run had parked is there until its end is stored', async () => {
  const { one, two } = await open();
  await movedTo(two, { one, script: 'echo 2 > b' });
  await two.files.finish(first);
  const lost = { ...first, generation: 3 };
  expect(await one.files.settle(lost, { after: null, how: 'continue' })).toEqual(here);
  expect(await one.shell('ls')).toBe('a\n');
  expect(await two.files.leave({ ...first, generation: 2 })).toBe(true);
  await two.files.dropParked(first);
  expect(await two.files.settle(second, { after: first, how: 'begin' })).toEqual(here);
});
