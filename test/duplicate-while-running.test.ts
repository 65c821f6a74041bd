// A request that comes a second time while the first still runs.

import { answerOf, type Body } from './support/event-stream.ts';
import { createManualClock, type ManualClock } from '../src/testing/manual-clock.ts';
import { expect, test } from 'vitest';
import { key } from './support/uhp.ts';
import { reply, startModel, text } from './support/model.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { withTime } from './support/with-time.ts';

/** Ten minutes, never as long silent as a provider may be. */
const tenMinutes = reply(
  ...Array.from({ length: 6 }, (_, n) => [text(`${n} `), { kind: 'pause', ms: 100_000 } as const]).flat(),
);

async function startSlow() {
  const clock = createManualClock(Date.now());
  const model = await startModel((asked) => (asked === 'long' ? [tenMinutes] : undefined), clock);
  const server = await startServer({ data: temporaryFolder(), clock, ...model });
  return {
    clock,
    model,
    uhp: server.uhp,
    post: (body: object) =>
      fetch(`${server.url}/v1/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': 'one',
        },
        body: JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** The text of an answer, and when each piece of it came. */
async function listen(answer: Response, clock: ManualClock) {
  let bytes = '';
  const heardAtMs = [clock.now()];
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    bytes += chunk;
    heardAtMs.push(clock.now());
  }
  return { bytes, heardAtMs, status: answer.status, headers: answer.headers };
}

test('B118: a duplicate of a task of ten minutes, streamed or plain, waits for it: heartbeats, all events from 0, one result', async () => {
  await using slow = await startSlow();
  const { clock, model } = slow;
  const startMs = clock.now();
  const request = async (stream: boolean) => listen(await slow.post({ input: 'long', stream }), clock);
  const first = request(true);
  await withTime(untilAsked(slow), clock, 20);
  await clock.advance(1_000);
  const duplicates = Promise.all([request(true), request(false)]);
  const [original, [streamed, plain]] = await withTime(Promise.all([first, duplicates]), clock, 1_000);
  expect(clock.now() - startMs).toBeGreaterThanOrEqual(600_000);
  expect(model.asked('long')).toHaveLength(1);

  const frames = (bytes: string) => bytes.split('\n\n').filter((frame) => frame.startsWith('id: '));
  expect([streamed.status, plain.status]).toEqual([200, 200]);
  expect(frames(streamed.bytes)).toEqual(frames(original.bytes));
  expect(frames(streamed.bytes)[0]).toMatch(/^id: 0\n/);
  const result = JSON.parse(plain.bytes) as Body;
  expect([result.status, answerOf(result)]).toEqual(['completed', '0 1 2 3 4 5 ']);
  expect(JSON.parse(frames(streamed.bytes).at(-1)?.split('\ndata: ')[1] ?? '')).toMatchObject({ response: result });
  for (const { headers } of [streamed, plain]) expect(headers.get('idempotent-replayed')).toBe('true');

  expect(streamed.bytes.match(/^: keep-alive$/gm)?.length).toBeGreaterThan(30);
  const silences = streamed.heardAtMs.slice(1).map((atMs, index) => atMs - (streamed.heardAtMs[index] ?? 0));
  // The steps of this clock blur it a little.
  expect(Math.max(...silences)).toBeLessThanOrEqual(20_000);
}, 20_000);

async function untilAsked({ model }: Awaited<ReturnType<typeof startSlow>>): Promise<void> {
  while (model.server.requests.length === 0) await pause(2);
}

test('B118, UD-13: a request that was refused is not remembered under its key', async () => {
  await using slow = await startSlow();
  const refused: readonly (readonly [object, number])[] = [
    [{ input: 7 }, 400],
    [{ input: 'x', model: 'no-such-model' }, 422],
    [{ input: 'x', previous_response_id: 'resp_none' }, 404],
    [{ input: 'x', metadata: { harness_id: 'chrn_none' } }, 404],
  ];
  for (const [body, status] of refused)
    expect([body, (await withTime(slow.post(body), slow.clock, 20)).status]).toEqual([body, status]);
  const accepted = await withTime(slow.post({ input: 'x' }), slow.clock, 20);
  expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect(answerOf((await accepted.json()) as Body)).toBe('You said: x');
});
