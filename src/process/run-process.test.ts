import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { runProcess, type RunOptions } from './run-process.ts';
import { systemClock, systemRandom } from '../system.ts';

function run(script: string, options: Partial<RunOptions> = {}) {
  return runProcess({
    clock: systemClock,
    program: '/bin/bash',
    args: ['-c', script],
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin' },
    marker: systemRandom.token(),
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    graceMs: 500,
    onOutput: () => {},
    ...options,
  });
}

test('output comes as it is written, to its last byte', async () => {
  const chunks: string[] = [];
  const seen = new AbortController();
  const running = run('echo first; until [ -e /proc/self/nothing ]; do sleep 0.01; done', {
    signal: seen.signal,
    onOutput: (chunk) => {
      chunks.push(Buffer.from(chunk).toString());
      seen.abort();
    },
  });
  expect(await running).toEqual({ end: { how: 'cancelled' }, leftBehind: [], unstopped: [] });
  expect(chunks).toEqual(['first\n']);
});

test('B134: after a result that is printed without an end of line and an exit, nothing is waited for', async () => {
  let text = '';
  const result = await run('printf done; exit 1', {
    onOutput: (chunk) => void (text += Buffer.from(chunk).toString()),
  });
  expect([text, result.end]).toEqual(['done', { how: 'exited', code: 1 }]);
});

test('B099: what outlives the program is stopped and named', async () => {
  const result = await run(`
    is_up() { until grep -q sleep /proc/$1/comm; do :; done; }
    sleep 1000 & is_up $!; setsid sleep 1000 & is_up $!`);
  expect(result).toEqual({ end: { how: 'exited', code: 0 }, leftBehind: ['sleep', 'sleep'], unstopped: [] });
});

test('the deadline stops a child that prints for ever', async () => {
  let chunks = 0;
  expect((await run('yes', { timeoutMs: 200, onOutput: () => chunks++ })).end).toEqual({ how: 'timed-out' });
  expect(chunks).toBeGreaterThan(0);
});

test('the deadline stops a child that prints nothing, and not a moment earlier', async () => {
  const clock = createManualClock();
  const seen = { end: false };
  const silent = run('sleep 1000', { clock, timeoutMs: 60_000, graceMs: 0 }).finally(() => (seen.end = true));
  while (clock.pending === 0) await pause(1);
  await clock.advance(59_999);
  await pause(20);
  expect(seen.end).toBe(false);
  await clock.advance(1);
  // Stopping has timers of its own.
  for (; !seen.end; await pause(1)) await clock.advance(10);
  expect((await silent).end).toEqual({ how: 'timed-out' });
});

test('an abort before the start starts nothing', async () => {
  const result = await run('exit 1', { program: '/no/such/program', signal: AbortSignal.abort() });
  expect(result.end).toEqual({ how: 'cancelled' });
});

test('E-847: a run leaves no timer behind', async () => {
  const clock = createManualClock();
  await run('exit 0', { clock, graceMs: 0 });
  expect(clock.pending).toBe(0);
});
