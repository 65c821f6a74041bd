import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { StorageError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { read, seqs, upTo } from '../testing/log-rig.ts';
import { noteDraft, textDraft } from '../testing/store-samples.ts';
import { admitted, finish, lastSeq, write } from '../testing/store-steps.ts';
import { createReadTail } from './read-tails.ts';
import { createRunLog } from './run-log.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import type { LogCursor, NewsListener, Store } from './store.ts';

/** A store that another process writes, and what a log of this process asks it. */
function stage() {
  const store = openSqlite(':memory:');
  onTestFinished(() => store[Symbol.asyncDispose]());
  const clock = createManualClock();
  const [asked, heads, listeners] = [new Array<readonly LogCursor[]>(), { count: 0 }, new Set<NewsListener>()];
  const tail = async ({ runId, after }: LogCursor) => store.readEvents(runId, { after, limit: 3 });
  const here: Store = {
    ...store,
    async heads(runIds) {
      heads.count += 1;
      return store.heads(runIds);
    },
    async readTails(cursors) {
      asked.push(cursors);
      return Promise.all(cursors.map(tail));
    },
    onNews(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const tell: NewsListener = (...news) => {
    for (const listener of listeners) listener(...news);
  };
  return { store, here, clock, asked, heads, tell, log: createRunLog({ store: here, clock, logger: silentLogger }) };
}

test('R1, R2: what is told of ten runs is one read; what is told meanwhile is the next one; readers of one run share it', async () => {
  const { store, log, clock, asked, heads, tell } = stage();
  const runs = await Promise.all(upTo(10).map((name) => admitted(store, `${name}`)));
  const readers = runs.flatMap((run) => upTo(3).map(() => read(log, run)));
  await clock.advance(0);
  heads.count = 0;
  for (const seq of [2, 3]) {
    for (const run of runs) await write(store, run, [textDraft('x')]);
    for (const { runId } of runs) tell(runId, seq);
    await clock.advance(0);
  }
  expect(asked.map((cursors) => cursors.length)).toEqual([10, 10]);
  expect(readers.map(({ seen }) => seqs(seen))).toEqual(readers.map(() => [1, 2, 3]));
  expect(readers[0]?.seen[1]).toBe(readers[1]?.seen[1]);

  for (const run of runs) await finish(store, run, 3);
  for (const { runId } of runs) tell(runId, 4);
  await Promise.all(readers.map(({ done }) => done));
  expect([asked.length, heads.count, log.openRuns]).toEqual([3, 0, 0]);
});

test('a word of what a reader has, or of any run, reads nothing; the second makes one look', async () => {
  const { store, log, clock, asked, heads, tell } = stage();
  const runs = await Promise.all(upTo(4).map((name) => admitted(store, `${name}`)));
  const readers = runs.map((run) => read(log, run));
  await clock.advance(0);
  heads.count = 0;
  for (const { runId } of runs) tell(runId, 1);
  await clock.advance(0);
  expect([asked.length, heads.count]).toEqual([0, 0]);
  for (const run of runs.slice(0, 2)) await write(store, run, [textDraft('x')]);
  tell(null, 0);
  await clock.advance(0);
  expect([asked.length, heads.count]).toEqual([1, 1]);
  expect(readers.map(({ seen }) => seen.length)).toEqual([2, 2, 1, 1]);
  for (const reader of readers) reader.stop();
  await Promise.all(readers.map(({ done }) => done));
});

test('R3: who lacks much reads for itself, and so does who is given nothing; a failure is that of its readers alone', async () => {
  const { store, here } = stage();
  const run = await admitted(store, 'a');
  await write(
    store,
    run,
    upTo(200).map((note) => noteDraft(`${note}`)),
  );
  const { runId } = run;
  const tails: (readonly LogCursor[])[] = [];
  const faults: Error[] = [new StorageError('It does not answer.')];
  const readTail = createReadTail({
    readEvents: here.readEvents,
    async readTails(cursors) {
      tails.push(cursors);
      const fault = faults.pop();
      if (fault !== undefined) throw fault;
      return cursors.map(() => []);
    },
  });
  expect((await readTail({ runId, after: 0 }, 201)).length).toBe(201);
  expect(tails).toEqual([]);
  const both = [200, 199].map((after) => readTail({ runId, after }, 201));
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await readTail({ runId, after: 200 }, 201)).map(({ seq }) => seq)).toEqual([201]);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), told: fc.constantFrom('told', 'lost', 'twice', 'late') }),
  fc.record({ kind: fc.constant('tell' as const), seq: fc.nat(12) }),
  fc.record({ kind: fc.constantFrom('tell-all' as const, 'join' as const, 'pause' as const) }),
);

test('G2, G4: whatever is told, late, twice, of what is not there, or not at all: no gap, no repeat, and the end within a second', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { store, log, clock, tell } = stage();
      const run = await admitted(store, 'a');
      const readers = [read(log, run)];
      let untold = 0;
      for (const each of steps) {
        if (each.kind === 'write') {
          await write(store, run, [textDraft('x'), textDraft('y', { block: 1 })]);
          const seq = await lastSeq(store, run);
          if (each.told === 'late') untold = seq;
          else if (each.told !== 'lost') tell(run.runId, seq);
          if (each.told === 'twice') tell(run.runId, seq);
        } else if (each.kind === 'tell') tell(run.runId, each.seq);
        else if (each.kind === 'tell-all') tell(null, 0);
        else if (each.kind === 'join') readers.push(read(log, run));
        else await clock.advance(0);
      }
      tell(run.runId, untold);
      const last = await lastSeq(store, run);
      await finish(store, run, last);
      await clock.advance(1_000);
      await Promise.all(readers.map(({ done }) => done));
      expect(readers.map(({ seen }) => seqs(seen))).toEqual(readers.map(() => upTo(last + 1)));
      await log.close();
    }),
    { numRuns: 60 },
  );
});
