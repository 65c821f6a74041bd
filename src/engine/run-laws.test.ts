// Whatever the model says, whatever tools do and whoever speaks, stops, pauses, decides or crashes in between: the laws of
// the log hold and the run ends.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RunEvent } from '../core/run-event.ts';
import { allowAll } from '../core/run-config.ts';
import { checkLog } from '../testing/check-log.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createClientModel } from '../testing/client-model.ts';
import { createEngineRig, type EngineRig, type RigRunOptions } from '../testing/engine-rig.ts';
import { decide } from './decide.ts';
import { evolve, initialRunState, isOpen, type RunState } from '../core/run-state.ts';
import { resultBreaches } from '../testing/result-of-log.ts';
import {
  simpleText,
  type ReplyFault,
  type ReplyPiece,
  type ScriptedReply,
} from '../testing/model-servers/reply-script.ts';
import { sleep } from '../core/clock.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { TransientToolError } from '../core/errors.ts';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Tool } from './tool.ts';

const inputSchema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
};
const retry = { attempts: 2, backoffSeconds: 5, maxBackoffSeconds: 5, retryErrorResults: false };
/** Tools of every kind; the clock is that of the run. */
function toolsOf(clock: () => EngineRig['clock']): readonly Tool[] {
  const slow: Tool['run'] = async (_, { signal }) => (await sleep(clock(), 20_000, signal), { content: 'slow' });
  const kinds: Record<string, Partial<Tool>> = {
    safe: { replay: 'safe' },
    manual: {},
    ordered: { concurrent: false, run: slow },
    slow: { run: slow, replay: 'idempotent' },
    deaf: { run: () => new Promise(() => {}), timeoutSeconds: 10, replay: 'safe' },
    late: { run: () => new Promise(() => {}), timeoutSeconds: 10 },
    huge: { run: async () => ({ content: '😀'.repeat(9000) }) },
    throwing: { run: () => Promise.reject(new Error('broken')) },
    flaky: { replay: 'safe', retry, run: () => Promise.reject(new TransientToolError('not now')) },
    gated: { permission: 'ask' },
    forbidden: { permission: 'deny' },
  };
  return Object.entries(kinds).map(([name, facts]) => countingTool(name, { inputSchema, ...facts }));
}
const names = [
  ...toolsOf(() => expect.unreachable()).map(({ name }) => name),
  'nothing',
  'ask_user_questions',
  'write_todos',
];

const chunks = fc.array(fc.constantFrom('a', 'bc', '😀', 'e\u0301', ' '), { maxLength: 4 });
const words = fc
  .tuple(fc.boolean(), chunks)
  .map(([thinks, given]): ReplyPiece => ({ kind: thinks ? 'thinking' : 'text', chunks: given }));
const input = fc.constantFrom(
  '{"n":1}',
  '{"n":2}',
  '{"n":',
  '',
  '[]',
  '{"todos":[{"content":"One","status":"pending"}]}',
  '{"questions":[{"id":"q","question":"Which?"}]}',
);
const call = fc.record({
  kind: fc.constant('tool-call' as const),
  id: fc.constant(''),
  name: fc.constantFrom(...names),
  arguments: input.map((json) => json.split(/(?<=:)/)),
});
const faults = fc.oneof(
  fc
    .tuple(fc.constantFrom('cut', 'error-event', 'stall'), fc.nat(4))
    .map(([kind, after]): ReplyFault => ({ kind, after })),
  fc.constant<ReplyFault>({ kind: 'no-end-mark' }),
  fc.constant<ReplyFault>({ kind: 'status', status: 503 }),
  fc.constant<ReplyFault>({ kind: 'status', status: 429, headers: { 'retry-after': '30' } }),
  fc.constant<ReplyFault>({ kind: 'status', status: 400 }),
);
const reply = fc
  .record(
    {
      pieces: fc.array(fc.oneof({ arbitrary: words, weight: 2 }, { arbitrary: call, weight: 3 }), { maxLength: 4 }),
      finish: fc.constantFrom('length' as const, 'content-filter' as const),
      rawFinish: fc.constantFrom('pause_turn', 'refusal', 'stop_sequence'),
      usage: fc.record({ inputTokens: fc.nat(100), outputTokens: fc.nat(100) }),
      fault: faults,
    },
    { requiredKeys: ['pieces'] },
  )
  .map(({ pieces, finish, rawFinish, fault, ...rest }): ScriptedReply => ({
    ...rest,
    pieces: pieces.map((piece, index) => (piece.kind === 'tool-call' ? { ...piece, id: `c${index}` } : piece)),
    ...(finish !== undefined && rawFinish === undefined ? { finish } : {}),
    ...(rawFinish === undefined ? {} : { rawFinish }),
    ...(fault === undefined ? {} : { fault }),
  }));
const often = <T>(arbitrary: fc.Arbitrary<T>, absent: T) =>
  fc.oneof({ arbitrary: fc.constant(absent), weight: 3 }, arbitrary);
const limits = fc.record({
  maxSteps: often(fc.constantFrom(1, 3), 0),
  finalAnswerOnLimit: fc.boolean(),
  maxToolRounds: often(fc.nat(2), null),
  maxTotalTokens: often(fc.nat(200), null),
  maxOutputTokens: often(fc.integer({ min: 1, max: 200 }), null),
  maxSeconds: often(fc.constantFrom(15, 60), null),
  maxTruncationRecoveries: fc.nat(2),
  maxContextTokens: often(fc.integer({ min: 100, max: 3000 }), null),
});
const happening = fc.record({ at: fc.nat(60), what: fc.constantFrom('say', 'pause', 'crash', 'cancel', 'shutdown') });
const scenario = fc.record({
  replies: fc.array(reply, { maxLength: 5 }),
  limits,
  planning: fc.boolean(),
  onUnknown: fc.constantFrom('park' as const, 'tell-model' as const),
  people: fc.constantFrom('park', 'deny', 'ask'),
  happenings: fc.array(happening, { maxLength: 3 }),
  words: fc.array(fc.constantFrom('approve', 'deny', 'answer', 'result', 'retry', 'abort', 'expired'), {
    minLength: 1,
    maxLength: 4,
  }),
  filtered: fc.boolean(),
  fallback: fc.boolean(),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer S> ? S : never;

const fitting: Record<string, readonly string[]> = {
  approval: ['approve', 'deny', 'expired'],
  question: ['answer', 'expired'],
  recovery: ['result', 'retry', 'abort', 'expired'],
};

/** Plays the scenario to its end, over parks, pauses, crashes and shutdowns; gives the rig and the driver's own last state. */
async function play({
  replies,
  planning,
  onUnknown,
  people,
  happenings,
  words: said,
  filtered,
  fallback,
  ...rest
}: Scenario) {
  let [seen, leaving, decisions] = [0, false, 0];
  let driven: RunState | null = null;
  const rig: EngineRig = createEngineRig({
    replies: (_, index) => replies[index] ?? simpleText('Done.'),
    tools: toolsOf(() => rig.clock),
    limits: rest.limits,
    config: { planning, permissions: { ...allowAll, onUnknown, questions: true } },
    people:
      people === 'ask'
        ? { how: 'ask', decide: ({ call: { id } }) => id === 'c0' }
        : { how: people === 'deny' ? 'deny' : 'park' },
    parts: {
      ...(filtered ? { middleware: [{ afterTool: (result) => result }] } : {}),
      ...(fallback ? { fallbacks: [{ model: { provider: 'scripted', model: 'two' } }] } : {}),
      openModel: async () => ({ model: rig.model, traits: {}, maxOutputTokens: null }),
    },
    onState: (state) => (driven = state),
  });
  const happen = (what: string) => {
    const ended = rig.state().result !== null;
    if (what === 'say' && !ended) rig.say('And this.', `m${seen}`);
    if (what === 'pause') rig.pause.abort();
    if (what === 'cancel') rig.stop.abort(new StopTurn('cancel'));
    if (what === 'crash' || what === 'shutdown') leaving = !ended;
  };
  const options: RigRunOptions = {
    onEvent: () => {
      for (const { at, what } of happenings) if (at === seen) happen(what);
      seen++;
    },
    leaves: () => leaving && !(leaving = false),
  };
  let result = await rig.run(options);
  for (let leg = 0; leg < 40; leg++) {
    if (result !== null) requireAlike(driven, rig.state());
    if (result === null) result = await rig.recover([...rig.log], options);
    else if (result.status === 'awaiting-input') {
      for (const { call: asked, kind } of rig.state().pending.filter(isOpen)) {
        const fits = fitting[kind] ?? [];
        // Nobody says `retry` for ever.
        const word = decisions < 12 ? said[decisions++ % said.length] : 'abort';
        const decision = (word !== undefined && fits.includes(word) ? word : fits[0]) as 'approve';
        rig.decide(asked.id, { decision, output: { content: 'Said.', isError: false } });
      }
      result = await rig.resume('decision', options);
    } else if (result.status === 'paused') result = await rig.resume('resume', options);
    else return rig;
  }
  throw new Error('The run does not end.');
}

/** The driver's fold, whole groups of live events at once, is the fold of the log, one by one. */
function requireAlike(driven: RunState | null, folded: RunState): void {
  expect(driven?.open).toEqual(folded.open);
  expect(driven?.transcript).toEqual(folded.transcript);
}

const fold = (events: readonly RunEvent[], from: RunState) => events.reduce(evolve, from);

function callFaults(prompt: LanguageModelV4Prompt): readonly string[] {
  return prompt.flatMap((message, index) => {
    if (message.role !== 'assistant') return [];
    const next = prompt[index + 1];
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
    const given =
      next?.role === 'tool' ? next.content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])) : [];
    return asked.join() === given.join() ? [] : [`${asked.join()} answered by ${given.join()}`];
  });
}

/** The core says the same of the same state each time, and leaves it as it is. */
function requirePure(log: readonly RunEvent[], empty: RunState): void {
  let state = empty;
  for (const event of log) {
    const before = JSON.stringify(state);
    const next = evolve(state, event);
    expect(JSON.stringify(decide(next))).toBe(JSON.stringify(decide(next)));
    expect(JSON.stringify(state)).toBe(before);
    state = next;
  }
}

function requireLaws(rig: EngineRig, cut: number): void {
  const { log } = rig;
  expect(checkLog(log)).toEqual([]);
  expect(resultBreaches(log)).toEqual([]);
  const client = createClientModel();
  for (const event of log) client.push(event);
  expect(client.breaches).toEqual([]);
  for (const { prompt } of rig.model.calls) expect(callFaults(prompt)).toEqual([]);
  const whole = rig.state();
  expect(['completed', 'failed', 'cancelled']).toContain(whole.status);
  const keep = cut % log.length;
  const empty = initialRunState(whole.runId, whole.sessionId);
  expect(fold(log.slice(keep), fold(log.slice(0, keep), empty))).toEqual(whole);
  const stored: RunEvent[] = JSON.parse(JSON.stringify(log));
  expect(fold(stored, empty)).toEqual(whole);
  requirePure(log, empty);
  for (const { data } of rig.events('tool-dispatched')) {
    const of = (type: 'tool-dispatched' | 'approval-decided') =>
      rig.log.filter((event) => event.type === type && event.data.executionKey === data.executionKey);
    const retries = of('approval-decided').filter(
      (event) => event.type === 'approval-decided' && event.data.decision === 'retry',
    );
    if (data.replay === 'manual') expect(of('tool-dispatched').length).toBeLessThanOrEqual(1 + retries.length);
  }
}

test('E-002, E-004, E-134, E-135, E-540, E-565, E-940, E-941: the laws hold for whatever happens in a run: 2,000 scenarios', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, fc.nat(), async (each, cut) => requireLaws(await play(each), cut)),
    { numRuns: 2000 },
  );
}, 120_000);
