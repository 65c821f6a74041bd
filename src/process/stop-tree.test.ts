import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from './child-environment.ts';
import { listMembers, systemScan } from './process-tree.ts';
import { readLines } from './read-lines.ts';
import { startProcess, type ProcessOptions, type RunningProcess } from './start-process.ts';
import { stopTree } from './stop-tree.ts';
import { systemClock, systemRandom } from '../system.ts';

const clock = systemClock;
/** Without `/proc` a tree is only its group, which the first test of this file covers. */
const onLinux = describe.skipIf(systemScan !== 'proc');

async function start(script: string, options: Partial<ProcessOptions> = {}): Promise<RunningProcess> {
  const child = await startProcess({
    clock,
    program: '/bin/bash',
    args: ['-c', script],
    cwd: tmpdir(),
    env: childEnvironment({ PATH: '/usr/bin:/bin' }),
    marker: systemRandom.token(),
    ...options,
  });
  // All scripts say so when they are where the test wants them.
  for await (const { text } of readLines(child.stdout)) if (text === 'ready') break;
  return child;
}

/** Seconds that no other process sleeps, so that its command line tells it from all others. */
const uniqueSleep = () => `${1000 + Math.random() * 1000}`;
const sleeping = (seconds: string) =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(`\0${seconds}\0`);
    } catch {
      return false;
    }
  });

test('H-062: where only the group can be seen, the group is stopped', async () => {
  const seconds = uniqueSleep();
  using child = await start(`sleep ${seconds} & echo ready; wait`);
  const stopped = await stopTree(child.tree, { clock, graceMs: 500, scan: 'group' });
  expect(stopped).toEqual({ found: ['process group'], unstopped: [] });
  expect(await child.exited).toEqual({ how: 'signalled', signal: 'SIGTERM' });
  expect(await stopTree(child.tree, { clock, graceMs: 500, scan: 'group' })).toEqual({ found: [], unstopped: [] });
});

onLinux('a whole tree', () => {
  test('B139, H-061: children in other sessions, orphans and what a cleared environment hides are all found and gone', async () => {
    const seconds = uniqueSleep();
    using child = await start(`
      sleep ${seconds} &
      setsid sleep ${seconds} &
      (setsid nohup sleep ${seconds} >/dev/null 2>&1 &)
      env -i setsid sleep ${seconds} &
      env -i sleep ${seconds} &
      setsid bash -c 'setsid sleep ${seconds} & echo ready; wait' &
      wait`);
    while (sleeping(seconds).length < 6) await pause(5);
    const { found, unstopped } = await stopTree(child.tree, { clock, graceMs: 500 });
    expect(unstopped).toEqual([]);
    expect(found.length).toBeGreaterThanOrEqual(8); // six sleeps and two shells
    expect(sleeping(seconds)).toEqual([]);
    expect(await child.exited).toEqual({ how: 'signalled', signal: 'SIGTERM' });
  });

  test('B096: SIGTERM comes first, and SIGKILL for who is deaf to it, after the time given', async () => {
    const seconds = uniqueSleep();
    using child = await start(`trap '' TERM; sleep ${seconds} & echo ready; exec >&-; wait`);
    const startedMs = clock.now();
    expect((await stopTree(child.tree, { clock, graceMs: 300 })).unstopped).toEqual([]);
    expect(clock.now() - startedMs).toBeGreaterThanOrEqual(300);
    expect(await child.exited).toEqual({ how: 'signalled', signal: 'SIGKILL' });
    expect(sleeping(seconds)).toEqual([]);
  });

  test('who ends in order within the time is not killed, and nobody waits longer than that takes', async () => {
    using child = await start(`trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done`);
    const startedMs = clock.now();
    expect((await stopTree(child.tree, { clock, graceMs: 10_000 })).unstopped).toEqual([]);
    expect(clock.now() - startedMs).toBeLessThan(5_000);
    expect(await child.exited).toEqual({ how: 'exited', code: 5 });
  });

  test('processes that go on making others while they are stopped are stopped as well', async () => {
    const seconds = uniqueSleep();
    using child = await start(`trap '' TERM; echo ready; while :; do setsid sleep ${seconds} & sleep 0.005; done`);
    await pause(100);
    expect((await stopTree(child.tree, { clock, graceMs: 50 })).unstopped).toEqual([]);
    expect(sleeping(seconds)).toEqual([]);
  });

  test('a supervisor is left to end with what it watches over', async () => {
    using child = await start(`bash -c 'trap "exit 6" TERM; echo ready; while :; do sleep 0.01; done'; exit $?`, {
      role: 'supervisor',
    });
    expect((await stopTree(child.tree, { clock, graceMs: 5_000 })).unstopped).toEqual([]);
    expect(await child.exited).toEqual({ how: 'exited', code: 6 });
  });

  test('E-817, H-064: what cannot be stopped is named by program, process and start time', async () => {
    using child = await start('echo ready; exec sleep 1000');
    const options = { clock, graceMs: 20, giveUpMs: 60 };
    const { unstopped } = await stopTree(child.tree, { ...options, signalMember: () => {} });
    const pid = child.tree.root?.pid;
    expect(unstopped).toEqual([expect.stringMatching(new RegExp(`^sleep \\(process ${pid}, started 20.*Z\\)$`))]);
    const startedMs = Date.parse(/started (.*)\)/.exec(unstopped[0] ?? '')?.[1] ?? '');
    expect(Math.abs(Date.now() - startedMs)).toBeLessThan(60_000);
    expect((await stopTree(child.tree, options)).unstopped).toEqual([]);
  });

  test('H-061: a pid that was given out again is not touched', async () => {
    using child = await start('echo ready; exec sleep 1000');
    const { marker, root } = child.tree;
    if (root === null) throw new Error('no root');
    const stranger = { marker: systemRandom.token(), root: { ...root, startTicks: (root.startTicks ?? 0) - 1 } };
    expect(await stopTree(stranger, { clock, graceMs: 0 })).toEqual({ found: [], unstopped: [] });
    expect((await listMembers({ marker, root })).map(({ pid }) => pid)).toEqual([root.pid]);
    expect((await stopTree(child.tree, { clock, graceMs: 0 })).unstopped).toEqual([]);
  });

  test('processes of other trees live on; a marker stands for all that begin with it', async () => {
    const folder = systemRandom.token();
    using one = await start('echo ready; exec sleep 1000', { marker: `${folder}.a` });
    using other = await start('echo ready; exec sleep 1000', { marker: `${folder}.ab` });
    await stopTree({ marker: `${folder}.a`, root: null }, { clock, graceMs: 0 });
    await one.exited;
    expect(await listMembers(other.tree)).toHaveLength(1);
    expect((await stopTree({ marker: folder, root: null }, { clock, graceMs: 0 })).found).toHaveLength(1);
    await other.exited;
  });

  test('B139, H-065: what a server left that was killed with -9 is found by its marker alone', async () => {
    const seconds = uniqueSleep();
    const marker = systemRandom.token();
    const server = await start('', {
      program: process.execPath,
      args: [
        '--input-type=module',
        '--eval',
        `import { startProcess } from ${JSON.stringify(fileURLToPath(new URL('./start-process.ts', import.meta.url)))};
         const clock = { now: () => Date.now(), timer: (ms, f) => { const t = setTimeout(f, ms); return () => clearTimeout(t); } };
         const script = 'setsid sleep ${seconds} & (setsid sleep ${seconds} &) ; echo ready; wait';
         const child = await startProcess({ clock, program: '/bin/bash', args: ['-c', script], cwd: '/', env: { PATH: process.env.PATH }, marker: '${marker}.call' });
         for await (const chunk of child.stdout) process.stdout.write(chunk);`,
      ],
    });
    while (sleeping(seconds).length < 2) await pause(5);
    process.kill(server.tree.root?.pid ?? 0, 'SIGKILL');
    await server.exited;
    const { found, unstopped } = await stopTree({ marker, root: null }, { clock, graceMs: 0 });
    expect([found.length, unstopped]).toEqual([3, []]);
    expect(sleeping(seconds)).toEqual([]);
  });
});
