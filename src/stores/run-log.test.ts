import { afterEach, expect, test } from 'vitest';
import { LeaseLostError, RefusedEntryError, RuntimeStateError, StorageError } from '../core/errors.ts';
import { runIds } from '../core/ids.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { end, lastSeq, logRig, read, seqs, upTo, type LogRig, type Reader } from '../testing/log-rig.ts';
import { admissionOf, noteDraft, stampAll, startDraft, textDraft } from '../testing/store-samples.ts';
import type { RunLogOptions } from './run-log.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import type { Store } from './store.ts';

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
});

function rig(faults?: (store: Store) => Partial<Store>, options?: Partial<RunLogOptions>): LogRig {
  const store = openSqlite(':memory:');
  opened.push(store);
  return logRig(store, faults, options);
}

test('E-007: nobody sees an event before the store has it', async () => {
  const gate = Promise.withResolvers<void>();
  const { log, clock, open } = rig((real) => ({
    append: async (batch, options) => {
      await gate.promise;
      return real.append(batch, options);
    },
  }));
  const run = await open('a');
  const published: RunEvent[] = [];
  log.onPublish((_, events) => published.push(...events));
  const reader = read(log, run.admission, 1);
  const stored = run.writer.write([noteDraft('x')]);
  await clock.advance(100);
  expect([reader.seen, published]).toEqual([[], []]);
  gate.resolve();
  await stored;
  await clock.advance(0);
  expect(seqs(reader.seen)).toEqual([2]);
  expect(published).toEqual(reader.seen);
  reader.stop();
  await reader.done;
});

test('admission publishes its events at once', async () => {
  const { log, open } = rig();
  const published: RunEvent[] = [];
  log.onPublish((_, events) => published.push(...events));
  await open('a');
  expect(published).toMatchObject([{ seq: 1, type: 'run-started' }]);
});

test('B047: an event published between history and live reaches each of two followers once and in order', async () => {
  let between: (() => Promise<void>) | null = null;
  const { log, clock, open } = rig((real) => ({
    async readEvents(runId, range) {
      const page = await real.readEvents(runId, range);
      const pause = between;
      between = null;
      await pause?.();
      return page;
    },
  }));
  const run = await open('a');
  await run.writer.write([noteDraft('2'), noteDraft('3')]);
  between = async () => void (await run.writer.write([noteDraft('inside')]));
  const readers = [read(log, run.admission, 0), read(log, run.admission, 2)];
  await clock.advance(20);
  await run.writer.write([noteDraft('5')]);
  await end(run);
  await Promise.all(readers.map(({ done }) => done));
  expect(readers.map(({ seen }) => seqs(seen))).toEqual([upTo(6), upTo(6, 3)]);
});

test('B051: what a follower saw live is byte for byte what the store replays', async () => {
  const { log, clock, open } = rig();
  const run = await open('a');
  const reader = read(log, run.admission);
  for (let round = 0; round < 200; round++) {
    void run.writer.write([
      textDraft(`${round}`),
      { data: `${round}`, block: 1, attempt: 1, step: 1, type: 'thinking-delta' },
    ]);
    if (round % 7 === 0) await clock.advance(5);
  }
  await end(run);
  await reader.done;
  const replayed: RunEvent[] = [];
  for await (const batch of log.readAll(run.admission.runId)) replayed.push(...batch);
  expect(JSON.stringify(reader.seen)).toBe(JSON.stringify(replayed));
  expect(seqs(replayed)).toEqual(upTo(replayed.length));
});

test('G2: followers with any cursor, joining at any time, see every seq after it exactly once', async () => {
  const { log, store, clock, open } = rig();
  const run = await open('a');
  const readers: { after: number; reader: Reader }[] = [];
  for (let round = 0; round < 120; round++) {
    if (round % 9 === 0) {
      const after = (round * 7) % ((await lastSeq(store, run)) + 1);
      readers.push({ after, reader: read(log, run.admission, after) });
    }
    const stored = run.writer.write([
      textDraft('x'),
      textDraft('y', { block: 1 }),
      ...(round % 5 === 0 ? [noteDraft('n')] : []),
    ]);
    if (round % 4 === 0) await clock.advance(5);
    await stored;
  }
  await end(run);
  for (const { after, reader } of readers) {
    await reader.done;
    expect(seqs(reader.seen)).toEqual(upTo(await lastSeq(store, run), after + 1));
  }
});

test('B043, E-144: a follower that stalls delays nobody and later gets the rest from the store', async () => {
  const { log, clock, open } = rig();
  const run = await open('a');
  const gate = Promise.withResolvers<void>();
  const stalled = read(log, run.admission, 0, gate.promise);
  const brisk = read(log, run.admission);
  await clock.advance(0);
  for (let round = 0; round < 1_000; round++) await run.writer.write([noteDraft(`${round}`)]);
  await end(run);
  await brisk.done;
  expect([seqs(brisk.seen).length, seqs(stalled.seen)]).toEqual([1_002, [1]]);
  gate.resolve();
  await stalled.done;
  expect(seqs(stalled.seen)).toEqual(upTo(1_002));
});

test('C1, E-142: after a pause a write goes at once; then everything of a window, of all runs, is one transaction', async () => {
  const batches: number[] = [];
  const faults = (real: Store): Partial<Store> => ({
    append: async (batch, options) => {
      batches.push(batch.length);
      return real.append(batch, options);
    },
  });
  const { store, clock, open } = rig(faults, { windowMs: 5 });
  const runs = await Promise.all(['a', 'b', 'c'].map(open));
  await runs[0]?.writer.write([noteDraft('at once')]);
  expect(batches).toEqual([1]);
  for (const { writer } of runs) void writer.write([textDraft('x'), textDraft('y')]);
  await clock.advance(4);
  expect(batches).toEqual([1]);
  for (const { writer } of runs) void writer.write([textDraft('z')]);
  await clock.advance(1);
  expect(batches).toEqual([1, 3]);
  expect(await Promise.all(runs.map((run) => lastSeq(store, run)))).toEqual([3, 2, 2]);
});

test('E-802: a transaction is durable exactly when it holds a committed event', async () => {
  const durable: boolean[] = [];
  const { clock, open } = rig((real) => ({
    append: (batch, options) => {
      durable.push(options.durable);
      return real.append(batch, options);
    },
  }));
  const { writer } = await open('a');
  expect(writer.write([textDraft('x')])).toBeUndefined();
  await clock.advance(5);
  await writer.write([textDraft('y'), noteDraft('n')]);
  expect(durable).toEqual([false, true]);
});

test('a harness that outruns the store is told to wait at 64 KiB', async () => {
  const { log, open } = rig();
  const run = await open('a');
  let waits = 0;
  for (let round = 0; round < 300; round++) {
    const full = run.writer.write([textDraft('x'.repeat(1_000))]);
    if (full !== undefined) waits += 1;
    await full;
  }
  expect(waits).toBeGreaterThanOrEqual(4);
  await end(run);
  let text = '';
  for await (const batch of log.readAll(run.admission.runId)) {
    for (const event of batch) if (event.type === 'text-delta') text += event.data;
  }
  expect(text).toBe('x'.repeat(300_000));
});

/** A store that fails as long as `broken` says so. */
function breakable() {
  const state = { broken: false, tries: 0 };
  const faults = (real: Store): Partial<Store> => ({
    append: async (batch, options) => {
      state.tries += 1;
      if (state.broken) throw new StorageError('The disk is full.');
      return real.append(batch, options);
    },
  });
  return { state, faults };
}

test('E-143: live events that the store refuses four times are lost by name, and the run goes on', async () => {
  const { state, faults } = breakable();
  const { log, clock, open } = rig(faults);
  const run = await open('a');
  state.broken = true;
  expect(run.writer.write([textDraft('lost'), textDraft('lost', { block: 1 })])).toBeUndefined();
  await clock.advance(2_000);
  expect(state.tries).toBe(4);
  expect(run.writer.incomplete).toBe(true);
  state.broken = false;
  await run.writer.write([textDraft('kept'), noteDraft('n')]);
  const events: RunEvent[] = [];
  for await (const batch of log.readAll(run.admission.runId)) events.push(...batch);
  expect(events.slice(1)).toMatchObject([
    { seq: 2, type: 'gap', data: { reason: 'deltas_lost', step: 1, attempt: 1 } },
    { seq: 3, type: 'text-delta', data: 'kept' },
    { seq: 4, type: 'user-message' },
  ]);
});

test('Q3, UD-21: nothing is lost any more once the end was given, so `incomplete` is final right before it', async () => {
  const { state, faults } = breakable();
  const { log, clock, open } = rig(faults, { maxLogBytes: 300 });
  const run = await open('a');
  state.broken = true;
  void run.writer.write([textDraft('x')]);
  await clock.advance(60);
  expect([run.writer.incomplete, state.tries]).toEqual([false, 2]);
  const ended = end(run, [textDraft('y'.repeat(500)), textDraft('z', { block: 1 })]);
  await clock.advance(5_000);
  expect(state.tries).toBeGreaterThan(4);
  state.broken = false;
  await clock.advance(5_000);
  await ended;
  expect(run.writer.incomplete).toBe(false);
  const types: string[] = [];
  for await (const batch of log.readAll(run.admission.runId)) types.push(...batch.map(({ type }) => type));
  expect(types).toEqual(['run-started', 'text-delta', 'text-delta', 'text-delta', 'run-result']);
});

test('E-143: a committed event is tried again and stored once when the store is back', async () => {
  const { state, faults } = breakable();
  const { log, clock, open } = rig(faults);
  const run = await open('a');
  const reader = read(log, run.admission);
  state.broken = true;
  const stored = run.writer.write([textDraft('x'), noteDraft('n')]);
  await clock.advance(5_000);
  const later = run.writer.write([noteDraft('m')]);
  state.broken = false;
  await clock.advance(5_000);
  await Promise.all([stored, later, end(run)]);
  await reader.done;
  expect(reader.seen.map(({ type }) => type)).toEqual([
    'run-started',
    'text-delta',
    'user-message',
    'user-message',
    'run-result',
  ]);
});

test('E-143: a store that stays broken fails the committed write, and the writer for good', async () => {
  const { state, faults } = breakable();
  const { clock, open } = rig(faults);
  const { writer } = await open('a');
  state.broken = true;
  const refused = expect(writer.write([noteDraft('n')])).rejects.toThrow(StorageError);
  await clock.advance(12_000);
  await refused;
  await expect(writer.write([textDraft('x')])).rejects.toThrow(StorageError);
});

test('C2: an entry that cannot be stored, or was fenced, fails its run alone', async () => {
  const { store, open } = rig();
  const [a, b, c] = [await open('a'), await open('b'), await open('c')];
  await store.takeOver(a.admission.runId, 'there');
  const poison = { ...noteDraft('n'), data: { messageId: 1n } } as unknown as EventDraft;
  const results = await Promise.allSettled([
    a.writer.write([noteDraft('n')]),
    b.writer.write([poison]),
    c.writer.write([noteDraft('n')]),
  ]);
  expect(results).toMatchObject([
    { status: 'rejected', reason: expect.any(LeaseLostError) },
    { status: 'rejected', reason: expect.any(StorageError) },
    { status: 'fulfilled' },
  ]);
  expect(await lastSeq(store, c)).toBe(2);
});

/** As a database does that cannot hold what one entry says: nothing of its batch is stored. */
const refusing = (real: Store): Partial<Store> => ({
  async append(batch, options) {
    if (JSON.stringify(batch).includes('poison')) throw new RefusedEntryError('The store could not read or write.');
    return real.append(batch, options);
  },
});

test('C2, Q7: what the store refuses of one run, which then ends by other words, hinders nobody', async () => {
  const { store, log, open } = rig(refusing);
  const runs = await Promise.all(upTo(20).map((name) => open(`${name}`)));
  const [bad, ...others] = runs;
  if (bad === undefined) throw new Error('There is no run.');
  const reader = read(log, bad.admission);
  void bad.writer.write([textDraft('shown')]);
  const results = await Promise.allSettled([
    bad.writer.write([noteDraft('poison')]),
    ...others.map(({ writer }) => writer.write([noteDraft('n')])),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', ...others.map(() => 'fulfilled')]);
  expect(results[0]).toMatchObject({ reason: expect.any(RefusedEntryError) });
  await expect(end(bad, [noteDraft('poison again')])).rejects.toThrow(RefusedEntryError);
  expect(bad.writer.incomplete).toBe(true);
  expect(await end(bad)).toMatchObject({ outcome: 'ended' });
  await reader.done;
  expect(reader.seen).toMatchObject([{ type: 'run-started' }, { type: 'gap' }, { type: 'run-result' }]);
  expect(await store.run(bad.admission.runId)).toMatchObject({ status: 'completed', lastSeq: 3 });
});

test('Q7: live events that the store refuses are lost by name at once, and the run goes on', async () => {
  const { log, clock, open } = rig(refusing);
  const run = await open('a');
  void run.writer.write([textDraft('poison')]);
  await clock.advance(0);
  await run.writer.write([textDraft('kept'), noteDraft('n')]);
  const events: RunEvent[] = [];
  for await (const batch of log.readAll(run.admission.runId)) events.push(...batch);
  expect(events.map(({ type }) => type)).toEqual(['run-started', 'gap', 'text-delta', 'user-message']);
});

test('E-846: beyond maxLogBytes live events are left out after one gap; committed ones go on', async () => {
  const { log, open } = rig(undefined, { maxLogBytes: 2_000 });
  const run = await open('a');
  for (let round = 0; round < 10; round++) await run.writer.write([textDraft('x'.repeat(500)), noteDraft(`${round}`)]);
  await end(run);
  const types: string[] = [];
  for await (const batch of log.readAll(run.admission.runId)) types.push(...batch.map(({ type }) => type));
  expect(run.writer.incomplete).toBe(true);
  expect(types.filter((type) => type === 'gap')).toHaveLength(1);
  expect(types.filter((type) => type === 'text-delta').length).toBeLessThan(4);
  expect(types.filter((type) => type === 'user-message')).toHaveLength(10);
});

test('L4: an ended run is forgotten, refuses writes, and can still be followed from the store', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  await end(run, [textDraft('x')]);
  expect(await store.run(run.admission.runId)).toMatchObject({ status: 'completed', lastSeq: 3 });
  await expect(run.writer.write([textDraft('late')])).rejects.toThrow(RuntimeStateError);
  expect(log.openRuns).toBe(0);
  for (const after of [0, 2, 3]) {
    const reader = read(log, run.admission, after);
    await reader.done;
    expect(seqs(reader.seen)).toEqual(upTo(3, after + 1));
  }
});

test('G4: followers go on over a park and see the next leg, whoever writes it', async () => {
  const { log, store, clock, open } = rig();
  const run = await open('a');
  const reader = read(log, run.admission);
  await run.writer.write([noteDraft('park')]);
  run.writer.close();
  expect(log.openRuns).toBe(1);
  const { runId, sessionId } = run.admission;
  await store.append(
    [{ runId, generation: 1, after: 2, events: stampAll([noteDraft('elsewhere')], runId, sessionId) }],
    {
      durable: true,
    },
  );
  await clock.advance(1_000);
  expect(seqs(reader.seen)).toEqual([1, 2, 3]);
  const writer = log.writer({ runId, sessionId, generation: 1, lastSeq: 3, leg: 2 });
  await writer.write([startDraft()]);
  await clock.advance(0);
  expect(reader.seen.at(-1)).toMatchObject({ seq: 4, leg: 2 });
  await end({ ...run, writer });
  await reader.done;
  expect(clock.pending).toBe(0);
});

test('B045: a follower that is stopped, or asks for no run at all, leaves nothing behind', async () => {
  const { log, clock, open } = rig();
  const run = await open('a');
  const readers = Array.from({ length: 100 }, () => read(log, run.admission));
  await clock.advance(0);
  for (const reader of readers) reader.stop();
  await Promise.all(readers.map(({ done }) => done));
  await read(log, { ...run.admission, runId: runIds.make('nobody') }).done;
  expect(clock.pending).toBe(0);
});

test('G5: `return` releases a follower that waits, one that holds a batch and one that holds the last', async () => {
  const { log, clock, open } = rig();
  const run = await open('a');
  const { runId } = run.admission;
  const waiting = log.follow(runId, { after: 1 });
  const next = waiting.next();
  await clock.advance(0);
  await waiting.return?.();
  expect(await next).toEqual({ done: true, value: undefined });

  const holding = log.follow(runId, { after: 0 });
  await holding.next();
  await holding.return?.();
  await end(run);
  expect(log.openRuns).toBe(0);

  const last = log.follow(runId, { after: 0 });
  expect((await last.next()).value?.at(-1)).toMatchObject({ type: 'run-result' });
  expect(log.openRuns).toBe(1);
  await last.return?.();
  expect([log.openRuns, clock.pending]).toEqual([0, 0]);
});

test('B045: a follower of nothing, or of a run that is written elsewhere, is released by `return` at once', async () => {
  const { log, clock, store } = rig();
  const admission = admissionOf('a');
  await store.admit(admission);
  const follower = log.follow(admission.runId, { after: 1 });
  const next = follower.next();
  await clock.advance(0);
  expect([log.openRuns, clock.pending]).toEqual([1, 1]);
  await follower.return?.();
  await next;
  expect([log.openRuns, clock.pending]).toEqual([0, 0]);
});

test('readAll can leave live events out', async () => {
  const { log, open } = rig();
  const run = await open('a');
  await run.writer.write([textDraft('x'), noteDraft('n')]);
  await end(run, [textDraft('y')]);
  const types: string[] = [];
  for await (const batch of log.readAll(run.admission.runId, { committedOnly: true }))
    types.push(...batch.map(({ type }) => type));
  expect(types).toEqual(['run-started', 'user-message', 'run-result']);
});

test('close stores what is pending, ends followers and refuses the rest', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  const reader = read(log, run.admission, 1);
  void run.writer.write([textDraft('last words')]);
  await log.close();
  await reader.done;
  expect(await store.run(run.admission.runId)).toMatchObject({ lastSeq: 2 });
  await expect(run.writer.write([textDraft('late')])).rejects.toThrow(RuntimeStateError);
  expect(() => log.writer({ ...run.admission, generation: 1, lastSeq: 2, leg: 1 })).toThrow(RuntimeStateError);
});
