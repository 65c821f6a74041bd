import { afterAll, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createFinder } from './find-runtime.ts';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';
import type { Clock } from '../../core/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'reins-find-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, text: string, mode = 0o755): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
const finderOf = (path: string | null, more = '', clock = systemClock) =>
  createFinder({
    clock,
    label: 'Agent',
    name: 'agent',
    path,
    host: { PATH: `${more}${process.env['PATH']}` },
    marker: systemRandom.token(),
    versionArgs: ['--version'],
    versionIn: (text) => /^agent (\S+)/m.exec(text)?.[1] ?? null,
    tried: ['2.0.0'],
    install: 'get agent',
  });

test.for([
  ['is missing', join(folder, 'none'), 'not-installed', /is not at .*none: get agent$/],
  ['is a folder', folder, 'not-installed', /is not at/],
  ['is not on the path', null, 'not-installed', /is not installed: get agent$/],
  ['may not be executed', program('closed', '#!/bin/sh\necho agent 2.0.0', 0o644), 'not-executable', /may not be exec/],
  ['has no interpreter', program('lost', '#!/no/such/thing\n'), 'start-failed', /cannot be started/],
  ['is no program', program('text', 'sleep 20\n'), 'not-executable', /names no program to run it/],
  ['is another program', program('other', '#!/bin/sh\necho other 2.0.0'), 'start-failed', /does not say that it is/],
  ['breaks', program('broken', '#!/bin/sh\necho secret >&2; exit 127'), 'start-failed', /does not say that it is/],
] as const)(
  'B140, H-136: a program that %s is told from the others, in a sentence that is safe',
  async ([, path, code, words]) => {
    const { installed, problem } = await finderOf(path)();
    expect([installed, problem?.code]).toEqual([false, code]);
    expect(problem?.message).toMatch(words);
    expect(problem?.message).not.toContain('secret');
  },
);

test('B140, H-012: an old version works, and is known to be untried', async () => {
  const path = program('old', '#!/bin/sh\necho agent 1.0.0');
  expect(await finderOf(path)()).toEqual({
    installed: true,
    path,
    version: '1.0.0',
    versionTried: false,
    problem: null,
  });
});

test('H-010: what was found is kept, until another file lies there', async () => {
  const path = program('agent', `#!/bin/sh\necho x >> ${folder}/asked; echo agent 2.0.0`);
  const find = finderOf(null, `${folder}:`);
  expect(await find()).toMatchObject({ path, version: '2.0.0', versionTried: true });
  expect(await find()).toBe(await find());
  rmSync(path);
  expect((await find()).problem?.code).toBe('not-installed');
});

test('H-010: one that has worked works on when the machine is too busy for it to answer; one that never has is asked again', async () => {
  let [laterMs, factor] = [0, 1];
  const clock: Clock = {
    now: () => systemClock.now() + laterMs,
    timer: (ms, callback) => systemClock.timer(ms / factor, callback),
  };
  const slow = `#!/bin/sh\ntest -e ${folder}/slow && exec sleep 20\necho agent 2.0.0`;
  const find = finderOf(program('busy', slow), '', clock);
  const before = await find();
  writeFileSync(join(folder, 'slow'), '');
  [laterMs, factor] = [61_000, 20];
  expect(await find()).toEqual({ ...before, problem: null, version: '2.0.0' });
  const other = finderOf(program('never', slow), '', clock);
  expect((await other()).problem?.code).toBe('timeout');
  rmSync(join(folder, 'slow'));
  factor = 1;
  expect((await other()).problem).toBeNull();
});
