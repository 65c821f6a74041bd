// The one suite over all drivers of the engine (E-950): the same script of model replies gives the same events, the same
// result and the same conversation, whoever drives. The in-process driver is the measure.
//
// Compared is the normal form (E-951): without times, ids, numbers and notices; adjacent deltas joined; why a leg began and
// who decided left out.

import { describe, expect, test } from 'vitest';
import { checkLog } from './check-log.ts';
import { createAgent, type AgentParts, type SubAgentParts } from '../agent.ts';
import { createScriptedModel } from './scripted-model.ts';
import { defineTool } from '../engine/define-tool.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { simpleText, type ScriptedReply } from './model-servers/reply-script.ts';
import { toJsonValue, type JsonObject, type JsonValue } from '../core/json.ts';
import type { AgentConfig } from '../runtimes/agent-config.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunResult } from '../core/run-result.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { Tool } from '../engine/tool.ts';

export interface DriverScript {
  readonly name: string;
  readonly replies: readonly ScriptedReply[];
  readonly tools?: () => readonly Tool[];
  readonly config?: AgentConfig;
  readonly parts?: Partial<AgentParts>;
  /** What a person says of each call that waits, by its tool. */
  readonly approve?: Readonly<Record<string, boolean>>;
  /** The run is cancelled when its first event of this type is seen; `run-result`: once it is parked. */
  readonly cancelAt?: RunEvent['type'];
}

export interface AgentOfScript {
  readonly config: AgentConfig;
  readonly parts: AgentParts;
}

/** @param open  A runtime of the driver with these agents, and nothing in its store. */
export function describeDriver(name: string, open: (agents: readonly AgentOfScript[]) => Promise<Runtime>): void {
  describe(`E-006, E-950: ${name} drives like the in-process driver`, () => {
    test.each(driverScripts)('$name', async (script) => {
      const measure = await playDirect(script);
      const played = await playDurable(script, open);
      expect(checkLog(played.events)).toEqual([]);
      expect(normalForm(played.events)).toEqual(normalForm(measure.events));
      expect(plainResult(played.result)).toEqual(plainResult(measure.result));
      expect(conversationOf(played.events)).toEqual(conversationOf(measure.events));
      expect(played.requests).toEqual(measure.requests);
    });
  });
}

interface Played {
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
  /** The prompts that the model got. */
  readonly requests: JsonValue;
}

function agentOf({ replies, tools, config, parts }: DriverScript) {
  const model = createScriptedModel(replies);
  const quick = { backoffSeconds: 0.001, maxBackoffSeconds: 0.002 };
  const approvals = { direct: 'park', onUnknown: 'tell-model' } as const;
  return {
    model,
    agent: {
      config: { name: 'worker', retry: quick, approvals, ...config },
      parts: { provider: model, tools: tools?.() ?? [], ...parts },
    },
  };
}

async function playDirect(script: DriverScript): Promise<Played> {
  const { model, agent } = agentOf(script);
  await using direct = createAgent(agent.config, agent.parts);
  const events: RunEvent[] = [];
  const onceParked = script.cancelAt === 'run-result';
  let stream = direct.runStream('Go.');
  for (;;) {
    for await (const event of stream) {
      events.push(event);
      if (event.type === script.cancelAt && !onceParked) void stream.cancel();
    }
    const result = await stream.result();
    if (!result.needsInput) return { events, result, requests: promptsOf(model.calls) };
    const onApproval = ({ call }: { readonly call: { readonly name: string } }) => script.approve?.[call.name] === true;
    // A run that is parked, and cancelled, has another leg: its end.
    const cancelled = onceParked ? { signal: AbortSignal.abort() } : { onApproval };
    stream = direct.resume(result.runId, cancelled);
  }
}

async function playDurable(
  script: DriverScript,
  open: (agents: readonly AgentOfScript[]) => Promise<Runtime>,
): Promise<Played> {
  const { model, agent } = agentOf(script);
  await using runtime = await open([agent]);
  const handle = await runtime.submit('Go.');
  const events: RunEvent[] = [];
  // The run may be over before its cancel is answered.
  const answers: Promise<unknown>[] = [];
  for await (const event of handle.stream({ follow: 'run' })) {
    events.push(event);
    if (event.type === script.cancelAt) answers.push(runtime.cancel(handle.runId));
    if (event.type !== 'run-result' || script.approve === undefined) continue;
    // In the order in which they were asked for, as the in-process driver asks.
    for (const { approvalId, pending } of (await runtime.approvals.list({ runId: handle.runId })).toReversed()) {
      const decision = script.approve[pending.call.name] === true ? 'approve' : 'deny';
      await runtime.approvals.decide(approvalId, { decision });
    }
  }
  await Promise.all(answers);
  return { events, result: await handle.result(), requests: promptsOf(model.calls) };
}

function promptsOf(calls: readonly { readonly prompt: unknown }[]): JsonValue {
  return toJsonValue(calls.map(({ prompt }) => prompt));
}

const dropped = new Set([
  'at',
  'seq',
  'runId',
  'sessionId',
  'startedAtMs',
  'endedAtMs',
  'requestedAtMs',
  'durationMs',
  'cursor',
]);
const droppedFromStart = new Set(['cause', 'task', 'requestId']);

/** E-951. */
export function normalForm(events: readonly RunEvent[]): readonly JsonObject[] {
  const names = new Map<string, string>();
  const shown = events.filter(({ type }) => type !== 'waiting' && type !== 'tool-output-delta');
  const plain = shown.map((event): JsonObject => {
    const { type, leg, step, attempt, block } = event;
    const data = event.type === 'run-started' ? startOf(event.data) : event.data;
    return { type, leg, step, attempt, block: block ?? null, data: renamed(toJsonValue(data), names) };
  });
  return plain.reduce<JsonObject[]>((joined, event) => {
    const last = joined.at(-1);
    const together = last !== undefined && joinDeltas(last, event);
    if (together === false || together === null) joined.push(event);
    else joined[joined.length - 1] = together;
    return joined;
  }, []);
}

function startOf(data: object): object {
  const entries = Object.entries(data).filter(([key]) => !droppedFromStart.has(key));
  const { _config, _base, ...rest } = Object.fromEntries(entries);
  // The base names the driver's harness.
  return { ...rest, ...(_config === undefined ? {} : { _config: { ...Object(_config), base: 'driver' } }) };
}

function joinDeltas(last: JsonObject, next: JsonObject): JsonObject | null {
  const same = ['type', 'leg', 'step', 'attempt', 'block'].every((key) => last[key] === next[key]);
  const { type } = next;
  if (!same || typeof type !== 'string') return null;
  if (typeof last['data'] === 'string' && typeof next['data'] === 'string' && type.endsWith('-delta'))
    return { ...last, data: last['data'] + next['data'] };
  if (type !== 'tool-call-delta') return null;
  const [one, other] = [Object(last['data']), Object(next['data'])];
  return one.id === other.id ? { ...last, data: { ...one, partialJson: one.partialJson + other.partialJson } } : null;
}

/** Without what differs from run to run; ids and what holds one by the order in which they come. */
function renamed(value: JsonValue, names: Map<string, string>): JsonValue {
  if (typeof value === 'string') {
    const withNames = value.replaceAll(/\b(resp_|hsess|apr_)[\w-]+/g, (id, prefix: string) => {
      if (!names.has(id)) names.set(id, `${prefix}${names.size + 1}`);
      return names.get(id) ?? id;
    });
    return withNames;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => renamed(item, names));
  const entries = Object.entries(value).filter(([key]) => !dropped.has(key) && key !== 'by');
  return Object.fromEntries(entries.map(([key, item]) => [key, renamed(item, names)]));
}

function plainResult(result: RunResult): JsonValue {
  return renamed(toJsonValue(Object.fromEntries(Object.entries(result))), new Map());
}

function conversationOf(events: readonly RunEvent[]): JsonValue {
  const [first] = events;
  if (first === undefined) return null;
  const { transcript } = events.reduce(evolve, initialRunState(first.runId, first.sessionId));
  return toJsonValue(transcript.messages.map(({ seq: _seq, ...message }) => message));
}

const call = (id: string, name: string, input: JsonObject = {}) =>
  ({ kind: 'tool-call', id, name, arguments: [JSON.stringify(input)] }) as const;
const says = (...chunks: readonly string[]) => ({ kind: 'text', chunks }) as const;
const anything = { type: 'object', properties: {}, additionalProperties: true } as const;

const tool = (name: string, settings: Partial<Tool> & { readonly answer?: () => string } = {}): Tool => {
  const { answer = () => `did ${name}`, ...rest } = settings;
  const made = defineTool({ name, description: name, input: anything, run: answer });
  return { ...made, ...rest };
};

/** Waits until it is stopped. */
const endless = (): Tool =>
  tool('endless', {
    run: (_input, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ content: 'stopped', isError: true }))),
  });

/** Calls the tool that it is asked to, which waits for a person, and says what came of it. */
function helper(): SubAgentParts {
  const provider = createScriptedModel(({ prompt }) => {
    const asked = JSON.stringify(prompt).includes('gated') ? 'gated' : 'refused';
    return prompt.at(-1)?.role === 'tool' ? simpleText('I ', 'tried.') : { pieces: [call('c', asked)] };
  });
  const tools = [tool('gated', { permission: 'ask' }), tool('refused', { permission: 'ask' })];
  return { name: 'helper', description: 'Helps.', parts: { provider, tools } };
}

export const driverScripts: readonly DriverScript[] = [
  { name: 'an answer', replies: [simpleText('Hello there.')] },
  {
    name: 'thinking, then an answer in pieces',
    replies: [{ pieces: [{ kind: 'thinking', chunks: ['Hm', 'm.'] }, says('One ', 'two ', 'three.')] }],
  },
  {
    name: 'calls of one reply, at once',
    replies: [{ pieces: [says('Both.'), call('a', 'one', { x: 1 }), call('b', 'two')] }, simpleText('Done.')],
    tools: () => [tool('one', { concurrent: false }), tool('two')],
  },
  {
    name: 'calls that do not run, and one that throws',
    replies: [
      { pieces: [call('a', 'nothing_of_that_name'), call('b', 'picky', { count: 'many' }), call('c', 'fails')] },
      simpleText('Well.'),
    ],
    tools: () => [
      tool('picky', { inputSchema: { type: 'object', properties: { count: { type: 'number' } } }, concurrent: false }),
      tool('fails', {
        answer: () => {
          throw new Error('No luck.');
        },
      }),
    ],
  },
  {
    name: 'a result that is too long, and a page of it',
    replies: [
      { pieces: [call('a', 'long')] },
      { pieces: [call('b', 'read_tool_result', { id: 'a', offset: 9000, limit: 100 })] },
      simpleText('Read.'),
    ],
    tools: () => [tool('long', { answer: () => '0123456789'.repeat(2000) })],
  },
  {
    name: 'an answer that is cut and gone on with',
    replies: [
      { pieces: [says('part0 ')], finish: 'length' },
      { pieces: [says('part1 ')], finish: 'length' },
      simpleText('part2'),
    ],
  },
  {
    name: 'a call that is cut is answered and asked for again',
    replies: [
      { pieces: [{ kind: 'tool-call', id: 'a', name: 'one', arguments: ['{"x":'] }], finish: 'length' },
      { pieces: [call('b', 'one')] },
      simpleText('Now.'),
    ],
    tools: () => [tool('one')],
  },
  { name: 'a refusal', replies: [{ pieces: [says('I would rather ')], finish: 'content-filter' }] },
  { name: 'empty replies to the end of patience', replies: [simpleText(''), simpleText(''), simpleText('')] },
  {
    name: 'a model that fails, breaks off and then answers',
    replies: [
      { fault: { kind: 'status', status: 503 } },
      { pieces: [says('Half of ', 'an ans')], fault: { kind: 'cut', after: 2 } },
      simpleText('A whole answer.'),
    ],
  },
  { name: 'a model that fails for good', replies: [{ fault: { kind: 'status', status: 400 } }] },
  {
    name: 'the step limit and the last word',
    replies: [{ pieces: [call('a', 'one')] }, { pieces: [call('b', 'one')] }, simpleText('All I know.')],
    tools: () => [tool('one')],
    config: { limits: { maxSteps: 2 } },
  },
  {
    name: 'a cost that is reached',
    replies: [
      { pieces: [call('a', 'one')], usage: { inputTokens: 1000, outputTokens: 1000 } },
      simpleText('Too late.'),
    ],
    tools: () => [tool('one')],
    config: { limits: { maxCostDollars: 0.001 } },
  },
  {
    name: 'calls in circles',
    replies: [...Array.from({ length: 4 }, (_, n) => ({ pieces: [call(`c${n}`, 'one')] })), simpleText('Enough.')],
    tools: () => [tool('one')],
    config: { limits: { loopGuard: { breakAfterLaps: 4, threshold: 2 } } },
  },
  {
    name: 'a task list, and the reminder of what is open',
    replies: [
      { pieces: [call('a', 'write_todos', { todos: [{ content: 'x', status: 'in_progress' }] })] },
      simpleText('I am done.'),
      { pieces: [call('b', 'write_todos', { todos: [{ content: 'x', status: 'completed' }] })] },
      simpleText('Now I am.'),
    ],
    config: { planning: true },
  },
  {
    name: 'an approval that is given, and one that is not',
    replies: [{ pieces: [call('a', 'gated'), call('b', 'refused'), call('c', 'free')] }, simpleText('So be it.')],
    tools: () => [tool('gated', { permission: 'ask' }), tool('refused', { permission: 'ask' }), tool('free')],
    approve: { gated: true },
  },
  {
    name: 'a denied tool is answered',
    replies: [{ pieces: [call('a', 'never')] }, simpleText('Fine.')],
    tools: () => [tool('never', { permission: 'deny' })],
  },
  {
    name: 'a sub-agent that asks, and one that is refused',
    replies: [
      { pieces: [call('a', 'delegate_helper', { task: 'gated' }), call('b', 'delegate_helper', { task: 'refused' })] },
      simpleText('So be it.'),
    ],
    parts: { subagents: [helper()] },
    approve: { gated: true },
  },
  {
    name: 'a cancel while a tool works',
    replies: [{ pieces: [says('Wait.'), call('a', 'endless')] }],
    tools: () => [endless()],
    cancelAt: 'tool-dispatched',
  },
  {
    name: 'a cancel while a person is waited for',
    replies: [{ pieces: [call('a', 'gated')] }],
    tools: () => [tool('gated', { permission: 'ask' })],
    cancelAt: 'run-result',
  },
];
