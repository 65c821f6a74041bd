import { expect, onTestFinished, test } from 'vitest';
import { end, logRig, read, upTo, type LogRig } from '../testing/log-rig.ts';
import { noteDraft } from '../testing/store-samples.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { createRunLog } from './run-log.ts';
import { silentLogger } from '../core/logger.ts';
import type { Store } from './store.ts';

/** Two processes on one store; the second one counts how it asks, and fails when it is told to. */
function stage() {
  const store = openSqlite(':memory:');
  onTestFinished(() => store[Symbol.asyncDispose]());
  const writing = logRig(store);
  const asked: number[] = [];
  const fault = { on: false };
  const counted: Partial<Store> = {
    async heads(runIds) {
      if (fault.on) throw new Error('The store does not answer.');
      if (runIds.length > 1) asked.push(runIds.length);
      return store.heads(runIds);
    },
  };
  const { clock } = writing;
  const log = createRunLog({ store: { ...store, ...counted }, clock, logger: silentLogger });
  return { ...writing, elsewhere: log, asked, fault };
}

const begin = ({ open }: LogRig, runs: number) => Promise.all(upTo(runs).map((name) => open(`run${name}`)));

test('D1: thirty readers of ten runs ask once a second, whoever of them has news; with the last one all asking ends', async () => {
  const { elsewhere, asked, clock, ...rig } = stage();
  const runs = await begin({ ...rig, clock }, 10);
  const readers = runs.flatMap(({ admission }) => upTo(3).map(() => read(elsewhere, admission)));
  await clock.advance(0);
  for (const second of upTo(5)) {
    await runs[second]?.writer.write([noteDraft('x')]);
    await clock.advance(1_000);
  }
  expect(asked).toEqual([10, 10, 10, 10, 10]);
  expect(elsewhere.elsewhere).toMatchObject({ waiting: 30, looks: 5 });
  expect(readers.map(({ seen }) => seen.length)).toEqual(
    upTo(10).flatMap((run) => upTo(3).map(() => (run > 1 && run < 7 ? 2 : 1))),
  );
  for (const reader of readers) reader.stop();
  await Promise.all(readers.map(({ done }) => done));
  expect([elsewhere.elsewhere.waiting, elsewhere.openRuns]).toEqual([0, 0]);
  await clock.advance(10_000);
  expect(elsewhere.elsewhere.looks).toBe(5);
});

test('D2: what another process has written is there within a second, its end too', async () => {
  const { elsewhere, clock, ...rig } = stage();
  const [run] = await begin({ ...rig, clock }, 1);
  if (run === undefined) throw new Error('There is no run.');
  const reader = read(elsewhere, run.admission);
  await clock.advance(300);
  await run.writer.write([noteDraft('x')]);
  await clock.advance(1_000);
  expect(reader.seen).toHaveLength(2);
  await end(run);
  await clock.advance(1_000);
  await reader.done;
  expect(reader.seen.at(-1)?.type).toBe('run-result');
});

test('D2, U-370: who has not seen the end of a task before its session was deleted is let go within a second', async () => {
  const { elsewhere, store, clock, ...rig } = stage();
  const [run] = await begin({ ...rig, store, clock }, 1);
  if (run === undefined) throw new Error('There is no run.');
  const readers = [0, 1].map((after) => read(elsewhere, run.admission, after));
  await clock.advance(300);
  await run.writer.write([noteDraft('x')]);
  await end(run);
  await store.deleteSession(run.admission.sessionId);
  const late = read(elsewhere, run.admission, 1);
  await clock.advance(1_000);
  await Promise.all([...readers, late].map(({ done }) => done));
  expect([...readers, late].map(({ seen }) => seen.length)).toEqual([1, 0, 0]);
  expect([elsewhere.elsewhere.waiting, elsewhere.openRuns]).toEqual([0, 0]);
});

test('D3: while the store does not answer a reader waits; then it has everything', async () => {
  const { elsewhere, clock, fault, ...rig } = stage();
  const [run] = await begin({ ...rig, clock }, 1);
  if (run === undefined) throw new Error('There is no run.');
  const reader = read(elsewhere, run.admission);
  await clock.advance(0);
  fault.on = true;
  await run.writer.write([noteDraft('x')]);
  await clock.advance(5_000);
  expect(reader.seen).toHaveLength(1);
  fault.on = false;
  await clock.advance(1_000);
  expect(reader.seen).toHaveLength(2);
  reader.stop();
  await reader.done;
});
