import { expect, test } from 'vitest';
import { createManualClock } from './manual-clock.ts';
import { createScriptedModel } from './scripted-model.ts';
import { simpleCall, simpleText } from './model-servers/reply-script.ts';
import type { ModelRequest } from '../engine/model.ts';

const request: ModelRequest = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] };
type Model = ReturnType<typeof createScriptedModel>;
const ask = async (model: Model, changes: Partial<ModelRequest> = {}) =>
  Array.fromAsync((await model.doStream({ ...request, ...changes })).stream);

test('replies are played in order, each as a provider would', async () => {
  const model = createScriptedModel([simpleCall('c1', 'add', { a: 1 }), simpleText('a', 'b')]);
  expect((await ask(model)).at(-2)).toEqual({ type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: '{"a":1}' });
  const second = await ask(model);
  expect(second.filter(({ type }) => type === 'text-delta')).toHaveLength(2);
  expect(second.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' } });
  await expect(ask(model)).rejects.toMatchObject({ statusCode: 500 });
  expect(model.calls).toHaveLength(3);
});

test('faults come out as the provider packages give them', async () => {
  const pieces = simpleText('a', 'b').pieces ?? [];
  const model = createScriptedModel([
    { fault: { kind: 'status', status: 429, headers: { 'retry-after': '1' } } },
    { pieces, fault: { kind: 'error-event', after: 1 } },
    { pieces, fault: { kind: 'cut', after: 1 } },
    { pieces, fault: { kind: 'no-end-mark' } },
  ]);
  await expect(ask(model)).rejects.toMatchObject({ statusCode: 429, responseHeaders: { 'retry-after': '1' } });
  expect((await ask(model)).at(-1)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  await expect(ask(model)).rejects.toThrow('terminated');
  expect((await ask(model)).at(-1)).toMatchObject({ finishReason: { raw: undefined } });
});

test('a stall ends with the abort reason; a pause follows the clock', async () => {
  const clock = createManualClock();
  const stalled = { fault: { kind: 'stall', after: 'nothing' } } as const;
  const model = createScriptedModel([stalled, { pieces: [{ kind: 'pause', ms: 500 }] }], { clock });
  const stop = new AbortController();
  const asked = ask(model, { abortSignal: stop.signal });
  asked.catch(() => undefined);
  await clock.advance(60_000);
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  let ended = false;
  const paused = ask(model).then(() => (ended = true));
  await clock.advance(499);
  expect(ended).toBe(false);
  await clock.advance(1);
  await paused;
});
