// PgBouncer in transaction mode between the nodes and their database: whatever outlives a transaction on a connection breaks here.
// Where none is installed the tests say that they are skipped; REINS_REQUIRE_PGBOUNCER forbids that.

import { admitted, lastSeq, write } from '../src/testing/store-steps.ts';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { createRunLog } from '../src/stores/run-log.ts';
import { describeStoreContract } from '../src/testing/store-contract.ts';
import { freePort } from './support/free-port.ts';
import { describeWithPostgres, openStore, query, type Cluster } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noteDraft, textDraft } from '../src/testing/store-samples.ts';
import { once } from 'node:events';
import { read, seqs, upTo } from '../src/testing/log-rig.ts';
import { silentLogger } from '../src/core/logger.ts';
import { tmpdir } from 'node:os';

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path)) ?? null;
const isSkipped = program === null && (process.env['REINS_REQUIRE_PGBOUNCER'] ?? '') === '';

describe.skipIf(isSkipped)(isSkipped ? 'behind PgBouncer (skipped: none on this machine)' : 'behind PgBouncer', () => {
  describeWithPostgres('in transaction mode', (cluster) => {
    let started: Promise<Pooler> | null = null;
    afterAll(async () => (await started)?.end());
    const pooler = () => (started ??= startPooler(cluster));

    describeStoreContract('postgres behind PgBouncer', async () => {
      const url = await (await cluster()).emptied();
      const open = async () => openStore((await pooler()).through(url), { listenUrl: url });
      return { store: await open(), reopen: open };
    });

    test('E-144: who follows is woken past the pooler, and its clock need not move', async () => {
      const url = await (await cluster()).database();
      const open = async () => {
        const store = await openStore((await pooler()).through(url), { listenUrl: url });
        onTestFinished(() => store[Symbol.asyncDispose]());
        return store;
      };
      const [store, other] = [await open(), await open()];
      const log = createRunLog({ store: other, clock: createManualClock(), logger: silentLogger });
      const a = await admitted(store, 'a');
      const follower = read(log, a);
      await eventually(() => (store.figures?.().isListening === true && follower.seen.length === 1) || undefined);
      await write(store, a, [textDraft('x')]);
      await eventually(() => follower.seen.length === 2 || undefined);
      expect(seqs(follower.seen)).toEqual([1, 2]);
      follower.stop();
      await follower.done;
    });

    test('T4: many writers share a few connections, and none finds what another left: no setting, no lock, no statement', async () => {
      const url = await (await cluster()).database();
      const { through } = await pooler();
      await using store = await openStore(through(url), { listenUrl: null, connections: 10 });
      await using other = await openStore(through(url), { listenUrl: null, connections: 10 });
      const runs = await Promise.all(upTo(10).map((name) => admitted(store, `${name}`)));
      await Promise.all(
        runs.map(async (run, index) => {
          const [one, two] = index % 2 === 0 ? [store, other] : [other, store];
          for (const note of upTo(5)) {
            await write(one, run, [textDraft('x')]);
            await write(two, run, [noteDraft(`${note}`)]);
          }
        }),
      );
      expect(await Promise.all(runs.map((run) => lastSeq(other, run)))).toEqual(runs.map(() => 11));
      const left = `
        SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'`;
      expect(await query(url, left)).toEqual([{ n: 0 }]);
      const locks = `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'`;
      expect(await query(url, locks)).toEqual([{ n: 0 }]);
      const settings = await query(through(url), 'SHOW synchronous_commit');
      expect(settings).toEqual([{ synchronous_commit: 'on' }]);
    });

    test('L2: the pooler is killed under a writing run: it waits, and nothing is lost or doubled', async () => {
      const url = await (await cluster()).database();
      const { through, restart } = await pooler();
      await using store = await openStore(through(url), { listenUrl: url });
      const a = await admitted(store, 'a');
      let told = 0;
      const writing = (async () => {
        for (const round of upTo(40)) {
          await write(store, a, [noteDraft(`${round}`)]);
          told = round;
        }
      })();
      await eventually(() => told > 10 || undefined);
      await restart();
      await writing;
      const events = await store.readEvents(a.runId, { after: 1, limit: 100 });
      expect(events.map(({ data }) => data)).toMatchObject(upTo(40).map((round) => ({ messageId: `${round}` })));
    });
  });
});

interface Pooler {
  /** The same database, by way of it. */
  through(url: string): string;
  /** Killed, and started again. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

async function startPooler(cluster: () => Promise<Cluster>): Promise<Pooler> {
  const { port: database } = new URL(await (await cluster()).database('template0'));
  const folder = mkdtempSync(join(tmpdir(), 'reins-pgbouncer-'));
  const port = await freePort();
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${database}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users')}`,
    'pool_mode = transaction',
    // Far fewer than there are clients.
    'default_pool_size = 4',
  ];
  writeFileSync(join(folder, 'pgbouncer.ini'), settings.join('\n'));
  writeFileSync(join(folder, 'users'), '"reins" ""\n');
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres', folder]);
  const through = (url: string) => Object.assign(new URL(url), { port: String(port) }).href;
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    // It refuses to work for root.
    const user = process.getuid?.() === 0 ? ['--user=postgres'] : [];
    child = spawn(program ?? 'pgbouncer', ['-q', ...user, join(folder, 'pgbouncer.ini')], { stdio: 'ignore' });
    await once(child, 'spawn');
    await eventually(() => query(through(`postgres://reins@127.0.0.1/postgres`), 'SELECT 1').catch(() => undefined));
  }

  async function kill(): Promise<void> {
    if (child === null || child.exitCode !== null) return;
    const over = once(child, 'exit');
    child.kill('SIGKILL');
    await over;
  }

  await start();
  return {
    through,
    async restart() {
      await kill();
      await start();
    },
    async end() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
