// What the probes of a node say while its database is away, or takes no writes. A probe that asks for less than the truth sends work
// to who cannot do it; one that asks for more has a healthy process ended for its database's sake.

import { describeWithPostgres, query } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { key } from './support/uhp.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

describeWithPostgres('probes of a node', (cluster) => {
  /** Short, so that nobody waits for half a minute. */
  const ownership = { leaseMs: 3_000, renewEveryMs: 200 };
  const start = async (url: string) =>
    startServer({ data: temporaryFolder(), env: { REINS_DATABASE_URL: url }, ownership });
  const probe = async (url: string, path: string) => {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
    return { status: answer.status, text: await answer.text() };
  };
  const waitFor = (url: string, said: string) =>
    eventually(async () => {
      const { text } = await probe(url, '/readyz');
      return text.includes(said) || undefined;
    }, 20_000);

  test('a database that is gone: not ready, with the reason, but alive, and its figures are told in time', async () => {
    const running = await cluster();
    await using server = await start(await running.database());
    expect(await probe(server.url, '/readyz')).toMatchObject({ status: 200 });
    await running.kill();
    await waitFor(server.url, '"reason":"store"');
    const beforeMs = performance.now();
    expect(await probe(server.url, '/healthz')).toMatchObject({ status: 200 });
    expect(performance.now() - beforeMs).toBeLessThan(1_000);
    const { status, text } = await probe(server.url, '/metrics');
    expect(performance.now() - beforeMs).toBeLessThan(5_000);
    expect(status).toBe(200);
    expect(text).toContain('reins_webhook_deliveries_pending Nan');
    expect(text).toContain('reins_store_listening 0');
    expect(Number(/reins_lease_age_seconds ([\d.]+)/.exec(text)?.[1])).toBeGreaterThan(0);
    await running.start();
    await waitFor(server.url, '"status":"ok"');
  });

  test('E-825: a database that is read but takes no writes: not ready once others no longer hear from it', async () => {
    const url = await (await cluster()).database();
    await using server = await start(url);
    const name = new URL(url).pathname.slice(1);
    const takesWrites = (does: boolean) =>
      query(
        url,
        `BEGIN READ WRITE;
        ALTER DATABASE ${name} SET default_transaction_read_only = ${does ? 'off' : 'on'};
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '${name}' AND pid <> pg_backend_pid(); COMMIT`,
      );
    await takesWrites(false);
    await waitFor(server.url, '"reason":"lease"');
    expect(await probe(server.url, '/healthz')).toMatchObject({ status: 200 });
    await takesWrites(true);
    await waitFor(server.url, '"status":"ok"');
  });

  test('the figures of a node say how it gets on with its database', async () => {
    await using server = await start(await (await cluster()).database());
    const figures = await eventually(async () => {
      const { text } = await probe(server.url, '/metrics');
      return text.includes('reins_store_listening 1') ? text : undefined;
    });
    expect(figures).toMatch(/reins_node_info\{node="[0-9a-f]{32}",version="[^"]+"\} 1/);
    expect(figures).toMatch(/reins_store_connections_open [1-9]/);
    expect(figures).toMatch(/reins_store_connections_used \d/);
    expect(figures).toMatch(/reins_store_waiting 0/);
    expect(figures).toMatch(/reins_followers_elsewhere 0/);
    expect(figures).toMatch(/reins_follower_looks_total \d/);
  });
});
