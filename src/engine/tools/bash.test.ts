import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseShell } from '../shell/choose-shell.ts';
import { createBashTool } from './bash.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import { systemClock, systemRandom } from '../../system.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Shell } from '../shell/shell.ts';
import type { ToolContext } from '../tool.ts';

const parts = {
  clock: systemClock,
  random: systemRandom,
  environment: process.env,
  marker: 'm',
  network: 'none',
  hidden: [],
} as const;
const host = (await chooseShell('host', parts)) as Shell;

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(realpathSync(tmpdir()), 'reins-bash-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

async function run(input: JsonObject, context: Partial<ToolContext> = {}, shell: Shell = host) {
  const shown: string[] = [];
  const output = await createBashTool(shell).run(input, {
    runId: runIds.make('a'),
    sessionId: sessionIds.make('a'),
    executionKey: 'run:1:call',
    toolAttempt: 1,
    signal: new AbortController().signal,
    workspace,
    show: (text) => void shown.push(text),
    ...context,
  });
  return { ...output, shown: shown.join('') };
}

test('9.6, E-570: its name, arguments and policies are those of the table; it says what its shell can do', () => {
  const tool = createBashTool(host);
  expect(tool).toMatchObject({ name: 'bash', useKind: 'execute', replay: 'manual', concurrent: false });
  expect(tool.inputSchema).toMatchObject({ required: ['command'], additionalProperties: false });
  expect(Object.keys(tool.inputSchema['properties'] ?? {})).toEqual(['command', 'timeoutSeconds']);
  expect(tool.description).toContain(host.guidance);
});

test('the output is the answer, and is shown as it comes', async () => {
  expect(await run({ command: 'echo one; echo two >&2' })).toEqual({
    content: 'one\ntwo',
    isError: false,
    shown: 'one\ntwo\n',
  });
  expect(await run({ command: 'true' })).toEqual({ content: '[No output.]', isError: false, shown: '' });
});

test('E-534: an exit code that is not 0, and a signal, are named and an error', async () => {
  expect(await run({ command: 'echo no; exit 3' })).toMatchObject({ content: 'no\n[Exit code 3.]', isError: true });
  expect(await run({ command: 'kill -KILL $$' })).toMatchObject({ content: '[Ended by SIGKILL.]', isError: true });
  const inner = await run({ command: `bash -c 'kill -SEGV $$'; exit` });
  expect(inner.content).toMatch(/\[Exit code 139, which is how a shell tells SIGSEGV\.\]$/);
});

test('the limit of time is named, with what was printed until then', async () => {
  const output = await run({ command: 'echo begun; sleep 1000', timeoutSeconds: 1 });
  expect(output).toMatchObject({
    content: 'begun\n[Stopped at its time limit of 1 s; it may have partly run.]',
    isError: true,
  });
});

test('E-536: an aborted command is stopped, and what it printed until then is kept', async () => {
  const stop = new AbortController();
  const output = await run({ command: 'echo begun; sleep 1000' }, { signal: stop.signal, show: () => stop.abort() });
  expect(output).toMatchObject({ content: 'begun\n[Stopped on request; it may have partly run.]', isError: true });
  await expect(run({ command: 'touch made' }, { signal: AbortSignal.abort() })).rejects.toThrow('abort');
});

test('B099: background processes are stopped with the command and named, and no later call meets them', async () => {
  const { content, isError } = await run({ command: '(while :; do echo x >> grows; sleep 0.01; done) & sleep 0.1' });
  expect(content).toMatch(/^\[Left running by the command and stopped: bash(, sleep)?\.\]$/);
  expect(isError).toBe(false);
  const before = readFileSync(join(workspace, 'grows'), 'utf8').length;
  await run({ command: 'sleep 0.1' });
  expect(readFileSync(join(workspace, 'grows'), 'utf8')).toHaveLength(before);
});

test('E-817: what could not be stopped is told to the engine and to the model', async () => {
  const stubborn: Shell = {
    ...host,
    run: async () => ({ end: { how: 'cancelled' }, leftBehind: [], unstopped: ['dd (process 7, started then)'] }),
  };
  expect(await run({ command: 'x' }, {}, stubborn)).toMatchObject({
    unstopped: ['dd (process 7, started then)'],
    content: expect.stringContaining('[Could not be stopped: dd (process 7, started then).]'),
  });
});

test('E-551: two thirds of a gigabyte of output leave 1 MiB of both ends, 64 KiB shown, and flat memory', async () => {
  const before = process.memoryUsage().rss;
  let peak = 0;
  const watching = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
  const { content, shown } = await run({ command: 'echo first; yes | head -c 700M; echo last' });
  clearInterval(watching);
  expect(content).toMatch(/^first\ny\n/);
  expect(content).toMatch(/\nlast$/);
  expect(content).toMatch(/\n\[… 732954635 bytes left out …\]\n/);
  expect(content.length).toBeLessThan(2 ** 20 + 100);
  expect(shown.length).toBeLessThan(65_536 + 100);
  expect(shown).toMatch(/\n\[More output is not shown while the command runs\.\]\n$/);
  expect(peak - before).toBeLessThan(200 * 2 ** 20);
});

test('E-551: output that is no text, and a character cut by the end, come out well-formed', async () => {
  const { content, shown } = await run({ command: `printf 'a\\xff\\xe2\\x82'` });
  expect([content, shown]).toEqual(['a\ufffd\ufffd', 'a\ufffd\ufffd']);
});

test('B001: characters that the command writes byte by byte are shown and answered whole', async () => {
  const { content, shown } = await run({
    command: `for b in f0 9f 98 80 e2 82 ac; do printf "\\x$b"; sleep 0.02; done`,
  });
  expect([content, shown]).toEqual(['\u{1f600}\u20ac', '\u{1f600}\u20ac']);
});

test('E-514: a command that is too long for the system, or is none, is answered so that the model can mend it', async () => {
  expect(await run({ command: `: ${'x'.repeat(3_000_000)}` })).toMatchObject({
    isError: true,
    content: 'The command is too long; write it to a file and run that.',
  });
  expect(await run({ command: 1 })).toMatchObject({ isError: true });
});
