// Several programs with durable runs on one file: no lock keeps them apart, and none takes what another has.

import { checkLog } from '../src/testing/index.ts';
import { expect, test } from 'vitest';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { startProgram, temporaryFolder } from './reins-process.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunResultData } from '../src/core/outcome.ts';

interface Told {
  readonly result: RunResultData;
  readonly events: readonly RunEvent[];
}

const program = join(import.meta.dirname, 'fixtures/runtime-child.ts');

/** Submits the one run, and tells of it when it has ended; null: it was killed before. */
async function play(folder: string, killAt: number | null): Promise<Told | null> {
  const env = {
    REINS_TEST_DATABASE: join(folder, 'runs.sqlite'),
    REINS_TEST_EFFECTS: join(folder, 'effects'),
    ...(killAt === null ? {} : { REINS_TEST_KILL_AT: String(killAt) }),
  };
  const { code, signal, stdout, stderr } = await startProgram(program, [], { env }).ended;
  if (signal === 'SIGKILL') return null;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const told: Told = JSON.parse(stdout);
  return told;
}

const linesOf = (folder: string) => readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean);
const completed = { status: 'completed', output: 'The first part, and the second.' };

test('E-050, E-825: three that start at once on a new file and want the same run: one drives it, all are told of it', async () => {
  const folder = temporaryFolder();
  const [first, ...others] = await Promise.all([play(folder, null), play(folder, null), play(folder, null)]);
  expect(first?.result).toMatchObject(completed);
  for (const other of others) expect(other?.events).toEqual(first?.events);
  expect(checkLog(first?.events ?? [])).toEqual([]);
  expect(linesOf(folder).filter((line) => !line.startsWith('asked'))).toEqual([
    'manual',
    'safe',
    'manual',
    'keyed',
    'gated',
  ]);
  expect(first?.events.filter(({ type, leg }) => type === 'run-started' && leg > 1)).toMatchObject([
    { data: { cause: 'decision' } },
  ]);
}, 60_000);

test('E-831, E-952: one is killed with -9 in the middle; the other ends the run, and is not told of anything twice', async () => {
  for (const killAt of [9, 25, 40]) {
    const folder = temporaryFolder();
    const [, told] = await Promise.all([play(folder, killAt), play(folder, null)]);
    expect(told?.result, `killed at point ${killAt}`).toMatchObject(completed);
    expect(checkLog(told?.events ?? [])).toEqual([]);
    const unknown = told?.events.filter(({ type }) => type === 'recovery-required').length ?? 0;
    const effects = linesOf(folder);
    const count = (name: string) => effects.filter((each) => each === name).length;
    expect(count('manual') + count('gated')).toBeLessThanOrEqual(3);
    expect(count('manual') + count('gated')).toBeGreaterThanOrEqual(3 - unknown);
  }
}, 60_000);
