import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { decodeText } from './decode-text.ts';
import { readLines } from './read-lines.ts';
import { startProcess, type ProcessOptions } from './start-process.ts';
import { stopTree } from './stop-tree.ts';
import { systemClock, systemRandom } from '../system.ts';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(realpathSync(tmpdir()), 'reins-start-'));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const start = (script: string, options: Partial<ProcessOptions> = {}) =>
  startProcess({
    clock: systemClock,
    program: '/bin/bash',
    args: ['-c', script],
    cwd,
    env: { PATH: '/usr/bin:/bin' },
    marker: systemRandom.token(),
    ...options,
  });
const textOf = async (chunks: AsyncIterable<Uint8Array>) => (await Array.fromAsync(decodeText(chunks))).join('');

test('H-130: a child leads its own session and group, with PWD set and nothing but its environment and marker', async () => {
  using child = await start('ps -o pid=,pgid=,sid= -p $$; env | sort', {
    marker: 'mark',
    env: { PATH: '/usr/bin:/bin', A: 'b' },
  });
  const [ids = '', ...variables] = (await textOf(child.stdout)).trim().split('\n');
  expect(new Set(ids.trim().split(/ +/)).size).toBe(1);
  expect(variables.filter((line) => !/^(_|SHLVL)=/.test(line))).toEqual([
    'A=b',
    'PATH=/usr/bin:/bin',
    `PWD=${cwd}`,
    'REINS_TREE=mark',
  ]);
  expect(await child.exited).toEqual({ how: 'exited', code: 0 });
});

test('the marker of an outer tree is kept beside the own one', async () => {
  using child = await start('echo $REINS_TREE', { marker: 'inner', env: { REINS_TREE: 'outer' } });
  expect(await textOf(child.stdout)).toBe('outer,inner\n');
});

test('stdin is empty unless it is asked for; a pipe takes what is written and its end', async () => {
  using empty = await start('cat; echo $?');
  expect(await textOf(empty.stdout)).toBe('0\n');
  using piped = await start('cat', { stdin: 'pipe' });
  piped.stdin?.end('given');
  expect(await textOf(piped.stdout)).toBe('given');
});

test('H-123: writing to a child that is gone fails in the callback and nowhere else', async () => {
  using child = await start('exit 0', { stdin: 'pipe' });
  await child.exited;
  const failure = await new Promise((resolve) => child.stdin?.write('x'.repeat(1_000_000), resolve));
  expect(failure).toBeInstanceOf(Error);
});

test('separate streams stay separate, and both are read to the end', async () => {
  using child = await start('echo out; echo err >&2');
  expect(await Promise.all([textOf(child.stdout), textOf(child.stderr)])).toEqual(['out\n', 'err\n']);
});

test('joined output keeps the order of writing, and a child can open its /dev/stderr and /dev/stdout', async () => {
  using child = await start(
    'for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done; echo x >/dev/stderr; echo y | tee /dev/stdout',
    { output: 'joined' },
  );
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  expect(await textOf(child.stdout)).toBe(`${numbers.map((i) => `o${i}\ne${i}\n`).join('')}x\ny\ny\n`);
});

test('a child may report on descriptor 3', async () => {
  using child = await start('echo hidden >&3; echo shown', { report: 'pipe' });
  expect(await Promise.all([textOf(child.report), textOf(child.stdout)])).toEqual(['hidden\n', 'shown\n']);
});

test('an end by a signal is told from an exit code', async () => {
  using child = await start('kill -SEGV $$');
  expect(await child.exited).toEqual({ how: 'signalled', signal: 'SIGSEGV' });
  using other = await start('exit 7');
  expect(await other.exited).toEqual({ how: 'exited', code: 7 });
});

test.each(['separate', 'joined'] as const)(
  'B138: one line of 1 MB before an immediate exit with an error is read whole by a slow reader (%s)',
  async (output) => {
    using child = await start(`head -c 1000000 /dev/zero | tr '\\0' x; echo; printf tail; exit 3`, { output });
    const slowly = async function* () {
      for await (const chunk of child.stdout) {
        await pause(30); // longer in all than a pipe without news is waited for
        yield chunk;
      }
    };
    const lines = await Array.fromAsync(readLines(slowly()));
    expect(lines.map(({ text, complete }) => [text.length, complete])).toEqual([
      [1_000_000, true],
      [4, false],
    ]);
    expect(await child.exited).toEqual({ how: 'exited', code: 3 });
  },
);

test('a pipe that a grandchild holds open is given up a moment after the exit, and what was written is not lost', async () => {
  const clock = createManualClock();
  using child = await start('echo before; sleep 1000 & exit 0', { clock });
  const chunks = textOf(child.stdout);
  await child.exited;
  // The exit may be known before the last bytes were read.
  while (clock.pending === 0) await pause(1);
  await pause(50);
  for (let waited = 0; waited < 600; waited += 50) await clock.advance(50);
  expect(await chunks).toBe('before\n');
  const { found, unstopped } = await stopTree(child.tree, { clock: systemClock, graceMs: 0 });
  expect([found.length, unstopped]).toEqual([1, []]);
});

test('disposing ends the reading of a child that lives on', async () => {
  const child = await start('echo up; sleep 1000');
  const seen: string[] = [];
  for await (const line of readLines(child.stdout)) {
    seen.push(line.text);
    child[Symbol.dispose]();
  }
  expect(seen).toEqual(['up']);
  expect((await stopTree(child.tree, { clock: systemClock, graceMs: 0 })).unstopped).toEqual([]);
});

test('B140: what kept a program from starting is told apart', async () => {
  const plain = join(cwd, 'plain');
  writeFileSync(plain, 'x');
  chmodSync(plain, 0o644);
  const faultOf = (options: Partial<ProcessOptions>) =>
    start('', options).then(
      () => null,
      (error: unknown) => error,
    );
  expect(await faultOf({ program: '/no/such/program' })).toMatchObject({
    fault: 'not-found',
    program: '/no/such/program',
  });
  expect(await faultOf({ program: plain, output: 'joined' })).toMatchObject({ fault: 'not-permitted' });
  expect(await faultOf({ cwd: join(cwd, 'gone') })).toMatchObject({ fault: 'no-folder' });
  expect(await faultOf({ cwd: plain })).toMatchObject({ fault: 'no-folder' });
  expect(await faultOf({ args: ['-c', 'x'.repeat(3_000_000)] })).toMatchObject({ fault: 'too-long' });
});
