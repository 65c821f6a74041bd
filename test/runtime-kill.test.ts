// A durable run is killed with -9 at every point where a crash can matter: before and after each write of the store, and
// before and after each effect of a tool (E-952, the rows of E 13.2). The next process goes on from the log.
//
// `REINS_KILL_POINTS=all` tries every point; else every fourth one, or every eighth, from a place that changes.

import { readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkLog } from '../src/testing/index.ts';
import { temporaryFolder } from './reins-process.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunResultData } from '../src/core/outcome.ts';

interface Told {
  readonly result: RunResultData;
  readonly events: readonly RunEvent[];
  /** The log of who did the work: the run's own, or that of its sub-agent. */
  readonly work: readonly RunEvent[];
  readonly points: number;
}

const ways = ['itself', 'through a sub-agent'] as const;
type Way = (typeof ways)[number];

const all = process.env['REINS_KILL_POINTS'] === 'all';
const strides: Readonly<Record<Way, number>> = all
  ? { itself: 1, 'through a sub-agent': 1 }
  : { itself: 4, 'through a sub-agent': 8 };

test.each(ways)('the run without a crash, %s: each effect once, the pieces of a cut answer joined', async (way) => {
  const folder = temporaryFolder();
  const told = await play(folder, { way, killAt: null });
  expect(told?.result).toMatchObject({ status: 'completed', output: 'The first part, and the second.' });
  expect(effectsIn(folder)).toEqual(['manual', 'safe', 'manual', 'keyed', 'gated']);
  expect([...checkLog(told?.events ?? []), ...checkLog(told?.work ?? [])]).toEqual([]);
});

test.each(ways)(
  'E-952: kill -9 at any point, %s: nothing committed is lost, no manual effect is repeated, no approval is lost or doubled',
  async (way) => {
    const points = (await play(temporaryFolder(), { way, killAt: null }))?.points ?? 0;
    expect(points).toBeGreaterThan(40);
    const offset = Date.now() % strides[way];
    const tried = Array.from({ length: points }, (_, index) => index + 1).filter((at) => at % strides[way] === offset);
    const workers = [0, 1].map(async (worker) => {
      for (const [index, at] of tried.entries()) if (index % 2 === worker) await proveKilledAt(at, way);
    });
    await Promise.all(workers);
  },
  all ? 1_800_000 : 300_000,
);

async function proveKilledAt(killAt: number, way: Way): Promise<void> {
  const folder = temporaryFolder();
  expect(await play(folder, { way, killAt }), `killed at point ${killAt}`).toBeNull();
  const told = await play(folder, { way, killAt: null });
  const where = `after a kill at point ${killAt}`;
  expect(told, where).not.toBeNull();
  if (told === null) return;
  const { result, events, work } = told;
  expect(result, where).toMatchObject({ status: 'completed', output: 'The first part, and the second.' });
  expect([...checkLog(events), ...checkLog(work)], where).toEqual([]);
  const effects = effectsIn(folder);
  const count = (name: string) => effects.filter((each) => each === name).length;
  // A manual call whose outcome nobody knew was looked at by a person, and not run again (E-540).
  const unknown = work.filter((event) => event.type === 'recovery-required').length;
  expect(count('manual'), where).toBeLessThanOrEqual(2);
  expect(count('manual') + count('gated'), where).toBeGreaterThanOrEqual(3 - unknown);
  expect(count('gated'), where).toBeLessThanOrEqual(1);
  // What may be run again is, at most once for one crash.
  for (const name of ['safe', 'keyed']) {
    expect(count(name), where).toBeGreaterThanOrEqual(1);
    expect(count(name), where).toBeLessThanOrEqual(2);
  }
  for (const log of [events, work]) {
    const asked = log.filter((event) => event.type === 'approval-required');
    expect(
      asked.map(({ data }) => data.call.name),
      where,
    ).toEqual(['gated']);
    const ids = log.flatMap((event) => (event.type === 'approval-decided' ? [event.data.approvalId] : []));
    expect(new Set(ids).size, where).toBe(ids.length);
  }
  // A committed reply is asked for once: as many accepted turns as replies, and one question more at most for the crash.
  const turns = work.filter((event) => event.type === 'turn-complete').length;
  expect(turns, where).toBe(6);
  expect(modelCallsIn(folder), where).toBeLessThanOrEqual(7);
}

function linesIn(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

const effectsIn = (folder: string) => linesIn(folder).filter((line) => !line.startsWith('asked'));
const modelCallsIn = (folder: string) => linesIn(folder).filter((line) => line.startsWith('asked')).length;

/** What the program told, or null if it was killed. */
function play(
  folder: string,
  { way, killAt }: { readonly way: Way; readonly killAt: number | null },
): Promise<Told | null> {
  const env = {
    ...process.env,
    REINS_TEST_DATABASE: join(folder, 'runs.sqlite'),
    REINS_TEST_EFFECTS: join(folder, 'effects'),
    REINS_TEST_DELEGATED: way === 'itself' ? 'no' : 'yes',
    ...(killAt === null ? {} : { REINS_TEST_KILL_AT: String(killAt) }),
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/runtime-child.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') return done(null);
      if (code !== 0) return fail(new Error(`The program ended with ${code ?? signal}.`));
      const told: Told = JSON.parse(out);
      done(told);
    });
  });
}
