// What holds for both shells that run real programs.

import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chooseShell } from './choose-shell.ts';
import { systemClock, systemRandom } from '../../system.ts';
import type { Shell, ShellParts, ShellRun } from './shell.ts';

const parts: ShellParts = {
  clock: systemClock,
  random: systemRandom,
  environment: process.env,
  marker: systemRandom.token(),
  network: 'full',
  hidden: [],
};
let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(realpathSync(tmpdir()), 'reins-shell-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

async function runIn(shell: Shell, command: string, options: Partial<ShellRun> = {}) {
  let output = '';
  const onOutput = (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString());
  const signal = new AbortController().signal;
  const result = await shell.run(command, { workspace, signal, timeoutMs: 20_000, onOutput, ...options });
  return { ...result, output };
}

const uniqueSleep = () => `${1000 + Math.random() * 1000}`;
const sleeping = (seconds: string) =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(`sleep\0${seconds}\0`);
    } catch {
      return false;
    }
  });

for (const kind of ['host', 'sandboxed'] as const) {
  const opened = await chooseShell(kind, parts).catch((error: unknown) => error);
  const why = opened instanceof Error ? ` (skipped: ${opened.message})` : '';
  describe.skipIf(why !== '' || process.platform !== 'linux')(`${kind}${why}`, () => {
    const shell = opened as Shell;
    const run = (command: string, options: Partial<ShellRun> = {}) => runIn(shell, command, options);

    test('runs in the workspace, with PWD, an empty stdin, and output in the order of writing', async () => {
      const { output, end } = await run('pwd; echo $PWD; cat; echo a; echo b >&2; echo c >/dev/stderr; echo d; exit 3');
      expect(output).toBe(`${workspace}\n${workspace}\na\nb\nc\nd\n`);
      expect(end).toEqual({ how: 'exited', code: 3 });
    });

    test('is bash, and takes a script of several lines with here-documents', async () => {
      const { output } = await run(
        `cat <<'END'\n  "$kept"\nEND\nx=(1 2)\n[[ \${#x[@]} == 2 ]] && echo 'it'"'"'s bash'`,
      );
      expect(output).toBe('  "$kept"\nit\'s bash\n');
    });

    test('files that it makes are there afterwards', async () => {
      writeFileSync(join(workspace, 'in'), 'given');
      await run('cat in in > out');
      expect(readFileSync(join(workspace, 'out'), 'utf8')).toBe('givengiven');
    });

    test('B143: a command sees the marker of its tree and no variable that is not let through', async () => {
      const secrets = { ANTHROPIC_API_KEY: 'sk-secret', CLAUDECODE: '1', REINS_API_KEY: 'reins-secret' };
      const guarded = await chooseShell(kind, { ...parts, environment: { ...process.env, ...secrets } });
      const { output } = await runIn(guarded ?? shell, 'env', { env: { GIVEN: 'yes' } });
      expect(output).toMatch(new RegExp(`^REINS_TREE=.*${parts.marker}\\.[0-9a-f]{32}$`, 'm'));
      expect(output).toContain('GIVEN=yes');
      expect(output).not.toMatch(/secret|CLAUDECODE|REINS_API|NODE_OPTIONS|npm_lifecycle/);
    });

    test('B099, E-817: after its own end, what it left in the background is gone and named', async () => {
      const seconds = uniqueSleep();
      const { leftBehind, unstopped, end } = await run(
        `is_up() { until grep -q sleep /proc/$1/comm; do :; done; }
         sleep ${seconds} & is_up $!; setsid sleep ${seconds} & is_up $!
         (nohup sleep ${seconds} >/dev/null 2>&1 & is_up $!); exit 0`,
      );
      expect({ end, leftBehind, unstopped }).toEqual({
        end: { how: 'exited', code: 0 },
        leftBehind: ['sleep', 'sleep', 'sleep'],
        unstopped: [],
      });
      expect(sleeping(seconds)).toEqual([]);
    });

    test('B139, E-536: an abort ends the whole tree within a second, open pipes and other sessions included', async () => {
      const seconds = uniqueSleep();
      const stop = new AbortController();
      const deaf = `trap '' TERM; while :; do sleep ${seconds}; done`;
      const running = run(
        `sleep ${seconds} & setsid sleep ${seconds} & (setsid nohup sleep ${seconds} >/dev/null 2>&1 &); (${deaf}) & echo up; ${deaf}`,
        { signal: stop.signal },
      );
      while (sleeping(seconds).length < 5) await pause(10);
      const startedMs = performance.now();
      stop.abort();
      expect(await running).toMatchObject({ end: { how: 'cancelled' }, unstopped: [], output: 'up\n' });
      expect(performance.now() - startedMs).toBeLessThan(1_500); // a second, and what a busy machine adds
      expect(sleeping(seconds)).toEqual([]);
    });

    test('E-536: a command gets SIGTERM and time to clean up', async () => {
      const stop = new AbortController();
      const onOutput = () => stop.abort();
      await run(`trap 'echo bye > farewell; exit' TERM; echo up; while :; do sleep 0.01; done`, {
        signal: stop.signal,
        onOutput,
      });
      expect(readFileSync(join(workspace, 'farewell'), 'utf8')).toBe('bye\n');
    });

    test('the limit of time ends a silent and an endlessly printing command', async () => {
      const seconds = uniqueSleep();
      expect(await run(`sleep ${seconds}`, { timeoutMs: 200 })).toMatchObject({
        end: { how: 'timed-out' },
        output: '',
      });
      expect((await run('yes', { timeoutMs: 200, onOutput: () => {} })).end).toEqual({ how: 'timed-out' });
      expect(sleeping(seconds)).toEqual([]);
    });

    test('B138: the last line of a command that ends at once gets out whole', async () => {
      const { output, end } = await run(`head -c 300000 /dev/zero | tr '\\0' x; exit 9`);
      expect([output.length, end]).toEqual([300_000, { how: 'exited', code: 9 }]);
    });

    test('commands in several workspaces run at the same time and do not stop each other', async () => {
      const results = await Promise.all(Array.from({ length: 4 }, (_, i) => run(`sleep 0.2; echo ${i}`)));
      expect(results.map(({ output }) => output)).toEqual(['0\n', '1\n', '2\n', '3\n']);
    });
  });
}
