import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, test } from 'vitest';
import { isLive, type EventDraft } from '../../core/run-event.ts';
import { evolve, initialRunState } from '../../core/run-state.ts';
import { admissionOf, noteDraft, resultDraft, stampAll, startDraft, textDraft } from '../../testing/store-samples.ts';
import type { Store } from '../store.ts';
import type { Admission } from '../admission.ts';
import { openSqlite } from './open-sqlite.ts';

const folders: string[] = [];
async function newPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-prune-'));
  folders.push(folder);
  return join(folder, 'reins.db');
}
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

const model = { provider: 'demo', model: 'demo' };
const step: EventDraft = {
  type: 'step-started',
  step: 1,
  attempt: 1,
  data: { purpose: 'reply', model, replyBudget: null },
};

/** An ended run of many batches: two blocks of partial output that take turns, and a note every now and then. */
async function writeLongRun(store: Store, admission: Admission, batches = 1_000): Promise<void> {
  const { runId, sessionId } = admission;
  const append = async (after: number, drafts: readonly EventDraft[], end = {}) =>
    store.append([{ runId, generation: 1, after, events: stampAll(drafts, runId, sessionId), ...end }], {
      durable: false,
    });
  await store.admit({ ...admission, events: stampAll([startDraft(), step], runId, sessionId) });
  for (let batch = 0; batch < batches; batch++) {
    const draft = batch % 100 === 7 ? noteDraft(`${batch}`) : textDraft(`${batch} `, { block: (batch >> 3) & 1 });
    await append(2 + batch, [draft]);
  }
  const end = { status: 'failed', response: null, atMs: 5 } as const;
  await append(2 + batches, [resultDraft(runId, sessionId, 'failed')], { end });
}

async function logOf(store: Store, { runId, sessionId }: Admission) {
  const events = await store.readEvents(runId, { after: 0, limit: 100_000 });
  const live = events.filter(({ type }) => isLive(type));
  return { live: live.length, state: events.reduce(evolve, initialRunState(runId, sessionId)) };
}

test('P3, E-845: stopped between any two pages, a prune leaves a log of the same fold, and the next one goes on', async () => {
  let commits = 0;
  let stop = new AbortController();
  await using store = openSqlite(':memory:', {
    onStatement(sql) {
      if (sql === 'COMMIT' && ++commits % 3 === 0) stop.abort();
    },
  });
  const a = admissionOf('a', { idempotency: { key: 'k', bodyHash: 'h' } });
  await writeLongRun(store, a);
  const before = await logOf(store, a);
  commits = 0;
  const seen: number[] = [];
  for (let runs = 0; runs === 0 && seen.length < 9; seen.push((await logOf(store, a)).live)) {
    stop = new AbortController();
    const pruned = await store.prune({ endedBeforeMs: 6, nowMs: 6, signal: stop.signal });
    runs = pruned.runs;
    expect(pruned.keys).toBe(runs);
    expect(await store.isPruned(a.runId)).toBe(true);
    expect((await logOf(store, a)).state).toEqual(before.state);
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen).toEqual(seen.toSorted((one, two) => two - one));
  expect(seen.at(-1)).toBeLessThan(before.live / 4);
  expect(await store.idempotency('owner', 'k')).toBeNull();
  expect(await store.prune({ endedBeforeMs: 6, nowMs: 6 })).toEqual({ keys: 0, runs: 0 });
});

test('the event loop comes by many times while one long run is pruned', async () => {
  await using store = openSqlite(':memory:');
  await writeLongRun(store, admissionOf('a'));
  let turns = 0;
  let state: 'pruning' | 'done' = 'pruning';
  const count = () => {
    turns += 1;
    if (state === 'pruning') setImmediate(count);
  };
  count();
  await store.prune({ endedBeforeMs: 6, nowMs: 6 });
  state = 'done';
  expect(turns).toBeGreaterThan(5);
});

test('P5: a damaged batch stays for whoever reads it, and hinders neither its own run nor another', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const [a, b] = [admissionOf('a'), admissionOf('b')];
  for (const admission of [a, b]) await writeLongRun(store, admission, 20);
  using db = new DatabaseSync(path);
  db.exec(`UPDATE event_batches SET body = '[' WHERE batch_no = 12`);
  expect(await store.prune({ endedBeforeMs: 6, nowMs: 6 })).toEqual({ keys: 0, runs: 2 });
  expect((await logOf(store, b)).live).toBeLessThan(10);
  await expect(store.readEvents(a.runId, { after: 12, limit: 1 })).rejects.toThrow('damaged at events 13 to 13');
});
