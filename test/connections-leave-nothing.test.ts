// What connections leave behind that were made and dropped: nothing.

import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { countingClock } from './support/counting-clock.ts';
import { ended, key } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { nodeServerOf } from './support/node-servers.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { answerOf } from './support/event-stream.ts';

/** Of nine connections each. */
const rounds = 112;

test('B039, B045: 1,000 streams that are dropped in mid-answer leave no timer, listener or socket, and every task goes on', async () => {
  const gate = Promise.withResolvers<void>();
  const harness = turnHarness(async function* () {
    yield [piece(0, 'first ')];
    await gate.promise;
    yield [piece(0, 'last')];
  });
  const clock = countingClock();
  await using server = await startServer({
    data: temporaryFolder(),
    settings: turnSettings,
    adapters: [harness],
    clock,
  });
  const { uhp, url } = server;
  const node = await nodeServerOf(url);
  const port = Number(new URL(url).port);
  const tasks = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const { body } = await uhp.create({ input: 'go', background: true }, { 'idempotency-key': name });
      return { name, id: body.id };
    }),
  );
  const { body } = await uhp.send('GET', '/v1/harnesses');
  const [own] = body['harnesses'] as readonly { readonly id: string }[];
  const json = JSON.stringify({ input: 'go', stream: true });
  const requests = [
    ...tasks.flatMap(({ name, id }) => [
      `POST /v1/responses HTTP/1.1\r\nidempotency-key: ${name}\r\ncontent-type: application/json\r\ncontent-length: ${json.length}`,
      `GET /v1/responses/${id}?stream=true HTTP/1.1`,
    ]),
    ...tasks.map(() => `GET /v1/harnesses/${own?.id}/events HTTP/1.1`),
  ];
  const drop = async (request: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `${request}\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n${request.startsWith('POST') ? json : ''}`,
    );
    let seen = '';
    for await (const chunk of socket) {
      seen += String(chunk);
      // A frame, or the comment with which a feed begins.
      if (/\r\n\r\n[^]*: /.test(seen)) break;
    }
    expect(seen).toMatch(/^HTTP\/1\.1 200/);
    socket.destroy();
  };
  const headers = { authorization: `Bearer ${key}` };
  const left = async () => {
    const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
    return {
      streams: [...metrics.matchAll(/^reins_open_streams\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0),
      timers: clock.open(),
      connections: await new Promise<number>((resolve) => node.getConnections((_, count) => resolve(count))),
      sockets: process.getActiveResourcesInfo().filter((each) => each === 'TCPSocketWrap').length,
      listeners: ['connection', 'request', 'close', 'error'].reduce((sum, name) => sum + node.listenerCount(name), 0),
    };
  };
  await Promise.all(requests.map(drop));
  await eventually(async () => (await left()).streams === 0 || undefined);
  const baseline = await left();
  for (let round = 0; round < rounds; round++) await Promise.all(requests.map(drop));
  // A timer that repeats itself is armed or not, as it comes: what counts is that nothing is left.
  const more = async () => {
    const now = await left();
    return (['streams', 'timers', 'connections', 'sockets', 'listeners'] as const).filter(
      (what) => now[what] > baseline[what],
    );
  };
  await expect.poll(more, { timeout: 1_000, interval: 20 }).toEqual([]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  gate.resolve();
  for (const { id } of tasks) expect(answerOf(await ended(uhp, id))).toBe('first last');
});
