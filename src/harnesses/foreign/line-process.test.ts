import { afterAll, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listMembers } from '../../process/process-tree.ts';
import { startLineProcess, type LineProcessOptions } from './line-process.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';
import type { JsonValue } from '../../core/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'reins-line-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function options(code: string, more: Partial<LineProcessOptions> = {}) {
  const values: JsonValue[] = [];
  const marker = systemRandom.token();
  return {
    values,
    left: () => listMembers({ marker, root: null }),
    start: () =>
      startLineProcess({
        clock: systemClock,
        label: 'Agent',
        program: '/bin/sh',
        args: ['-c', code],
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '' },
        marker,
        secrets: ['lease-token'],
        onValue: (value) => values.push(value),
        ...more,
      }),
  };
}

test.for([
  ['that is missing', { program: join(folder, 'none') }, 'it is not installed'],
  ['that may not be executed', { program: closed() }, 'it may not be executed'],
  ['in a folder that is gone', { cwd: join(folder, 'gone') }, 'its working directory is gone'],
] as const)('B140: a program %s is told from the others, and nothing is left', async ([, more, why]) => {
  const { start, left } = options('exit 0', more);
  await expect(start()).rejects.toMatchObject({
    error: { type: 'AgentUnavailableError', message: expect.stringContaining(why) },
  });
  expect(await left()).toEqual([]);
});

function closed(): string {
  const path = join(folder, 'closed');
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o644);
  return path;
}

test('N1, B138: what is no whole line of JSON is diagnostics, and a line without its end is damage', async () => {
  const { start, values } = options(`printf '{"a":1}\\r\\nno json\\n{"b":2}\\n{"c":3}'; exit 1`);
  const child = await start();
  expect(await child.gone).toMatchObject({ how: 'exited with code 1', code: 1 });
  expect([values, child.diagnostics()]).toEqual([[{ a: 1 }, { b: 2 }], 'no json\n{"c":3}\n']);
});

test('N2, B140, H-136: the last kilobytes of stderr are kept for the operator, without what it was given in confidence', async () => {
  const { start } = options(`yes 'a word of many' | head -c 3000000 >&2; echo 'my key is lease-token' >&2; exit 3`);
  const { toOperator } = await (await start()).gone;
  expect(toOperator).toMatch(/^Agent exited with code 3\. .*my key is \[redacted\]$/s);
  expect(toOperator.length).toBeLessThan(70_000);
});

test.for([
  ['closes its output', 'exec 1>&-; sleep 60', 'closed its output', false],
  ['reads no more', 'exec 0<&-; sleep 60', 'closed its input', true],
  ['writes a line that is too long', `printf '%0200d' 0; sleep 60`, 'wrote a line that is too long', false],
] as const)('N4, H-045, H-121: one that %s and lives on is ended', async ([, code, how, talks]) => {
  const { start, left } = options(code, { maxLineUnits: 100 });
  const child = await start();
  const talk = setInterval(() => talks && child.send({ hello: 'there' }), 50);
  const type = how.includes('too long') ? 'AdapterOverflowError' : 'HarnessError';
  expect(await child.gone).toMatchObject({ how, type });
  clearInterval(talk);
  expect(await left()).toEqual([]);
});

test('N4: one that ends its input and its output as it exits has exited', async () => {
  const { start } = options(`exec 1>&-; sleep 0.3; exit 4`);
  expect((await (await start()).gone).how).toBe('exited with code 4');
});

test('N3, H-102: a process that is left behind and holds the pipe is not waited for', async () => {
  const { start, left } = options(`echo '{"end":true}'; sleep 60 & exit 0`);
  const child = await start();
  expect((await child.gone).how).toBe('exited with code 0');
  expect(await left()).toHaveLength(1);
  expect(await child.stop()).toEqual({ found: ['sleep'], unstopped: [] });
});

test('N3, H-060: a stop that failed can be asked for again', async () => {
  let fails = false;
  const now = () => {
    if (fails) throw new Error('out of descriptors');
    return systemClock.now();
  };
  const { start } = options('exec sleep 60', { clock: { ...systemClock, now } });
  const child = await start();
  fails = true;
  await expect(child.stop()).rejects.toThrow('out of descriptors');
  fails = false;
  expect((await child.stop()).unstopped).toEqual([]);
  expect((await child.gone).how).toBe('was ended by SIGTERM');
});
