// What readers of other nodes' runs cost the database, counted at it: one query a second, however many read, and however many
// runs; one where the log of some has grown. And what it costs to tell them.

import { admitted, entry, finish, write } from '../src/testing/store-steps.ts';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { createRunLog } from '../src/stores/run-log.ts';
import { describeWithPostgres, openStore, query } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { expect, onTestFinished, test } from 'vitest';
import { read, seqs, upTo } from '../src/testing/log-rig.ts';
import { runIds } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { stampAll, textDraft } from '../src/testing/store-samples.ts';
import { StorageError } from '../src/core/errors.ts';
import type { Admission } from '../src/stores/admission.ts';
import pg from 'pg';

describeWithPostgres('readers at another node', (cluster) => {
  test.each([
    ['without LISTEN', null],
    ['with it: a word may be lost', undefined],
  ])(
    'sixty readers of twenty silent runs, %s: one query a second, and one more for all that is new',
    async (_, listenUrl) => {
      const url = await (await cluster()).database();
      await using store = await openStore(url, { listenUrl: null });
      const asked: string[] = [];
      const listen = listenUrl === undefined ? {} : { listenUrl };
      await using other = await openStore(url, { ...listen, onStatement: (sql) => asked.push(sql) });
      const clock = createManualClock();
      const log = createRunLog({ store: other, clock, logger: silentLogger });
      const runs = await Promise.all(upTo(20).map((name) => admitted(store, `${name}`)));
      const readers = runs.flatMap((run) => upTo(3).map(() => read(log, run)));
      await eventually(() => log.elsewhere.waiting === 60 || undefined);
      // The connection that listens has it all looked at once.
      if (listenUrl === undefined) await eventually(() => other.figures?.().isListening === true || undefined);
      await settled(asked);
      asked.length = 0;

      for (const second of upTo(3)) {
        await clock.advance(1_000);
        await eventually(() => (asked.length === second && clock.pending === 1) || undefined);
      }
      expect(new Set(asked).size).toBe(1);

      asked.length = 0;
      for (const run of runs.slice(0, 5)) await write(store, run, [textDraft('x')]);
      await clock.advance(1_000);
      await eventually(() => readers.filter(({ seen }) => seen.length === 2).length === 15 || undefined);
      await eventually(() => log.elsewhere.waiting === 60 || undefined);
      await settled(asked);
      // A word for each of the five writes, or one look; then one read of what is new, never an empty one.
      const reads = asked.filter((sql) => sql.includes('event_batches')).length;
      expect(reads).toBeLessThanOrEqual(listenUrl === undefined ? 5 : 1);
      expect(asked.length - reads).toBeLessThanOrEqual(1);
      for (const reader of readers) reader.stop();
      await Promise.all(readers.map(({ done }) => done));
      await log.close();
    },
  );

  test('E-144: fifty windows of five runs are read with a query a window at most, in order, without a look at the head', async () => {
    const asked: string[] = [];
    const { store, other } = await twoNodes(await (await cluster()).database(), asked);
    const clock = createManualClock();
    const log = createRunLog({ store: other, clock, logger: silentLogger });
    const runs = await Promise.all(upTo(5).map((name) => admitted(store, `${name}`)));
    const readers = runs.flatMap((run) => upTo(2).map(() => read(log, run)));
    await eventually(() => log.elsewhere.waiting === 10 || undefined);
    await settled(asked);
    asked.length = 0;

    for (const window of upTo(50))
      await store.append(
        runs.map((run) => entry(run, window, { events: texts(run) })),
        { durable: false },
      );
    await eventually(() => readers.every(({ seen }) => seen.length === 51) || undefined);
    await eventually(() => log.elsewhere.waiting === 10 || undefined);
    expect(readers.map(({ seen }) => seqs(seen))).toEqual(readers.map(() => upTo(51)));
    expect(asked.length).toBeLessThanOrEqual(50);
    expect(new Set(asked).size).toBe(1);

    // A run that ends is left where its last event is read.
    asked.length = 0;
    for (const run of runs) await finish(store, run, 51);
    await Promise.all(readers.map(({ done }) => done));
    expect(asked.length).toBeLessThanOrEqual(5);
    await log.close();
  });

  test('N1: a window is told in one word, of all its runs; none goes while no other node is there', async () => {
    const url = await (await cluster()).database();
    const { store, other } = await twoNodes(url, []);
    const heard: string[] = [];
    await listenTo(url, heard);
    const runs = await Promise.all(upTo(5).map((name) => admitted(store, `${name}`)));
    const writeWindow = (after: number) =>
      store.append(
        runs.map((run) => entry(run, after, { events: texts(run) })),
        { durable: false },
      );
    const owner = { owner: 'own', place: 'here', pid: 1, startTicks: null, seenAtMs: 1 };
    const words = (seq: number) => runs.map(({ runId }) => `${runId}:${seq}`).join(',');

    await writeWindow(1);
    await store.putOwner(owner);
    await store.owners();
    await writeWindow(2);
    await other.putOwner({ ...owner, owner: 'other' });
    await store.owners();
    await writeWindow(3);
    await eventually(() => heard.includes(words(4)) || undefined);
    // Who comes says so, with no words.
    expect(heard.filter((word) => word !== '')).toEqual([words(2), words(4)]);
  });

  test('readTails: a beginning of what readEvents gives; it ends before a long row and before damage, which harm no other', async () => {
    const url = await (await cluster()).database();
    await using store = await openStore(url, { listenUrl: null });
    const [plain, long, damaged] = await Promise.all(['plain', 'long', 'damaged'].map((name) => admitted(store, name)));
    if (plain === undefined || long === undefined || damaged === undefined) throw new Error('There are no runs.');
    for (const run of [plain, long, damaged]) {
      await write(store, run, [textDraft('a'), textDraft('b', { block: 1 })]);
      await write(store, run, [textDraft(run === long ? 'x'.repeat(20_000) : 'c')]);
      await write(store, run, [textDraft('d')]);
    }
    await query(
      url,
      `UPDATE event_batches SET body = '[' FROM runs WHERE runs.run_no = event_batches.run_no AND run_id = '${damaged.runId}' AND last_seq = 4`,
    );
    const cursors = [
      ...upTo(5, 0).map((after) => ({ runId: plain.runId, after })),
      ...[damaged, long].flatMap(({ runId }) => upTo(3, 1).map((after) => ({ runId, after }))),
      { runId: runIds.make('nobody'), after: 0 },
    ];
    const tails = await store.readTails?.(cursors);
    expect(tails?.map(seqs)).toEqual([
      upTo(5),
      upTo(5, 2),
      upTo(5, 3),
      [4, 5],
      [5],
      [],
      [2, 3],
      [3],
      [],
      [2, 3],
      [3],
      [],
      [],
    ]);
    for (const [index, { runId, after }] of cursors.entries()) {
      const all = await store.readEvents(runId, { after, limit: 99 }).catch(() => []);
      expect(all.slice(0, tails?.[index]?.length)).toEqual(tails?.[index]);
    }
    // Who follows it gets the long one, or the error, all the same.
    const log = createRunLog({ store, clock: createManualClock(), logger: silentLogger });
    const [reader, failing] = [read(log, long, 1), read(log, damaged, 1)];
    await expect(failing.done).rejects.toThrow(StorageError);
    expect(seqs(failing.seen)).toEqual([2, 3]);
    await eventually(() => reader.seen.length === 4 || undefined);
    reader.stop();
    await reader.done;
    await log.close();
  });
});

/** Another listener, who keeps each word. */
async function listenTo(url: string, heard: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  onTestFinished(() => client.end());
  await client.connect();
  await client.query('LISTEN reins_log');
  client.on('notification', ({ payload = '' }) => heard.push(payload));
}

const texts = ({ runId, sessionId }: Admission) => stampAll([textDraft('x')], runId, sessionId);

/** A node, and one that reads what it writes. */
async function twoNodes(url: string, asked: string[]) {
  const store = await openStore(url);
  const other = await openStore(url, { onStatement: (sql) => asked.push(sql) });
  onTestFinished(async () => void (await Promise.all([store[Symbol.asyncDispose](), other[Symbol.asyncDispose]()])));
  await eventually(() => [store, other].every((each) => each.figures?.().isListening === true) || undefined);
  return { store, other };
}

/** Until nothing more was asked for a moment. */
async function settled(asked: readonly string[]): Promise<void> {
  for (let before = -1; before !== asked.length;) {
    before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
