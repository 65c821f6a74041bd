// Tasks that go on for longer than their events are kept.

import { answerOf } from './support/event-stream.ts';
import { connect } from '../src/client/index.ts';
import { createFastClock } from './support/fast-clock.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { finalOf, key, until, whole } from './support/uhp.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

test('B055, UD-18: of a task that outlasts the retention no event is lost while it runs; long after it, only the result is left', async () => {
  const gate = Promise.withResolvers<void>();
  const slow = turnHarness(async function* ({ input }) {
    for (let n = 0; n < 100; n++) yield [piece(n % 2, `${n} `)];
    if (input === 'slow') await gate.promise;
    yield [piece(0, 'last')];
  });
  const clock = createFastClock(60);
  const settings = { ...turnSettings, retention: { streamSeconds: 30 } };
  await using server = await startServer({ data: temporaryFolder(), settings, adapters: [slow], clock });
  const { uhp } = server;
  const headers = { authorization: `Bearer ${key}` };
  const expire = (id: string) =>
    eventually(async () => {
      const answer = await fetch(`${server.url}/v1/responses/${id}?stream=true`, { headers });
      await answer.text();
      return answer.status === 410 || undefined;
    }, 10_000);
  const read = async (id: string, after = -1) => {
    const stream = await uhp.attach(id, after < 0 ? {} : { after });
    return until(stream, ({ id: number }) => number === before.length - 1);
  };
  const before = await until(
    await uhp.stream({ input: 'slow' }, { 'idempotency-key': 'slow' }),
    ({ event }) => event.delta === '99 ',
  );
  const id = before[0]?.event.response?.id ?? '';
  const startedMs = clock.now();
  // Three tasks that end one after the other are past their time meanwhile: so often has retention come by.
  for (let round = 0; round < 3; round++) {
    const other = await uhp.create({ input: `short ${round}` });
    await expire(other.body.id);
    expect((await uhp.get(other.body.id)).body).toEqual(other.body);
  }
  expect(clock.now() - startedMs).toBeGreaterThan(3 * 30_000);
  expect((await read(id)).map((frame) => frame.text)).toEqual(before.map((frame) => frame.text));
  expect((await read(id, 50)).map((frame) => frame.text)).toEqual(before.slice(51).map((frame) => frame.text));
  // Its key is as old as it is.
  const again = await uhp.create({ input: 'slow', background: true }, { 'idempotency-key': 'slow' });
  expect(again.body.id).toBe(id);
  const rest = whole(uhp.attach(id, { after: before.length - 1 }));
  gate.resolve();
  const all = [...before, ...(await rest)];
  const final = finalOf(all);
  expect(all.map((frame) => frame.id)).toEqual(all.map((_, n) => n));
  expect((await whole(uhp.attach(id))).map((frame) => frame.text)).toEqual(all.map((frame) => frame.text));
  await expire(id);
  expect(await uhp.send('GET', `/v1/responses/${id}?stream=true&starting_after=3`)).toMatchObject({
    status: 410,
    code: 'reins_event_log_expired',
    body: { error: { detail: { response_id: id, status: 'completed' } } },
  });
  expect((await uhp.get(id)).body).toEqual(final);
  // Our client goes over to the result by itself.
  const late = await connect(server.url, key).attach(id, { after: 3 }).result();
  expect([late.status, late.text]).toEqual(['completed', answerOf(final)]);
});
