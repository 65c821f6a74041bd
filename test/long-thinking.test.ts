// A model that says nothing for minutes before its first word.

import { answerOf, type Body } from './support/event-stream.ts';
import { connect as connectClient } from '../src/client/index.ts';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { expect, onTestFinished, test } from 'vitest';
import { key } from './support/uhp.ts';
import { once } from 'node:events';
import { reply, startModel, text } from './support/model.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { withTime } from './support/with-time.ts';

/** As long as a provider may be silent, less a moment. */
const silentMs = 179_000;

async function startThinking() {
  const clock = createManualClock(Date.now());
  const model = await startModel(() => [reply({ kind: 'pause', ms: silentMs }, text('At ', 'last.'))], clock);
  const server = await startServer({ data: temporaryFolder(), clock, ...model });
  return {
    clock,
    model,
    uhp: server.uhp,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** A way to the server; the first stream on it goes silent once `muteAfter` has come through, and nobody is told. */
async function startMutingWay(port: number, muteAfter: string) {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let isMuted = false;
  const way = createServer((client) => {
    const target = connect(port, '127.0.0.1');
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [client, target].forEach((each) => each.destroy()));
    }
    let heard = '';
    let passes = true;
    client.on('data', (bytes) => {
      requests.push(...(/^(?:GET|POST) \S+/.exec(bytes.toString()) ?? []));
      target.write(bytes);
    });
    target.on('data', (bytes) => {
      heard += bytes.toString();
      if (passes) client.write(bytes);
      if (!isMuted && heard.includes(muteAfter)) {
        isMuted = true;
        passes = false;
      }
    });
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    way.close();
  });
  return { url: `http://127.0.0.1:${(way.address() as AddressInfo).port}`, requests };
}

test('B062: created and in_progress come at once, heartbeats through three silent minutes, and one paid call', async () => {
  await using thinking = await startThinking();
  const { clock, model } = thinking;
  const startMs = clock.now();
  const heard: { readonly atMs: number; readonly text: string }[] = [];
  const reading = (async () => {
    const response = await fetch(`${thinking.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'think', stream: true }),
    });
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      heard.push({ atMs: clock.now() - startMs, text: chunk });
  })();
  const begun = (async () => {
    while (!heard.some(({ text: chunk }) => chunk.includes('"response.in_progress"')) || model.server.open === 0)
      await pause(2);
  })();
  await withTime(begun, clock, 5);
  expect(heard.map(({ text: chunk }) => chunk).join('')).toMatch(/response\.created[\s\S]*response\.in_progress/);
  expect(clock.now() - startMs).toBeLessThan(1_000);
  await withTime(reading, clock, 1_000);
  const whole = heard.map(({ text: chunk }) => chunk).join('');
  expect(whole.match(/^: keep-alive$/gm)?.length).toBeGreaterThanOrEqual(Math.floor(silentMs / 15_000) - 1);
  const silences = heard.slice(1).map(({ atMs }, index) => atMs - (heard[index]?.atMs ?? 0));
  expect(Math.max(...silences)).toBeLessThanOrEqual(20_000);
  const last = JSON.parse(whole.trim().split('\ndata: ').at(-1) ?? '') as { type: string; response: Body };
  expect([last.type, answerOf(last.response)]).toEqual(['response.completed', 'At last.']);
  expect(model.server.requests).toHaveLength(1);
}, 20_000);

test('B062: a client that hears nothing any more resumes the task, and pays for no second one', async () => {
  await using thinking = await startThinking();
  const { clock, model } = thinking;
  const way = await startMutingWay(Number(new URL(thinking.url).port), 'response.in_progress');
  const task = connectClient(way.url, key, { clock }).run({ input: 'think' });
  const result = await withTime(task.result(), clock, 1_000);
  expect(result.text).toBe('At last.');
  const toResponses = way.requests.filter((line) => line.includes('/v1/responses'));
  expect(toResponses.filter((line) => line.startsWith('POST'))).toHaveLength(1);
  expect(toResponses.filter((line) => line.startsWith('GET')).length).toBeGreaterThan(0);
  expect(model.server.requests).toHaveLength(1);
  const { body } = await thinking.uhp.send('GET', '/v1/sessions');
  expect(body['sessions']).toHaveLength(1);
}, 20_000);
