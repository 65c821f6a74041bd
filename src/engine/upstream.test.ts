// What happens between a provider's stream and its reader, told with streams that a test drives by hand.

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { bytesListener } from './upstream-bytes.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { defaultPolicies, type RetryPolicy } from './policies.ts';
import { openUpstream, type Arrival, type Upstream } from './upstream.ts';
import type { Model, ModelRequest, ModelTraits } from './model.ts';
import type { ModelPart } from './models/model-part.ts';

const delta = (text: string): ModelPart => ({ type: 'text-delta', id: '0', delta: text });
const finish: ModelPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};

interface HandModel extends Model {
  readonly stream: ReadableStreamDefaultController<ModelPart>;
  readonly request: ModelRequest | null;
  readonly cancelled: boolean;
}

/** A model whose stream the test feeds. `hears`: its client errors the stream when the request is aborted, as fetch does. */
function handModel({ hears = true, opens = Promise.resolve() } = {}): HandModel {
  let stream: ReadableStreamDefaultController<ModelPart> | null = null;
  let request: ModelRequest | null = null;
  let cancelled = false;
  return {
    provider: 'p',
    modelId: 'hand',
    get stream() {
      if (stream === null) throw new Error('Nothing was asked for yet.');
      return stream;
    },
    get request() {
      return request;
    },
    get cancelled() {
      return cancelled;
    },
    async doStream(asked) {
      request = asked;
      const body = new ReadableStream<ModelPart>({
        start: (controller) => void (stream = controller),
        cancel: () => void (cancelled = true),
      });
      if (hears)
        asked.abortSignal?.addEventListener('abort', () => stream?.error(new DOMException('Aborted', 'AbortError')));
      await opens;
      return { stream: body };
    },
  };
}

function open(
  model: Model,
  o: {
    readonly traits?: ModelTraits;
    readonly request?: Partial<ModelRequest>;
    readonly retry?: Partial<RetryPolicy>;
    readonly stopped?: boolean;
  } = {},
) {
  const clock = createManualClock();
  const stop = new AbortController();
  if (o.stopped === true) stop.abort(new Error('stopped'));
  const upstream = openUpstream({
    opened: { model, traits: o.traits ?? {}, maxOutputTokens: null },
    request: { prompt: [], ...o.request },
    signal: stop.signal,
    clock,
    policies: { ...defaultPolicies, retry: { ...defaultPolicies.retry, ...o.retry } },
  });
  return { clock, stop, upstream };
}

async function takeAll(upstream: Upstream): Promise<readonly Arrival[]> {
  const all: Arrival[] = [];
  while (all.at(-1)?.kind !== 'end') all.push(...(await upstream.take()));
  return all;
}
const kinds = (arrivals: readonly Arrival[]) =>
  arrivals.map((arrival) => (arrival.kind === 'part' ? arrival.part.type : arrival.kind));
const errorOf = (arrivals: readonly Arrival[]) =>
  arrivals.flatMap((arrival) => (arrival.kind === 'failed' ? [arrival.error] : []))[0];

test('a server that leaves its stream open after the end of the reply is not waited for', async () => {
  const model = handModel();
  const { clock, upstream } = open(model);
  await clock.advance(0);
  for (const part of [delta('x'), finish]) model.stream.enqueue(part);
  await clock.advance(1000);
  expect(kinds(await takeAll(upstream))).toEqual(['text-delta', 'finish', 'end']);
  expect(model.request?.abortSignal?.aborted).toBe(true);
  await upstream[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

test('a connection that breaks after the end of the reply breaks nothing', async () => {
  const model = handModel();
  const { clock, upstream } = open(model);
  await clock.advance(0);
  model.stream.enqueue(finish);
  await clock.advance(0);
  model.stream.error(new TypeError('terminated'));
  await clock.advance(0);
  expect(kinds(await takeAll(upstream))).toEqual(['finish', 'end']);
});

test('E-309, B094: a stop while the server owes its headers is over at once; a stream that comes late is cancelled unread', async () => {
  const late = Promise.withResolvers<void>();
  const model = handModel({ hears: false, opens: late.promise });
  const { clock, upstream, stop } = open(model);
  await clock.advance(0);
  stop.abort(new Error('stopped'));
  expect(errorOf(await takeAll(upstream))).toMatchObject({ message: 'stopped' });
  await upstream[Symbol.asyncDispose]();
  late.resolve();
  await clock.advance(0);
  expect([model.cancelled, clock.pending]).toEqual([true, 0]);
});

test.each([true, false])(
  'E-309: a stop in mid-stream ends the reading, whether the client hears of it (%s) or not',
  async (hears) => {
    const model = handModel({ hears });
    const { clock, upstream, stop } = open(model);
    await clock.advance(0);
    model.stream.enqueue(delta('x'));
    await clock.advance(0);
    stop.abort(new Error('stopped'));
    expect(kinds(await takeAll(upstream))).toEqual(['text-delta', 'failed', 'end']);
    await upstream[Symbol.asyncDispose]();
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(clock.pending).toBe(0);
  },
);

test('B094: under a stop nobody is asked', async () => {
  const model = handModel();
  const { upstream } = open(model, { stopped: true });
  expect(kinds(await takeAll(upstream))).toEqual(['failed', 'end']);
  expect(model.request).toBeNull();
});

test('U3: a client that throws instead of rejecting is a failure like any other', async () => {
  const broken: Model = {
    provider: 'p',
    modelId: 'broken',
    doStream() {
      throw new TypeError('broken');
    },
  };
  expect(errorOf(await takeAll(open(broken).upstream))).toMatchObject({ message: 'broken' });
});

test('E-305, B027: a stall is noticed while nobody takes what came before', async () => {
  const model = handModel();
  const { clock, upstream } = open(model);
  await clock.advance(0);
  for (let part = 0; part < 500; part++) model.stream.enqueue(delta('x'));
  await clock.advance(180_000);
  expect(model.request?.abortSignal?.aborted).toBe(true);
  expect(errorOf(await takeAll(upstream))).toMatchObject({ type: 'IncompleteStreamError', how: 'stalled' });
});

test('E-305: what waits for a slow reader is bounded, and its slowness is no silence of the model', async () => {
  let given = 0;
  const endless: Model = {
    provider: 'p',
    modelId: 'endless',
    doStream: async () => ({
      stream: new ReadableStream<ModelPart>({
        pull(controller) {
          controller.enqueue(given++ < 5000 ? delta('x') : finish);
          if (given > 5000) controller.close();
        },
      }),
    }),
  };
  const { clock, upstream } = open(endless);
  await clock.advance(500_000);
  expect(given).toBeLessThan(1100);
  const arrivals = await takeAll(upstream);
  expect([arrivals.length, errorOf(arrivals)]).toEqual([expect.any(Number), undefined]);
  expect(given).toBeGreaterThan(5000);
});

const silent = () => handModel();
async function givenUpAfterMs(o: Parameters<typeof open>[1]): Promise<readonly [number, unknown]> {
  const { clock, upstream } = open(silent(), o);
  const startMs = clock.now();
  const all = takeAll(upstream);
  const state = { ended: false };
  void all.then(() => (state.ended = true));
  while (!state.ended) await clock.advance(1000);
  const error = errorOf(await all);
  return [clock.now() - startMs, error instanceof Error ? error.name : error];
}
const prompt = (units: number): ModelRequest['prompt'] => [
  { role: 'user', content: [{ type: 'text', text: 'x'.repeat(units) }] },
];

test('E-303: the first event of a prompt provider is waited for 20 s, 10 s more for 100,000 tokens, never above the idle limit', async () => {
  const traits = { firstEventPromptly: true };
  expect(await givenUpAfterMs({ traits })).toEqual([20_000, 'IncompleteStreamError']);
  expect(await givenUpAfterMs({ traits, request: { prompt: prompt(400_000) } })).toEqual([
    30_000,
    'IncompleteStreamError',
  ]);
  expect(
    await givenUpAfterMs({ traits, request: { prompt: prompt(400_000) }, retry: { streamIdleTimeoutSeconds: 25 } }),
  ).toEqual([25_000, 'IncompleteStreamError']);
  expect(await givenUpAfterMs({ traits, retry: { streamFirstEventTimeoutSeconds: null } })).toEqual([
    180_000,
    'IncompleteStreamError',
  ]);
  expect(await givenUpAfterMs({ request: { prompt: prompt(400_000) } })).toEqual([180_000, 'IncompleteStreamError']);
});

test('E-304, B026: with no idle limit a call ends at its whole limit, which its reply budget sets', async () => {
  const retry = { streamIdleTimeoutSeconds: null };
  expect(await givenUpAfterMs({ retry, request: { maxOutputTokens: 32_000 } })).toEqual([960_000, 'CallTimeoutError']);
  expect(await givenUpAfterMs({ retry: { ...retry, callTimeoutSeconds: 42 } })).toEqual([42_000, 'CallTimeoutError']);
});

test('E-302: bytes that become no part are heard by the name of the request, and are no progress', async () => {
  const model = silent();
  const { clock, upstream } = open(model);
  await clock.advance(0);
  const all = takeAll(upstream);
  for (let second = 0; second < 180; second++) {
    bytesListener(model.request?.abortSignal ?? null)?.();
    await clock.advance(1000);
  }
  const arrivals = await all;
  expect(arrivals.find((arrival) => arrival.kind === 'notice')).toMatchObject({
    notice: { seconds: 10, lastByteMs: 1000 },
  });
  expect(model.request?.abortSignal?.aborted).toBe(true);
});
