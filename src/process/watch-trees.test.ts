// Real processes that use too much.

import { expect, test, vi } from 'vitest';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { findProgram } from './find-program.ts';
import { getPriority, tmpdir } from 'node:os';
import { isOverMemory } from './tree-memory.ts';
import { join } from 'node:path';
import { listMembers, listTrees } from './process-tree.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import { startProcess } from './start-process.ts';
import { stopTree } from './stop-tree.ts';
import { systemClock as clock } from '../system.ts';
import { watchTrees, type TreeLimits } from './watch-trees.ts';

vi.setConfig({ testTimeout: 15_000 });

const mebibyte = 1_048_576;
const limits: TreeLimits = {
  memoryBytes: 200 * mebibyte,
  processes: 8,
  diskBytes: 50 * mebibyte,
  niceness: 7,
};

let count = 0;

async function rig(
  code: string,
  own: Partial<TreeLimits> = {},
  {
    walks = 1,
    logger = silentLogger,
    stop = stopTree,
  }: { readonly walks?: number; readonly logger?: Logger; readonly stop?: typeof stopTree } = {},
) {
  const marker = `watch-${process.pid}-${++count}`;
  const folder = mkdtempSync(join(tmpdir(), 'reins-watch-'));
  const child = await startProcess({
    clock,
    program: process.execPath,
    args: ['-e', code],
    cwd: folder,
    env: {},
    marker,
  });
  const watch = watchTrees({ ...limits, ...own }, { clock, logger, stop });
  const told: string[] = [];
  const excess = Promise.withResolvers<string>();
  const watched = watch.add({
    marker,
    folders: Array.from({ length: walks }, () => folder),
    onExcess(what) {
      told.push(what);
      excess.resolve(what);
    },
  });
  return {
    marker,
    folder,
    child,
    told,
    excess: excess.promise,
    pid: child.tree.root?.pid ?? 0,
    async [Symbol.asyncDispose]() {
      watched[Symbol.dispose]();
      watch[Symbol.dispose]();
      await stopTree({ marker, root: null }, { clock, graceMs: 0 });
      child[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const members = (marker: string) => listMembers({ marker, root: null });
const until = (holds: () => boolean) => vi.waitUntil(holds, { timeout: 8_000 });
const stays = 'setInterval(() => {}, 1000);';
const grows = (mebibytes: number) => `const kept = Buffer.alloc(${mebibytes * mebibyte}, 1); ${stays} void kept;`;

const onLinux = test.skipIf(process.platform !== 'linux').concurrent;

onLinux(
  'W2: a tree that uses too much memory is ended, also what it has started in a session of its own, and its owner is told the limit',
  async () => {
    const nested = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grows(300))}], { detached: true, stdio: 'ignore' });`;
    await using tree = await rig(nested + stays);
    expect(await tree.excess).toBe('used more than 200 MiB of memory');
    expect(await tree.child.exited).toEqual({ how: 'signalled', signal: 'SIGKILL' });
    await vi.waitUntil(async () => (await members(tree.marker)).length === 0);
  },
);

onLinux(
  'a file that is only mapped or read is no memory of a tree, and pages that processes share count once',
  async () => {
    await using tree = await rig(
      `const { writeFileSync, readFileSync } = require('node:fs');
     writeFileSync('big', Buffer.alloc(${100 * mebibyte}));
     for (let i = 0; i < 3; i++) readFileSync('big');
     global.gc?.(); ${stays}`,
      { diskBytes: 500 * mebibyte, memoryBytes: 2_000 * mebibyte },
    );
    const found = await members(tree.marker);
    expect(isOverMemory(found, 1_000 * mebibyte)).toBe(false);
    expect(isOverMemory(found, mebibyte)).toBe(true);
    expect(isOverMemory([], 0)).toBe(false);
  },
);

onLinux('W2: too many processes are ended', async () => {
  const code = `for (let i = 0; i < 10; i++) require('node:child_process').spawn('/bin/sleep', ['100']); ${stays}`;
  await using tree = await rig(code);
  expect(await tree.excess).toBe('had more than 8 processes');
  await vi.waitUntil(async () => (await members(tree.marker)).length === 0);
});

onLinux('W2: one that fills its folders is ended', async () => {
  await using tree = await rig(stays, { diskBytes: 3 * mebibyte });
  writeFileSync(join(tree.folder, 'two'), Buffer.alloc(2 * mebibyte, 1));
  writeFileSync(join(tree.folder, 'more'), Buffer.alloc(2 * mebibyte, 1));
  expect(await tree.excess).toBe('kept more than 3 MiB in its private folders');
});

onLinux(
  'W3: each process yields to the server: taken first when memory is short, later to the processor, its files bounded',
  async () => {
    await using tree = await rig(stays);
    await until(() => getPriority(tree.pid) === 7);
    expect(Number(readFileSync(`/proc/${tree.pid}/oom_score_adj`, 'latin1'))).toBe(500);
    if (findProgram('prlimit', '/usr/bin:/bin') === null) return;
    const limitsOf = () => readFileSync(`/proc/${tree.pid}/limits`, 'latin1');
    await until(() => new RegExp(`^Max file size +${50 * mebibyte} `, 'm').test(limitsOf()));
    expect(limitsOf()).toMatch(/^Max core file size +0 +0 /m);
  },
);

onLinux('a file larger than the limit is not written, and the process is told so', async () => {
  await using tree = await rig(
    `process.stdout.write('up\\n'); setTimeout(() => { try { require('node:fs').writeFileSync('big', Buffer.alloc(${60 * mebibyte})); } catch (error) { process.stdout.write(error.code); process.exit(3); } }, 2500); ${stays}`,
  );
  if (findProgram('prlimit', '/usr/bin:/bin') === null) return;
  const chunks: Uint8Array[] = [];
  for await (const chunk of tree.child.stdout) chunks.push(chunk);
  expect(Buffer.concat(chunks).toString()).toBe('up\nEFBIG');
});

onLinux(
  'W1: one look tells the processes of several trees apart, and nothing is looked at when nothing is watched',
  async () => {
    await using one = await rig(stays);
    await using two = await rig(stays);
    const found = await listTrees(new Set([one.marker, two.marker]));
    expect(found.get(one.marker)?.map(({ pid }) => pid)).toEqual([one.pid]);
    expect(found.get(two.marker)?.map(({ pid }) => pid)).toEqual([two.pid]);
    expect(await listTrees(new Set(['nobody']))).toEqual(new Map());
    expect(await listTrees(new Set([one.marker]), 'group')).toEqual(new Map());
  },
);

onLinux('W5: an agent whose folders take long to walk is looked at nevertheless, and so are the others', async () => {
  const files = `const { mkdirSync, writeFileSync } = require('node:fs');
    for (let n = 0; n < 3000; n++) writeFileSync(String(n), '');`;
  const grown = `setTimeout(() => { globalThis.kept = Buffer.alloc(${300 * mebibyte}, 1); }, 1_500);`;
  await using slow = await rig(`${files} ${grown} ${stays}`, { diskBytes: 2 ** 50 }, { walks: 10_000 });
  expect(await slow.excess).toBe('used more than 200 MiB of memory');
});

onLinux('W2: one that could not be ended is tried again, its owner told once and the operator each time', async () => {
  let tries = 0;
  const logged: string[] = [];
  const code = `for (let i = 0; i < 10; i++) require('node:child_process').spawn('/bin/sleep', ['100']); ${stays}`;
  await using tree = await rig(
    code,
    {},
    {
      logger: { ...silentLogger, error: (message) => void logged.push(message) },
      async stop(...which) {
        tries++;
        if (tries === 1) throw new Error('EMFILE');
        return tries === 2 ? { found: [], unstopped: ['sleep (process 7)'] } : stopTree(...which);
      },
    },
  );
  await vi.waitUntil(async () => tries > 2 && (await members(tree.marker)).length === 0, { timeout: 12_000 });
  expect(tree.told).toEqual(['had more than 8 processes']);
  expect(logged).toHaveLength(2);
});
