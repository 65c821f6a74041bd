import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { executionKeyOf, type EventDraft, type RunEvent } from '../../core/run-event.ts';
import { noBudgets } from '../../core/run-config.ts';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { createEngineRig } from '../../testing/engine-rig.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../../testing/model-servers/reply-script.ts';
import type { Tool } from '../tool.ts';
import { createLogBuilder, testRunId, testSessionId, type BlockScript } from '../../testing/log-builder.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createRunTracer, type RunTracerOptions } from './run-tracer.ts';

/** Spans of a real SDK, and how many have begun. */
function openSdk() {
  const exporter = new InMemorySpanExporter();
  let begun = 0;
  const counter = {
    onStart: () => void begun++,
    onEnd() {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), counter] });
  const tracer = provider.getTracer('test');
  return { tracer, spans: () => exporter.getFinishedSpans(), begun: () => begun };
}

type Options = Partial<RunTracerOptions> & { readonly dispose?: boolean };

function traceOf(events: readonly RunEvent[], { dispose = false, ...options }: Options = {}) {
  const sdk = openSdk();
  const tracer = createRunTracer({ tracer: sdk.tracer, clock: createManualClock(), parent: ROOT_CONTEXT, ...options });
  for (const event of events) tracer.record(event);
  if (dispose) tracer[Symbol.dispose]();
  expect(sdk.begun()).toBe(sdk.spans().length);
  return sdk.spans();
}

const msOf = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6;
const isError = ({ status }: ReadableSpan) => status.code === SpanStatusCode.ERROR;
const faultsOf = (spans: readonly ReadableSpan[]) =>
  spans.map((span) => [span.name, isError(span) ? span.attributes['error.type'] : null]);

const call: Extract<BlockScript, { kind: 'call' }> = {
  kind: 'call',
  id: 'c1',
  pieces: ['{"q":1}'],
  outcome: 'ok',
  content: 'Done.',
};
const answer: BlockScript = { kind: 'text', pieces: ['Ye', 's.'] };
const usage = {
  inputTokens: 10,
  outputTokens: 4,
  cacheReadInputTokens: 3,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
};
const model = { provider: 'demo', model: 'demo' };
const completed = { status: 'completed', stopReason: 'end-turn' } as const;

function begin() {
  const log = createLogBuilder();
  log.start();
  return log;
}

test('E-907: a run is one trace: the agent, each model call and each tool call, with the semantic names', () => {
  const log = begin();
  log.step({ blocks: [call], usage });
  log.step({ blocks: [answer] });
  log.end(completed);
  const spans = traceOf(log.events, { agentName: 'helper' });
  expect(spans.map(({ name }) => name)).toEqual(['chat demo', 'execute_tool tool', 'chat demo', 'invoke_agent helper']);
  const [chat, tool, , agent] = spans;
  const place = { 'gen_ai.conversation.id': testSessionId, 'reins.run.id': testRunId, 'reins.run.leg': 1 };
  const demo = { 'gen_ai.provider.name': 'demo', 'gen_ai.request.model': 'demo', 'gen_ai.response.model': 'demo' };
  expect(agent?.attributes).toEqual({
    ...place,
    ...demo,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'helper',
    'gen_ai.agent.id': 'chrn_demo',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.response.finish_reasons': ['end-turn'],
    'reins.run.cause': 'submit',
    'reins.run.status': 'completed',
  });
  expect(chat?.attributes).toEqual({
    ...place,
    ...demo,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.stream': true,
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 3,
    'gen_ai.response.finish_reasons': ['tool-use'],
    'gen_ai.response.time_to_first_chunk': 0.01,
    'reins.step': 1,
    'reins.attempt': 1,
  });
  expect(tool?.attributes).toEqual({
    ...place,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'tool',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': 'c1',
    'reins.execution_key': executionKeyOf(testRunId, 1, 'c1'),
    'reins.step': 1,
    'reins.tool.attempt': 1,
    'reins.tool.outcome': 'ok',
  });
  expect(spans.map(({ kind }) => kind)).toEqual([
    SpanKind.CLIENT,
    SpanKind.INTERNAL,
    SpanKind.CLIENT,
    SpanKind.INTERNAL,
  ]);
  for (const child of spans.slice(0, 3)) expect(child.parentSpanContext).toEqual(agent?.spanContext());
});

const look: Tool = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  run: async () => ({ content: 'A room.' }),
};
const stalled = { blocks: [answer], shown: 2, reason: 'stalled' } as const;

test('T1: an attempt that is given up is a failed span of its own; the next one begins when its wait is over', () => {
  const log = begin();
  log.step({ blocks: [answer], abandoned: [stalled] });
  log.end(completed);
  const [first, second, agent] = traceOf(log.events);
  const reset = log.events.find(({ type }) => type === 'attempt-reset');
  expect(faultsOf([first, second, agent].filter((span) => span !== undefined))).toEqual([
    ['chat demo', 'stalled'],
    ['chat demo', null],
    ['invoke_agent', null],
  ]);
  expect(first?.attributes).toMatchObject({ 'reins.attempt': 1, 'reins.reset.reason': 'stalled' });
  expect(msOf(first?.endTime ?? [0, 0])).toBe(reset?.at);
  expect(second?.attributes).toMatchObject({ 'reins.attempt': 2, 'gen_ai.response.finish_reasons': ['end-turn'] });
  expect(agent?.events).toEqual([
    expect.objectContaining({
      name: 'reins.attempt_reset',
      attributes: {
        'reins.step': 1,
        'reins.attempt': 1,
        'reins.reason': 'stalled',
        'reins.shown': true,
        'reins.retry_in_ms': 500,
      },
    }),
  ]);
});

test('T1: real retries and calls of the engine, in the time of its clock', async () => {
  const busy: ScriptedReply = { fault: { kind: 'status', status: 503, headers: { 'retry-after': '2' } } };
  const rig = createEngineRig({ replies: [busy, simpleCall('c1', 'look', {}), simpleText('Seen.')], tools: [look] });
  await rig.run();
  const [refused, calling, tool, answering, agent] = traceOf(rig.log);
  expect(faultsOf([refused, tool, agent].filter((span) => span !== undefined))).toEqual([
    ['chat scripted-1', 'ProviderError'],
    ['execute_tool look', null],
    ['invoke_agent', null],
  ]);
  expect(msOf(calling?.startTime ?? [0, 0]) - msOf(refused?.endTime ?? [0, 0])).toBeGreaterThanOrEqual(2000);
  expect(answering?.attributes).toMatchObject({ 'reins.step': 2, 'gen_ai.response.model': 'scripted-1' });
});

test('T1: an attempt that the run ended before has no span', () => {
  const log = begin();
  const at = { step: 1, attempt: 1 };
  log.add({ ...at, type: 'step-started', data: { purpose: 'reply', model, replyBudget: 800 } });
  const data = { step: 1, attempt: 1, nextAttempt: 2, reason: 'transient-error', shown: false } as const;
  log.add({ ...at, type: 'attempt-reset', data: { ...data, retryInMs: 60_000 } });
  log.end({ status: 'cancelled', stopReason: 'cancelled' });
  const spans = traceOf(log.events);
  expect(faultsOf(spans)).toEqual([
    ['chat demo', 'transient-error'],
    ['invoke_agent', null],
  ]);
  expect(spans[0]?.attributes['gen_ai.request.max_tokens']).toBe(800);
});

test('T1: an attempt at another member of the chain carries the name of the model that was called', () => {
  const log = begin();
  log.add({ step: 1, attempt: 0, type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } });
  const to = { provider: 'google', model: 'spare' };
  const data = { kind: 'failover', from: model, to, reason: 'The provider failed.' } as const;
  log.add({ step: 1, attempt: 1, type: 'model-switched', data });
  const [chat] = traceOf(log.events, { dispose: true });
  expect(chat?.name).toBe('chat spare');
  expect(chat?.attributes).toMatchObject({ 'gen_ai.provider.name': 'gcp.gemini', 'gen_ai.request.model': 'spare' });
});

test('T3: a failed run marks itself and what it broke off, with the type and the safe sentence', () => {
  const log = begin();
  log.step({ blocks: [{ ...call, outcome: 'timeout' }] });
  log.add({ step: 2, attempt: 0, type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } });
  const error = { type: 'ProviderError', message: 'The provider failed.', retryable: false } as const;
  log.end({ status: 'failed', stopReason: null, error });
  const spans = traceOf(log.events);
  expect(faultsOf(spans)).toEqual([
    ['chat demo', null],
    ['execute_tool tool', 'timeout'],
    ['chat demo', 'ProviderError'],
    ['invoke_agent', 'ProviderError'],
  ]);
  expect(spans.at(-1)?.status.message).toBe('The provider failed.');
});

test('T3: a cancel, a park and a denied call are no errors', () => {
  const cancelled = begin();
  cancelled.step({ blocks: [{ ...call, outcome: 'denied' }] });
  cancelled.add({ step: 2, attempt: 0, type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } });
  const parked = createLogBuilder(cancelled.events);
  cancelled.end({ status: 'cancelled', stopReason: 'cancelled' });
  expect(faultsOf(traceOf(cancelled.events)).map(([, fault]) => fault)).toEqual([null, null, null]);
  parked.end({ status: 'cancelled', stopReason: null });
  const last = parked.events.at(-1);
  if (last?.type !== 'run-result') throw new Error('The log has no result.');
  const events = [
    ...parked.events.slice(0, -1),
    { ...last, data: { ...last.data, status: 'awaiting-input' as const } },
  ];
  const spans = traceOf(events);
  expect(spans.at(-1)?.attributes['reins.run.status']).toBe('awaiting-input');
  expect(spans.some(isError)).toBe(false);
});

const legTwo: EventDraft = {
  type: 'run-started',
  step: 1,
  attempt: 0,
  data: { leg: 2, cause: 'recovery', model, limits: noBudgets },
};

/** A log that a crash cut in the midst of a call, and the leg behind it that runs the call again. */
function recoveredLog() {
  const log = begin();
  log.step({ blocks: [call], usage });
  const cutAt = log.events.findIndex(({ type }) => type === 'tool-dispatched') + 1;
  const cut = log.cut(cutAt);
  cut.add(legTwo);
  for (const event of log.events.slice(cutAt - 1)) cut.add(event);
  cut.end({ status: 'cancelled', stopReason: 'cancelled' });
  return { events: cut.events, cutAt };
}

test('T2: the spans of a leg that a crash cut end with its last event, as errors; the next leg is a span of its own', () => {
  const { events, cutAt } = recoveredLog();
  const spans = traceOf(events);
  expect(faultsOf(spans)).toEqual([
    ['chat demo', null],
    ['execute_tool tool', 'crash'],
    ['invoke_agent', 'crash'],
    ['execute_tool tool', null],
    ['invoke_agent', null],
  ]);
  expect(msOf(spans[2]?.endTime ?? [0, 0])).toBe(events[cutAt - 1]?.at);
});

test('T1: a process that takes a run over names a call that was announced before it', () => {
  const { events, cutAt } = recoveredLog();
  const [tool, agent] = traceOf(events.slice(cutAt));
  expect(tool?.name).toBe('execute_tool tool');
  expect(tool?.attributes).toMatchObject({ 'gen_ai.tool.name': 'tool', 'gen_ai.tool.call.id': 'c1' });
  expect(agent?.attributes).toMatchObject({ 'reins.run.cause': 'recovery', 'reins.run.leg': 2 });
  // The result counts the tokens of both legs; those of the first have their span elsewhere.
  expect(agent?.attributes).not.toHaveProperty(['gen_ai.usage.input_tokens']);
});

test('T1: a handler that is called again is an event of the call’s one span', () => {
  const log = begin();
  log.step({ blocks: [call] });
  const again = log.events.flatMap((event): RunEvent[] =>
    event.type === 'tool-dispatched' ? [event, { ...event, data: { ...event.data, toolAttempt: 2 } }] : [event],
  );
  const spans = traceOf(again, { dispose: true });
  expect(spans.map(({ name }) => name)).toEqual(['chat demo', 'execute_tool tool', 'invoke_agent']);
  expect(spans[1]?.events).toEqual([
    expect.objectContaining({ name: 'reins.tool_retry', attributes: { 'reins.tool.attempt': 2 } }),
  ]);
});

test('T2: whatever stands in a log and wherever it is left, every span ends, inside its leg', () => {
  const shuffled = arbitraryLog.chain((events) => fc.shuffledSubarray([...events]));
  fc.assert(
    fc.property(fc.oneof(arbitraryLog, shuffled), fc.nat(80), (events, count) => {
      const spans = traceOf(events.slice(0, count), { dispose: true });
      const legs = new Map(
        spans.flatMap((span) => (span.parentSpanContext ? [] : [[span.spanContext().spanId, span]])),
      );
      for (const span of spans) {
        if (span.parentSpanContext !== undefined) expect(legs.has(span.parentSpanContext.spanId)).toBe(true);
        expect(msOf(span.duration)).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 200 },
  );
});

test('E-907: over any log there is one chat span an attempt that was made, and one tool span a dispatched call', () => {
  fc.assert(
    fc.property(arbitraryLog, (events) => {
      const names = traceOf(events).map(({ name }) => name.split(' ')[0]);
      const count = (type: RunEvent['type']) => events.filter((event) => event.type === type).length;
      expect(names.filter((name) => name === 'execute_tool')).toHaveLength(count('tool-dispatched'));
      expect(names.filter((name) => name === 'invoke_agent')).toHaveLength(1);
      const made = count('step-started') + count('attempt-reset');
      const chats = names.filter((name) => name === 'chat').length;
      // Only the last one may have been waited for in vain.
      expect([made, made - 1]).toContain(chats);
    }),
  );
});

const said = ['PROMPT', 'THOUGHT', 'ANSWER', 'ARGUMENT', 'RESULT'];

function talkingLog(): readonly RunEvent[] {
  const log = begin();
  const thought: BlockScript = { kind: 'thinking', pieces: ['THOUGHT'] };
  log.step({ blocks: [thought, { ...call, pieces: ['{"q":"ARGUMENT"}'], content: 'RESULT' }] });
  log.step({ blocks: [{ kind: 'text', pieces: ['ANS', 'WER'] }], abandoned: [{ ...stalled, shown: 1 }] });
  log.end(completed);
  return log.events.map((event): RunEvent => {
    if (event.type === 'tool-call-start' || event.type === 'tool-call-complete')
      return { ...event, data: { ...event.data, input: { q: 'ARGUMENT' } } } as RunEvent;
    if (event.type !== 'run-started') return event;
    return { ...event, data: { ...event.data, input: [{ content: [{ type: 'text', text: 'PROMPT' }] }] } };
  });
}

const told = (spans: readonly ReadableSpan[]) =>
  JSON.stringify(spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));

test('T4: nothing that people, models or tools said is in a span', () => {
  const text = told(traceOf(talkingLog()));
  for (const word of said) expect(text).not.toContain(word);
});

test('T5: without an SDK a leg costs one span that nobody records, and nothing else', () => {
  const noop = trace.getTracer('none');
  let begun = 0;
  const counting: Tracer = {
    startSpan(...args) {
      begun++;
      return noop.startSpan(...args);
    },
    startActiveSpan: noop.startActiveSpan.bind(noop),
  };
  const { events } = recoveredLog();
  const tracer = createRunTracer({ tracer: counting, clock: createManualClock() });
  for (const event of events) tracer.record(event);
  tracer[Symbol.dispose]();
  expect(begun).toBe(2);
});

test('the agent’s span is a child of the context that is active when its tracer is made', () => {
  const { tracer: outer, spans } = openSdk();
  const request = outer.startSpan('POST /v1/responses');
  let active = trace.setSpan(ROOT_CONTEXT, request);
  context.setGlobalContextManager({
    active: () => active,
    with: (_context, fn, self, ...args) => fn.call(self as never, ...args),
    bind: (_context, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  try {
    const tracer = createRunTracer({ tracer: outer, clock: createManualClock() });
    active = ROOT_CONTEXT;
    for (const event of talkingLog()) tracer.record(event);
  } finally {
    context.disable();
  }
  expect(spans().at(-1)?.parentSpanContext).toEqual(request.spanContext());
});
