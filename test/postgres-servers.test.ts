// Whole servers on one PostgreSQL, each with a process of its own; files lie in a folder that they share.

import { answerOf, assembleOutput, isDelta, isTerminal } from './support/event-stream.ts';
import { begin, watch } from './support/shared-folder.ts';
import { call, createGate, hold, reply, say as tell, startModel, text } from './support/model.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { describeWithPostgres, openStore, query, type Cluster } from './support/postgres.ts';
import { ended, finalOf } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { existsSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { join } from 'node:path';
import { runIds } from '../src/core/ids.ts';
import { startProcess, startServer } from './support/server.ts';
import { startReins, temporaryFolder } from './reins-process.ts';

describeWithPostgres('servers on PostgreSQL', (cluster) => {
  test('a task, its continuation, its files and its key mean the same at every server, and there is no database in the data folder', async () => {
    const place = await sharePlace(cluster);
    const [one, two] = await Promise.all([place.start(), place.start()]);
    const created = await one.uhp.create({ input: 'write' }, { 'idempotency-key': 'once' });
    expect([created.status, answerOf(created.body)]).toEqual([200, 'Done.']);
    expect((await two.uhp.create({ input: 'write' }, { 'idempotency-key': 'once' })).body.id).toBe(created.body.id);
    expect((await two.uhp.get(created.body.id)).body).toEqual((await one.uhp.get(created.body.id)).body);
    const next = await two.uhp.create({ input: 'more', previous_response_id: created.body.id });
    expect(answerOf(next.body)).toBe('You said: more');
    const [replayed, direct] = [watch(await one.uhp.attach(next.body.id)), watch(await two.uhp.attach(next.body.id))];
    await Promise.all([replayed.over, direct.over]);
    expect(replayed.seen).toEqual(direct.seen);
    expect(checkLog(await place.logOf(created.body.id))).toEqual([]);
    expect(existsSync(join(place.data, 'reins.db'))).toBe(false);
  });

  test('E-831, E-810: the owner is killed with -9; another goes on before a reader that never reconnects, without gap or repeat', async () => {
    const place = await sharePlace(cluster);
    const [owner, other] = await Promise.all([place.start(), place.start()]);
    const id = await begin(owner, 'held');
    const { seen, over } = watch(await other.uhp.attach(id));
    await eventually(() => seen.some(isDelta) || undefined);
    const before = seen.length;
    await owner.kill();
    await eventually(() => seen.length > before || undefined, 10_000);
    place.gate.open();
    await over;
    expect(seen.map((frame) => frame.id)).toEqual(seen.map((_, index) => index));
    const final = finalOf(seen);
    expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
    expect(assembleOutput(seen)).toEqual(final.output);
    const log = await place.logOf(id);
    expect(checkLog(log)).toEqual([]);
    expect(log.filter(({ type }) => type === 'run-started')).toMatchObject([{}, { data: { cause: 'recovery' } }]);
  });

  test('B092: a task of one server is cancelled through another, and followed at a third', async () => {
    const place = await sharePlace(cluster);
    const [owner, other] = await Promise.all([place.start(), place.start()]);
    const id = await begin(owner, 'held');
    const frames = watch(await other.uhp.attach(id));
    await eventually(() => frames.seen.some(isDelta) || undefined);
    expect(await other.uhp.cancel(id)).toMatchObject({ status: 200 });
    await frames.over;
    expect(frames.seen.filter(isTerminal)).toHaveLength(1);
    expect(finalOf(frames.seen)).toMatchObject({ status: 'cancelled', error: null });
    expect((await ended(owner.uhp, id)).status).toBe('cancelled');
  });

  test('E-825: a server that cannot say that it lives aborts what it does, and it goes on once the database is back', async () => {
    const [running, place] = [await cluster(), await sharePlace(cluster)];
    const ownership = { leaseMs: 2_000, renewEveryMs: 200 };
    await using server = await startServer({ data: place.data, env: place.env, settings: place.settings, ownership });
    const { body } = await server.uhp.create({ input: 'held', background: true });
    const { seen, over } = watch(await server.uhp.attach(body.id));
    await eventually(() => seen.some(isDelta) || undefined);
    await running.kill();
    await eventually(() => place.model.server.open === 0 || undefined, 12_000);
    await running.start();
    place.gate.open();
    await over;
    expect(seen.map((frame) => frame.id)).toEqual(seen.map((_, index) => index));
    expect(finalOf(seen)).toMatchObject({ status: 'completed' });
    expect(answerOf(finalOf(seen))).toBe('first second');
    expect(checkLog(await place.logOf(body.id))).toEqual([]);
  });

  test('keys are made and revoked beside the servers; an address that leads nowhere stops the start, its password untold', async () => {
    const place = await sharePlace(cluster);
    const keys = startReins(['keys', 'create', '--principal', 'ada', '--json', '--data', place.data], {
      env: place.env,
    });
    expect(await keys.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"principal": "ada"') });
    expect(await query(place.url, 'SELECT principal FROM keys')).toEqual([{ principal: 'ada' }]);
    const wrong = { ...place.env, REINS_DATABASE_URL: 'mysql://reins:secret@127.0.0.1/x' };
    const started = startReins(['serve', '--data', place.data, '--port', '0'], { env: wrong });
    const said = await started.ended;
    expect(said).toMatchObject({ code: 2, stderr: expect.stringContaining('REINS_DATABASE_URL is wrong') });
    expect(said.stdout + said.stderr).not.toContain('secret');
  });
});

/** One database, one folder for files, one model. Tasks `held…` stand after their first word until the gate is open. */
async function sharePlace(cluster: () => Promise<Cluster>) {
  const [data, gate] = [temporaryFolder(), createGate()];
  const write = call('w', 'write_file', { path: 'made.txt', content: 'made' });
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel(
    (asked) => (asked.startsWith('held') ? held : asked === 'write' ? [reply(write), tell('Done.')] : undefined),
    gate,
  );
  onTestFinished(() => model[Symbol.asyncDispose]());
  writeFileSync(join(data, 'config.json'), JSON.stringify(model.settings));
  const url = await (await cluster()).database();
  const env = { ...model.env, REINS_DATABASE_URL: url };
  return {
    data,
    gate,
    model,
    settings: model.settings,
    url,
    env,
    async start() {
      const server = await startProcess(data, env);
      onTestFinished(() => server.kill());
      return server;
    },
    async logOf(id: string) {
      await using store = await openStore(url);
      return store.readEvents(runIds.parse(id) ?? runIds.make(''), { after: 0, limit: 10_000 });
    },
  };
}
