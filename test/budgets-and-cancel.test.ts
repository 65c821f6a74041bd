// How a task ends before its work is done: a budget, a cancel, a server that closes.

import { engineWords } from '../src/engine/engine-words.ts';
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOf, assembleOutput, isDelta } from './support/event-stream.ts';
import { call, hold, reply, say, text, type Replies } from './support/model.ts';
import { ended, finalOf, until, whole } from './support/uhp.ts';
import { startHeld, type HeldServer } from './support/held-server.ts';

const list = (id: string) => call(id, 'list_files', {});
const replies: Replies = {
  'one round': [reply(text('Looking.'), list('a'), list('b')), say('Done.')],
  'many rounds': [reply(text('Looking.'), list('a')), reply(text('Again.'), list('b'), list('c')), say('Done.')],
  slow: [reply(text('partial'), hold, text(' never'))],
  cut: [{ ...say('a part of'), finish: 'length' }],
  [engineWords.continue]: Array.from({ length: 4 }, () => ({ ...say(' more'), finish: 'length' })),
  'cut in a call': [1, 2, 3, 4].map((n) => ({
    ...reply(text('writing'), call(`w${n}`, 'write_file', { path: 'x', content: 'y' })),
    finish: 'length',
  })),
  busy: [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } } }],
  silent: [{ fault: { kind: 'stall', after: 'nothing' } }],
  writes: [reply(call('w', 'write_file', { path: 'made.txt', content: 'made' })), reply(text('partial'), hold)],
};

describe('UT-14: a budget ends a task as incomplete, with its work kept', () => {
  let place: HeldServer;
  beforeAll(async () => {
    place = await startHeld(undefined, replies);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  async function run(body: object) {
    const frames = await whole(place.uhp.stream(body));
    const final = finalOf(frames);
    expect(assembleOutput(frames)).toEqual(final.output);
    expect((await place.uhp.get(final.id)).body).toEqual(final);
    return { final, last: frames.at(-1)?.event.type };
  }

  const stopped = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason }, error: null });

  test('UD-02: max_step counts rounds with tools; the calls beyond it are shown and not run', async () => {
    const { final, last } = await run({ input: 'many rounds', max_step: 1 });
    expect(last).toBe('response.incomplete');
    expect(final).toMatchObject(stopped('max_step'));
    expect(final.output.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'message completed',
      'function_call completed',
      'function_call_output completed',
      'message completed',
      'function_call incomplete',
      'function_call incomplete',
    ]);
    expect(place.model.asked('many rounds')).toHaveLength(2);
  });

  test.each([
    ['one round', 1],
    ['many rounds', 2],
  ])('UD-02: %s with exactly as many as it needs completes', async (input, max_step) => {
    const { final } = await run({ input, max_step });
    expect(final).toMatchObject({ status: 'completed', incomplete_details: null });
    expect(answerOf(final)).toMatch(/Done\.$/);
  });

  test('UD-01: a task beyond its time stops there', async () => {
    const startedMs = performance.now();
    const { final, last } = await run({ input: 'slow', timeout_seconds: 1 });
    expect(performance.now() - startedMs).toBeLessThan(4_000);
    expect(last).toBe('response.incomplete');
    expect(final).toMatchObject({ ...stopped('timeout'), output: [{ type: 'message', status: 'incomplete' }] });
    expect(answerOf(final)).toBe('partial');
    expect(place.model.server.open).toBe(0);
  });

  test('UD-03: output tokens are counted over all calls, and each call gets what is left', async () => {
    const { final } = await run({ input: 'many rounds', max_output_tokens: 20 });
    expect(final).toMatchObject({ ...stopped('max_output_tokens'), usage: { output_tokens: 20 } });
    const asked = place.model.asked('many rounds').slice(-2);
    expect(asked.map(({ body }) => body['max_tokens'])).toEqual([20, 10]);
    // Both rounds ended well, so their tools ran; only the next call was not made.
    expect(final.output.filter(({ type }) => type === 'function_call_output')).toHaveLength(3);
  });

  test('UD-03: exactly enough output tokens complete', async () => {
    expect((await run({ input: 'one round', max_output_tokens: 20 })).final.status).toBe('completed');
  });

  test("UD-03, E-400, E-403: a reply that the model's own limit cuts again and again ends in the same way, and a cut call never runs", async () => {
    expect((await run({ input: 'cut' })).final).toMatchObject(stopped('max_output_tokens'));
    const { final } = await run({ input: 'cut in a call' });
    expect(final).toMatchObject(stopped('max_output_tokens'));
    const items = final.output.map(({ type, status }) => `${type} ${status}`);
    // Asked for again three times, then given up.
    expect(items.filter((item) => item.startsWith('function_call '))).toEqual(
      Array(4).fill('function_call incomplete'),
    );
    expect(items.filter((item) => item.startsWith('message'))).toEqual(Array(4).fill('message completed'));
  });

  test('a session whose task was stopped goes on, with every call answered (B091)', async () => {
    const { final } = await run({ input: 'many rounds', max_step: 1 });
    const next = await place.uhp.create({ input: 'and then?', previous_response_id: final.id });
    expect(next.body).toMatchObject({ status: 'completed' });
    const messages = place.model.asked('and then?')[0]?.body['messages'] as {
      role: string;
      tool_calls?: { id: string }[];
      tool_call_id?: string;
    }[];
    const called = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    expect(messages.flatMap(({ tool_call_id = [] }) => tool_call_id)).toEqual(called);
    expect(called).toHaveLength(3);
  });
});

describe('UT-17, B094, B100: a cancel ends the task within a second and reaches the provider', () => {
  let place: HeldServer;
  beforeAll(async () => {
    place = await startHeld(undefined, replies);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  async function cancelAtOnce(id: string) {
    const startedMs = performance.now();
    const answer = await place.uhp.cancel(id);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: 'cancelled', error: null, incomplete_details: null },
    });
    const frames = await whole(place.uhp.attach(id));
    expect(frames.at(-1)?.event).toMatchObject({ type: 'response.failed', response: answer.body });
    expect(assembleOutput(frames)).toEqual(answer.body.output);
    expect(place.model.server.open).toBe(0);
    const next = await place.uhp.create({ input: 'go on', previous_response_id: id });
    expect(next.body).toMatchObject({ status: 'completed' });
    return answer.body;
  }

  test('in the midst of an answer, whose text is kept', async () => {
    const seen = await until(await place.uhp.stream({ input: 'slow' }), isDelta);
    const body = await cancelAtOnce(seen[0]?.event.response?.id ?? '');
    expect(body.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
    expect(answerOf(body)).toBe('partial');
  });

  test.each([
    ['while the provider has not answered', 'silent'],
    ['in the pause before another attempt', 'busy'],
  ])('%s', async (_, input) => {
    const started = await place.uhp.create({ input, background: true });
    while (place.model.asked(input).length === 0) await pause(5);
    // The wait of a 429 begins when its answer has been read.
    await pause(50);
    expect((await cancelAtOnce(started.body.id)).output).toEqual([]);
    expect(place.model.asked(input)).toHaveLength(1);
  });

  test('right after it was accepted', async () => {
    const started = await place.uhp.create({ input: 'slow', background: true });
    await cancelAtOnce(started.body.id);
  });

  test('after a tool has run, whose result is kept', async () => {
    const seen = await until(
      await place.uhp.stream({ input: 'writes' }),
      ({ event }) => event.type === 'response.output_text.delta',
    );
    const body = await cancelAtOnce(seen[0]?.event.response?.id ?? '');
    expect(body.output.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'function_call completed',
      'function_call_output completed',
      'message incomplete',
    ]);
  });

  test('through its session, and B092: by whoever took the stream up again', async () => {
    const started = await place.uhp.create({ input: 'slow', background: true });
    const stream = await place.uhp.attach(started.body.id);
    const session = started.body.metadata.session_id;
    const path = `/v1/sessions/${session}/cancel`;
    expect(await place.uhp.send('POST', path)).toMatchObject({
      status: 200,
      body: { id: session, status: 'cancelled' },
    });
    expect(finalOf(await Array.fromAsync(stream.frames)).status).toBe('cancelled');
    expect(await place.uhp.send('POST', path)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(await place.uhp.send('POST', '/v1/sessions/hsessnosuch/cancel')).toMatchObject({
      status: 404,
      code: 'session_not_found',
    });
  });

  test('B093: leaving is no cancel', async () => {
    await using held = await startHeld();
    const seen = await until(await held.uhp.stream({ input: 'held' }), isDelta);
    held.gate.open();
    expect((await ended(held.uhp, seen[0]?.event.response?.id ?? '')).status).toBe('completed');
  });
});

describe('UT-18: whatever a cancel races with, there is one end', () => {
  test('cancel against completion, and several cancels at once', async () => {
    const ends = new Set<string>();
    for (let round = 0; round < 12; round++) {
      await using held = await startHeld();
      const seen = await until(await held.uhp.stream({ input: 'held' }), isDelta);
      const id = seen[0]?.event.response?.id ?? '';
      const following = whole(held.uhp.attach(id));
      const first = held.uhp.cancel(id);
      // From "the model speaks first" to "the cancel is there first".
      if (round > 2) await pause(round - 3);
      held.gate.open();
      const answers = await Promise.all([first, held.uhp.cancel(id), held.uhp.cancel(id)]);
      const final = finalOf(await following);
      for (const answer of answers) expect(answer.status).toBe(200);
      expect((await held.uhp.get(id)).body).toEqual(final);
      expect((await held.uhp.cancel(id)).body).toEqual(final);
      expect(['completed', 'cancelled']).toContain(final.status);
      ends.add(final.status);
    }
    expect(ends.has('cancelled')).toBe(true);
  });
});

describe('a server that closes', () => {
  test('UD-60: leaves a running task to the next start, ends its streams in order and refuses those who wait', async () => {
    const before = await startHeld();
    const { uhp, gate, data } = before;
    const streamed = await until(await uhp.stream({ input: 'held' }), isDelta);
    const id = streamed[0]?.event.response?.id ?? '';
    const following = whole(uhp.attach(id));
    const waiting = uhp.create({ input: 'held and waited for' });
    while (before.model.asked('held and waited for').length === 0) await pause(5);
    await before[Symbol.asyncDispose]();
    const cut = await following;
    expect(cut.slice(0, streamed.length)).toEqual(streamed);
    expect(await waiting).toMatchObject({ status: 504, code: 'reins_closing' });
    gate.open();
    await using after = await startHeld(data);
    after.gate.open();
    const rest = await whole(after.uhp.attach(id, { after: cut.length - 1 }));
    expect(rest[0]?.id).toBe(cut.length);
    expect(answerOf(finalOf(rest))).toBe('first second');
    expect(assembleOutput([...cut, ...rest])).toEqual(finalOf(rest).output);
  });

  test('is not held up by connections on which nothing was asked', async () => {
    const held = await startHeld();
    const socket = connect(Number(new URL(held.url).port), '127.0.0.1');
    await once(socket, 'connect');
    const startedMs = performance.now();
    await held[Symbol.asyncDispose]();
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
