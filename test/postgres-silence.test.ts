// What a node makes of a database that says nothing more, takes long, or is no primary any more; and of marks, deliveries and
// connections that nobody needs.

import { admitted, entry, lastSeq, write } from '../src/testing/store-steps.ts';
import { channel } from '../src/stores/postgres/channel.ts';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { createRunLog } from '../src/stores/run-log.ts';
import { createWakeUps } from '../src/stores/postgres/wake-ups.ts';
import { deliveryOf, webhookOf } from '../src/testing/store-records.ts';
import { describeWithPostgres, openStore, query, type Cluster } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { migrate } from '../src/stores/postgres/migrations.ts';
import { noteDraft, resultDraft } from '../src/testing/store-samples.ts';
import { once } from 'node:events';
import { openDatabase } from '../src/stores/postgres/database.ts';
import { runIds } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { sleep } from '../src/core/clock.ts';
import { StorageError } from '../src/core/errors.ts';
import { systemClock } from '../src/system.ts';
import { upTo } from '../src/testing/log-rig.ts';

const clock = systemClock;

describeWithPostgres('PostgreSQL that says nothing', (cluster) => {
  describeWaits(cluster);
  describeSilence(cluster);
  describeTimes(cluster);
  describeListening(cluster);
  describeUpkeep(cluster);
});

/** All at once: each of them waits. */
function describeWaits(cluster: () => Promise<Cluster>): void {
  test.concurrent(
    'T2: its host is gone without a word: a write and a read go on once another answers',
    { timeout: 40_000 },
    async () => {
      await using wire = await startSilent(await (await cluster()).database());
      await using store = await openStore(wire.url, { listenUrl: null });
      const a = await admitted(store, 'a');
      wire.silence();
      const [written, read] = await Promise.all([write(store, a, [noteDraft('x')]), store.run(a.runId)]);
      expect([written.length, read?.runId]).toEqual([1, a.runId]);
      expect(await lastSeq(store, a)).toBe(2);
    },
  );

  test.concurrent(
    'what is done alone is waited for, however long it takes, and done once',
    { timeout: 40_000 },
    async () => {
      const url = await (await cluster()).database();
      await using store = await openStore(url, { listenUrl: null });
      await using other = await openStore(url, { listenUrl: null });
      const done: string[] = [];
      const slow = store.alone(async () => {
        done.push('begun');
        await sleep(clock, 11_000);
        done.push('ended');
      });
      await eventually(() => done[0]);
      await Promise.all([slow, other.alone(async () => void done.push('other'))]);
      expect(done).toEqual(['begun', 'ended', 'other']);
    },
  );

  test.concurrent(
    'E-825: a lease is renewed on the connection that it was renewed on before',
    { timeout: 40_000 },
    async () => {
      const url = await (await cluster()).database();
      await using store = await openStore(url, { listenUrl: null });
      const owner = { owner: 'a', place: 'here', pid: 1, startTicks: null };
      const renew = async (seenAtMs: number) => {
        await store.putOwner({ ...owner, seenAtMs });
        return query(url, 'SELECT connection FROM commits ORDER BY number DESC, at DESC');
      };
      await query(url, 'DELETE FROM commits');
      const before = await renew(1);
      await sleep(clock, 10_500);
      expect([before.length, await renew(2)]).toEqual([1, before]);
    },
  );
}

function describeSilence(cluster: () => Promise<Cluster>): void {
  test('T2: a silence that is longer than the patience is followed by one more try, on a connection made since', async () => {
    await using wire = await startSilent(await (await cluster()).database());
    await using db = openDatabase({ url: wire.url, connections: 4, clock, patienceMs: 100, silenceMs: 700 });
    await Promise.all(upTo(4).map(() => db.all('SELECT pg_sleep(0.2)')));
    wire.silence();
    const startedMs = clock.now();
    const body = db.transaction('durable', (tx) => tx.get('SELECT 1 AS one'));
    expect(await Promise.all([body, db.get('SELECT 1 AS one')])).toEqual([{ one: 1 }, { one: 1 }]);
    expect(clock.now() - startedMs).toBeLessThan(2 * 700);
    expect(wire.made()).toBeLessThanOrEqual(4 + 2);
  });

  test('a primary that is one no longer is left, and so are all connections to it', async () => {
    const url = await (await cluster()).database();
    let begun = 0;
    const onStatement = (sql: string) => void (begun += Number(sql.startsWith('BEGIN')));
    await using db = openDatabase({ url, connections: 2, clock, patienceMs: 5_000, onStatement });
    const demote = `SELECT set_config('default_transaction_read_only', 'on', false), pg_sleep(0.2)`;
    await Promise.all([db.all(demote), db.all(demote)]);
    const changed = db.transaction('durable', (tx) => tx.run(`INSERT INTO model_blocks VALUES ('a', 'b', 1)`));
    expect([await changed, begun]).toEqual([1, 2]);
  });
}

function describeTimes(cluster: () => Promise<Cluster>): void {
  const timesOf = `
    SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
      current_setting('synchronous_commit') AS sync`;

  test('T2: the database gives a statement up before its sender does, and that well before its patience ends', async () => {
    const url = await (await cluster()).database();
    await using db = openDatabase({ url, connections: 1, clock, patienceMs: 30_000 });
    const times = (pace: 'prompt' | 'long' | 'endless') => db.transaction('fast', (tx) => tx.get(timesOf), pace);
    expect(await times('prompt')).toEqual({ statement: '8s', lock: '5s', sync: 'off' });
    expect(await times('long')).toEqual({ statement: '32s', lock: '5s', sync: 'off' });
    expect(await times('endless')).toEqual({ statement: '0', lock: '0', sync: 'off' });
    await using lease = openDatabase({ url, connections: 1, clock, patienceMs: 8_000, silenceMs: 4_000 });
    const short = await lease.transaction('durable', (tx) => tx.get(timesOf));
    expect(short).toEqual({ statement: '3200ms', lock: '2s', sync: 'on' });
  });

  test('a statement that took too long once is tried again', async () => {
    const url = await (await cluster()).database();
    await using db = openDatabase({ url, connections: 1, clock, patienceMs: 5_000, silenceMs: 1_000 });
    let tries = 0;
    const slowOnce = db.transaction('fast', (tx) => tx.run('SELECT pg_sleep($1)', ++tries === 1 ? 5 : 0));
    expect([await slowOnce, tries]).toEqual([1, 2]);
  });

  test('E-804: who starts waits for another that makes the tables, however long that takes', async () => {
    const url = await (await cluster()).database();
    const options = { url, connections: 1, clock, patienceMs: 100, silenceMs: 300 };
    await using db = openDatabase(options);
    await using other = openDatabase(options);
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended('reins:["schema"]', 0))`;
    const held = Promise.withResolvers<void>();
    const making = other.transaction(
      'fast',
      async (tx) => {
        await tx.get(lock);
        held.resolve();
        await tx.get('SELECT pg_sleep(1.5)');
      },
      'endless',
    );
    await held.promise;
    await Promise.all([making, migrate(db)]);
  });
}

function describeListening(cluster: () => Promise<Cluster>): void {
  const company = { isAlone: false };

  test('N3: a connection on which nothing comes any more is noticed by who only listens; one that answers is kept', async () => {
    await using wire = await startSilent(await (await cluster()).database());
    const manual = createManualClock();
    await using wakeUps = createWakeUps({ url: wire.url, clock: manual, company, logger: silentLogger });
    await eventually(() => wakeUps.isListening || undefined);
    const waiting = manual.pending;
    await manual.advance(20_000);
    await eventually(() => manual.pending > waiting || undefined); // answered, and the next look is set
    await manual.advance(5_000);
    expect([wakeUps.isListening, wire.made()]).toEqual([true, 1]);
    wire.silence();
    await manual.advance(20_000);
    await manual.advance(5_000);
    expect(wakeUps.isListening).toBe(false);
    await manual.advance(1_000);
    await eventually(() => wakeUps.isListening || undefined);
  });

  test('N3: an address that leads nowhere is told once for a series of tries, also one that is none', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    let tries = 0;
    const server = createServer((socket) => {
      tries += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `postgres://reins@127.0.0.1:${portOf(server)}/x`;
    const manual = createManualClock();
    {
      await using _ = createWakeUps({ url, clock: manual, company, logger });
      await eventually(async () => {
        await manual.advance(1_000);
        return tries > 3 || undefined;
      });
      expect(warnings).toHaveLength(1);
    }
    server.close();
    await using _ = createWakeUps({ url: 'postgres://[', clock: manual, company, logger });
    await eventually(() => warnings.length === 2 || undefined);
  });

  test('N2: a word without a number is none', async () => {
    const url = await (await cluster()).database();
    await using wakeUps = createWakeUps({ url, clock, company, logger: silentLogger });
    const heard: unknown[] = [];
    wakeUps.listen((runId, seq) => void heard.push([runId, seq]));
    await eventually(() => wakeUps.isListening || undefined);
    const [one, two] = [runIds.make('1'), runIds.make('2')];
    await query(url, `SELECT pg_notify('${channel}', '${one}:x,${one},${one}:-1,${two}:7')`);
    await eventually(() => heard.length > 1 || undefined);
    expect(heard.slice(1)).toEqual([[two, 7]]);
  });
}

function describeUpkeep(cluster: () => Promise<Cluster>): void {
  test('T1: marks of connections that are gone for a day go when logs are pruned, the others stay', async () => {
    const url = await (await cluster()).database();
    await using store = await openStore(url, { listenUrl: null });
    await query(
      url,
      `INSERT INTO commits VALUES ('old', 1, now() - interval '25 hours'), ('new', 1, now() - interval '23 hours')`,
    );
    await store.prune({ endedBeforeMs: 1, nowMs: 1 });
    expect(await query(url, `SELECT connection FROM commits WHERE connection IN ('old', 'new')`)).toEqual([
      { connection: 'new' },
    ]);
  });

  test('due deliveries of a webhook that is switched off, and those under way, cost no transaction', async () => {
    const url = await (await cluster()).database();
    let begun = 0;
    const onStatement = (sql: string) => void (begun += Number(sql.startsWith('BEGIN')));
    await using store = await openStore(url, { listenUrl: null, onStatement });
    const hook = webhookOf('w');
    await store.addWebhook(hook, 99);
    await store.putDelivery(deliveryOf('d', hook.webhookId, { nextAttemptAtMs: 5 }));
    const due = { nowMs: 10, untilMs: 20, limit: 9, except: { webhooks: [], principals: [] } };
    const claimed = async () => {
      begun = 0;
      return [(await store.claimDeliveries(due)).length, begun];
    };
    await store.changeWebhook(hook.webhookId, { enabled: false });
    expect(await claimed()).toEqual([0, 0]);
    await store.changeWebhook(hook.webhookId, { enabled: true });
    expect(await claimed()).toEqual([1, 1]);
    expect(await claimed()).toEqual([0, 0]);
  });

  test('deliveries are pruned in pages, and it ends with the first page that is young', async () => {
    const url = await (await cluster()).database();
    let pages = 0;
    const onStatement = (sql: string) => void (pages += Number(sql.includes('gone AS')));
    await using store = await openStore(url, { listenUrl: null, onStatement });
    const hook = webhookOf('w');
    await store.addWebhook(hook, 99);
    const insert = (name: string, count: number, atMs: number) =>
      query(
        url,
        `INSERT INTO deliveries (delivery_id, webhook_id, event, body, attempt, status, created_at, next_attempt_at)
         SELECT '${name}' || n, '${hook.webhookId}', 'x', '{}', 0, 'pending', ${atMs}, CASE n WHEN 7 THEN 9000 END
         FROM generate_series(1, ${count}) AS n`,
      );
    await insert('old', 1_500, 1_000);
    await insert('young', 3_500, 5_000);
    expect(await store.pruneDeliveries(2_000)).toBe(1_499);
    expect(pages).toBe(3);
    expect(await query(url, 'SELECT count(*)::int AS n FROM deliveries')).toEqual([{ n: 3_501 }]);
    expect(await store.pruneDeliveries(6_000)).toBe(3_499);
    expect(await store.pruneDeliveries(9_999)).toBe(2);
  });

  test('Q4, E-801: an ending whose answer was not had for longer than the patience is found as stored', async () => {
    const url = await (await cluster()).database();
    await using store = await openStore(url, { listenUrl: null });
    const a = await admitted(store, 'a');
    let answers = 0;
    const append: typeof store.append = async (...asked) => {
      const results = await store.append(...asked);
      if (answers++ === 0) throw new StorageError('It was not answered.');
      return results;
    };
    const log = createRunLog({ store: { ...store, append }, clock, logger: silentLogger });
    const writer = log.writer({ ...a, generation: 1, lastSeq: 1, leg: 1 });
    const end = { status: 'completed', response: null, atMs: 5_000 } as const;
    await writer.end([resultDraft(a.runId, a.sessionId)], end);
    expect([await lastSeq(store, a), (await store.run(a.runId))?.status]).toEqual([2, 'completed']);
    expect(await store.append([entry(a, 2)], { durable: true })).toEqual([{ outcome: 'lease-lost' }]);
    await log.close();
  });
}

interface SilentWire extends AsyncDisposable {
  /** The address of the database, by way of this wire. */
  readonly url: string;
  /** Nothing comes over what is connected any more, and nobody is told; who comes anew is let through. */
  silence(): void;
  /** How often somebody came. */
  made(): number;
}

async function startSilent(database: string): Promise<SilentWire> {
  const url = new URL(database);
  const target = Number(url.port);
  const sockets = new Set<Socket>();
  let made = 0;
  const server = createServer((client) => {
    made += 1;
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(from.on('error', () => {}).on('close', () => to.destroy()));
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.port = String(portOf(server));
  return {
    url: url.href,
    made: () => made,
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function portOf(server: ReturnType<typeof createServer>): number {
  return (server.address() as AddressInfo).port;
}
