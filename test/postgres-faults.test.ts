// What breaks between a node and its database, and what must not follow from it.

import * as fc from 'fast-check';
import { arbitraryLog } from '../src/testing/arbitrary-log.ts';
import { admissionOf, factOf, noteDraft, queuedOf, textDraft } from '../src/testing/store-samples.ts';
import { admitted, entry, finish, lastSeq, readAll, write } from '../src/testing/store-steps.ts';
import { connect, createServer, type Socket } from 'node:net';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { createRunLog } from '../src/stores/run-log.ts';
import { describeWithPostgres, openStore, query, type Cluster } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { evolve, initialRunState } from '../src/core/run-state.ts';
import { expect, onTestFinished, test } from 'vitest';
import { once } from 'node:events';
import { read, seqs, upTo } from '../src/testing/log-rig.ts';
import { SchemaError, StorageError } from '../src/core/errors.ts';
import { silentLogger } from '../src/core/logger.ts';
import { stampEvent } from '../src/stores/event-shape.ts';
import { systemClock } from '../src/system.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { Store } from '../src/stores/store.ts';

describeWithPostgres('PostgreSQL that breaks', (cluster) => {
  describeSchema(cluster);
  describeCommits(cluster);
  describeNews(cluster);
  describeLocks(cluster);
});

function describeSchema(cluster: () => Promise<Cluster>): void {
  test('E-804: of several nodes that start on an empty database one makes the tables, and a newer schema is refused', async () => {
    const url = await (await cluster()).database('template0');
    for (const store of await Promise.all([1, 2, 3].map(() => openStore(url)))) await store[Symbol.asyncDispose]();
    await query(url, `INSERT INTO schema_versions VALUES (99, 'x')`);
    await expect(openStore(url)).rejects.toThrow(SchemaError);
    await query(url, `DELETE FROM schema_versions WHERE version = 99; UPDATE schema_versions SET checksum = 'x'`);
    await expect(openStore(url)).rejects.toThrow(SchemaError);
  });

  test('what is no database is a StorageError, in time, and its password is in no message', async () => {
    const opening = openStore('postgres://reins:secret@127.0.0.1:1/none', { patienceMs: 50 });
    const failure: unknown = await opening.catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(StorageError);
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('secret');
  });

  test('text that the database cannot hold is kept as far as it can be, and events as they are', async () => {
    const { store } = await fresh(cluster);
    const a = admissionOf('a', { newSession: { title: 'a\0b\ud83d' } });
    await store.admit(a);
    expect(await store.session(a.sessionId)).toMatchObject({ title: 'a\ufffdb\ufffd' });
    const stored = await write(store, a, [textDraft('nul \0 and half \ud83d')]);
    expect(await readAll(store, a, { after: 1 })).toEqual(stored);
  });

  test('E-845: the fold of a pruned log is the fold of the whole log', async () => {
    const { store } = await fresh(cluster);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryLog, fc.integer({ min: 1, max: 9 }), async (log, size) => {
        const admission = await keep(store, `run${runs++}`, { log, size });
        const fold = async () =>
          (await readAll(store, admission)).reduce(evolve, initialRunState(admission.runId, admission.sessionId));
        const whole = await fold();
        await store.prune({ endedBeforeMs: 6_000, nowMs: 6_000 });
        expect(await fold()).toEqual(whole);
      }),
      { numRuns: 25 },
    );
  });
}

/** A log as it is appended, so many events at a time. */
async function keep(store: Store, name: string, o: { readonly log: readonly RunEvent[]; readonly size: number }) {
  const admission = admissionOf(name);
  const { runId, sessionId } = admission;
  const events = o.log.map((event) => stampEvent(event, { runId, sessionId, at: event.at, leg: event.leg }));
  await store.admit({ ...admission, events: events.slice(0, 1) });
  for (let after = 1; after < events.length; after += o.size) {
    const slice = events.slice(after, after + o.size);
    const end = { status: 'completed', response: null, atMs: 5_000 } as const;
    const last = after + o.size >= events.length ? { end } : {};
    await store.append([{ runId, generation: 1, after, events: slice, ...last }], { durable: false });
  }
  return admission;
}

function describeCommits(cluster: () => Promise<Cluster>): void {
  test('a commit whose answer is lost is stored once, and answered', async () => {
    const { store, cutAt } = await cuttable(cluster);
    const a = await admitted(store, 'a');
    cutAt('COMMIT', 'answer');
    expect(await store.countTakeover(a.runId, { nowMs: 5, sinceMs: 0 })).toBe(1);
    expect(await store.countTakeover(a.runId, { nowMs: 6, sinceMs: 0 })).toBe(2);
    cutAt('COMMIT', 'answer');
    expect(await store.admit(admissionOf('b'))).toMatchObject({ outcome: 'admitted' });
    expect(await store.unfinishedRuns()).toHaveLength(2);
    cutAt('COMMIT', 'answer');
    expect(await store.append([entry(a, 1)], { durable: true })).toMatchObject([{ outcome: 'stored' }]);
    expect(await lastSeq(store, a)).toBe(2);
  });

  test('a commit that never arrived is made again, once', async () => {
    const { store, cutAt } = await cuttable(cluster);
    const a = await admitted(store, 'a');
    for (const statement of ['COMMIT', 'INSERT', 'BEGIN']) {
      cutAt(statement, 'request');
      await store.countTakeover(a.runId, { nowMs: 5, sinceMs: 0 });
    }
    expect(await store.countTakeover(a.runId, { nowMs: 5, sinceMs: 0 })).toBe(4);
  });

  test('T1: what a crash took back is made again, whoever was given the number of its transaction since', async () => {
    const running = await cluster();
    const { url, store: other } = await fresh(cluster);
    const reached = Promise.withResolvers<void>();
    const crashed = Promise.withResolvers<void>();
    let isAwaited = false;
    await using store = await openStore(url, {
      listenUrl: null,
      async onStatement(sql) {
        if (!isAwaited || sql !== 'COMMIT') return;
        isAwaited = false;
        reached.resolve();
        await crashed.promise;
      },
    });
    const a = await admitted(store, 'a');
    isAwaited = true;
    const late = store.countTakeover(a.runId, { nowMs: 5, sinceMs: 0 });
    await reached.promise;
    await running.kill();
    await running.start();
    for (const name of upTo(5)) await other.admit(admissionOf(`after${name}`));
    crashed.resolve();
    expect(await late).toBe(1);
    expect(await other.countTakeover(a.runId, { nowMs: 6, sinceMs: 0 })).toBe(2);
  });

  test('L2: the database crashes under writing runs: they wait, and nothing acknowledged is lost or doubled', async () => {
    const running = await cluster();
    const { store } = await fresh(cluster);
    const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
    const a = await admitted(store, 'a');
    const writer = log.writer({ ...a, generation: 1, lastSeq: 1, leg: 1 });
    const follower = read(log, a);
    let told = 0;
    const writing = (async () => {
      for (let round = 1; round <= 60; round++) {
        await writer.write([textDraft(`${round} `), noteDraft(`${round}`)]);
        told = round;
      }
    })();
    await eventually(() => told > 20 || undefined);
    await running.kill();
    const before = told;
    await running.start();
    await writing;
    expect(before).toBeLessThan(60);
    const notes = (await readAll(store, a)).filter(({ type }) => type === 'user-message');
    expect(notes.map(({ data }) => data)).toMatchObject(upTo(60).map((round) => ({ messageId: `${round}` })));
    await eventually(() => follower.seen.length === 121 || undefined);
    expect(seqs(follower.seen)).toEqual(upTo(121));
    await log.close();
  });

  test('E-007: what was answered as stored, live events alone too, is still there after a crash of the database', async () => {
    const running = await cluster();
    const { store } = await fresh(cluster);
    const a = await admitted(store, 'a');
    const seen = [];
    for (const text of ['one', 'two', 'three']) seen.push(...(await write(store, a, [textDraft(text)])));
    await running.kill();
    await running.start();
    expect(await readAll(store, a, { after: 1 })).toEqual(seen);
    expect(await store.append([entry(a, 9)], { durable: true })).toEqual([{ outcome: 'wrong-position', lastSeq: 4 }]);
  });
}

function describeNews(cluster: () => Promise<Cluster>): void {
  /** The clock of who follows stands still: it never comes to look by itself. */
  async function followElsewhere() {
    const { url, store } = await fresh(cluster);
    const other = await openStore(url);
    onTestFinished(() => other[Symbol.asyncDispose]());
    const log = createRunLog({ store: other, clock: createManualClock(), logger: silentLogger });
    const a = await admitted(store, 'a');
    const follower = read(log, a);
    await eventually(() => follower.seen.length === 1 || undefined);
    return { url, store, a, follower };
  }

  test('E-144: who follows a run of another node is woken by its commits, and sees each event once', async () => {
    const { store, a, follower } = await followElsewhere();
    await eventually(async () => {
      await write(store, a, [textDraft('x')]);
      return follower.seen.length > 10 || undefined;
    });
    await store.appendFact(factOf(noteDraft('from outside'), a));
    await eventually(() => follower.seen.at(-1)?.type === 'user-message' || undefined);
    expect(seqs(follower.seen)).toEqual(upTo(follower.seen.length));
    follower.stop();
    await follower.done;
  });

  test('who has lost the connection that listens catches up once there is one again', async () => {
    const { url, store, a, follower } = await followElsewhere();
    await eventually(async () => (await listeners(url)) === 2 || undefined);
    await query(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${isListener}`);
    await eventually(async () => (await listeners(url)) === 0 || undefined);
    await write(store, a, [textDraft('missed')]);
    await eventually(() => follower.seen.length === 2 || undefined);
    follower.stop();
    await follower.done;
  });
}

const isListener = `datname = current_database() AND query LIKE 'LISTEN%'`;
async function listeners(url: string): Promise<number> {
  const [row] = await query(url, `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${isListener}`);
  return Number(row?.['n']);
}

function describeLocks(cluster: () => Promise<Cluster>): void {
  test('two nodes that write the same runs in any order, end them and cancel them never deadlock', async () => {
    const { url, store } = await fresh(cluster);
    await using other = await openStore(url);
    const parent = await admitted(store, 'parent');
    const runs = [parent];
    for (const name of upTo(8)) {
      const child = admissionOf(`child${name}`, { parentRunId: parent.runId });
      await store.admit(child);
      runs.push(child);
    }
    const batch = (order: readonly (typeof parent)[]) => order.map((run) => entry(run, 1));
    const storm: Promise<unknown>[] = upTo(10).flatMap((round) => [
      store.append(batch(runs), { durable: true }),
      other.append(batch(runs.toReversed()), { durable: true }),
      other.requestPause(parent.runId),
      store.requestCancel(parent.runId),
      other.takeOver(runs[round % 8]?.runId ?? parent.runId, 'thief'),
      other.appendFact(factOf(noteDraft(`${round}`), runs[round % 8] ?? parent)),
      store.enqueue(queuedOf(`${round}`, parent.sessionId), 100),
    ]);
    storm.push(finish(store, parent, 2));
    await Promise.all(storm);
    const [row] = await query(
      url,
      'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(row).toEqual({ n: 0 });
    for (const run of runs) {
      const events = await readAll(store, run);
      expect(seqs(events)).toEqual(upTo(await lastSeq(store, run)));
    }
  });
}

async function fresh(cluster: () => Promise<Cluster>) {
  const url = await (await cluster()).database();
  const store = await openStore(url);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return { url, store };
}

/** A store whose connections are cut at a statement: before the database hears it, or before the store hears the answer. */
async function cuttable(cluster: () => Promise<Cluster>) {
  const url = new URL(await (await cluster()).database());
  const target = Number(url.port);
  let cut: { readonly statement: string; readonly what: 'request' | 'answer' } | null = null;
  let swallows: 'request' | 'answer' | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(target, '127.0.0.1');
    const end = () => [client, database].forEach((socket) => socket.destroy());
    for (const socket of [client, database]) sockets.add(socket.on('error', end).on('close', end));
    const pass = (from: Socket, to: Socket, what: typeof swallows) =>
      from.on('data', (bytes) => {
        if (swallows !== what) return void to.write(bytes);
        swallows = null;
        end();
      });
    pass(client, database, 'request');
    pass(database, client, 'answer');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address === 'object' && address !== null) url.port = String(address.port);
  const store = await openStore(url.href, {
    listenUrl: null,
    onStatement(sql) {
      if (cut === null || !sql.trimStart().startsWith(cut.statement)) return;
      [swallows, cut] = [cut.what, null];
    },
  });
  onTestFinished(async () => {
    await store[Symbol.asyncDispose]();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { store, cutAt: (statement: string, what: 'request' | 'answer') => void (cut = { statement, what }) };
}
