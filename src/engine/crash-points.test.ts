// Every point at which a crash can cut a run (the table of chapter 13.2 of the engine's rules), in process: the log is cut
// after each group that was stored, and after each fact from outside; a new owner goes on. With real processes and kill -9:
// the tests of the server and of the durable runtime.

import { describe, expect, test } from 'vitest';
import { type RunEvent, type Todo } from '../core/run-event.ts';
import { allowAll } from '../core/run-config.ts';
import { readContext } from './context-view.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { isOpen } from '../core/run-state.ts';
import {
  simpleCall,
  simpleCalls,
  simpleText,
  type ReplyPiece,
  type ScriptedReply,
} from '../testing/model-servers/reply-script.ts';
import { withoutPlace } from '../core/transcript.ts';
import type { ApprovalDecided } from '../core/run-event.ts';
import type { JsonObject } from '../core/json.ts';
import type { ModelRequest } from './model.ts';
import type { Tool } from './tool.ts';

interface Scenario extends Omit<EngineRigOptions, 'replies'> {
  /** Of each turn, in order. */
  readonly turns: readonly ScriptedReply[];
  /** The first attempt at the first turn. */
  readonly before?: ScriptedReply;
  /** What a person says of a call. */
  readonly said?: Readonly<Record<string, Pick<ApprovalDecided, 'decision'> & Partial<ApprovalDecided>>>;
  /** Happens once, as soon as a tool was dispatched. */
  readonly meanwhile?: 'steer' | 'pause';
}

const done = simpleText('All ', 'done.');
const words = (text: string, ...pieces: readonly ReplyPiece[]): ScriptedReply => ({
  pieces: [{ kind: 'text', chunks: [text] }, ...pieces],
});
const add = (id: string, n: number): ReplyPiece => ({ kind: 'tool-call', id, name: 'add', arguments: [`{"n":${n}}`] });
const tool = (name: string, replay: Tool['replay'] & string, facts: Partial<Tool> = {}): Tool => ({
  ...countingTool(name),
  replay,
  ...facts,
});
const parking = { permissions: { ...allowAll, onUnknown: 'park', questions: true } } as const;
const asJson = (value: unknown): JsonObject => value as JsonObject;
const todos = (status: Todo['status']) => asJson({ todos: [{ content: 'One', status }] });
const batch = simpleCalls(['1', 'safe', {}], ['2', 'manual', {}], ['3', 'idempotent', {}], ['4', 'nothing', {}]);
const mixed = (['safe', 'manual', 'idempotent'] as const).map((replay) => tool(replay, replay));
const isSummary = ({ prompt }: ModelRequest) => JSON.stringify(prompt[1] ?? '').includes('<conversation>');

const scenarios: Record<string, Scenario> = {
  'a manual call': { turns: [words('Let me see.', add('a', 1)), done], tools: [tool('add', 'manual')] },
  'a safe call': { turns: [words('Let me see.', add('a', 1)), done], tools: [tool('add', 'safe')] },
  'an idempotent call': { turns: [words('Let me see.', add('a', 1)), done], tools: [tool('add', 'idempotent')] },
  'a parallel batch': { turns: [batch, done], tools: mixed },
  'a batch in order': { turns: [batch, done], tools: mixed.map((each) => ({ ...each, concurrent: false })) },
  'result middleware': {
    turns: [batch, done],
    tools: mixed,
    parts: { middleware: [{ afterTool: ({ content, isError }) => ({ content: content.toUpperCase(), isError }) }] },
  },
  'an unknown outcome that waits for a person': {
    turns: [batch, done],
    tools: mixed,
    config: parking,
    said: { 2: { decision: 'result', output: { content: 'manual ran', isError: false } } },
  },
  approvals: {
    turns: [batch, done],
    tools: mixed.map((each) => ({ ...each, permission: each.name === 'safe' ? 'allow' : 'ask' })),
    said: { 2: { decision: 'approve' }, 3: { decision: 'deny', note: 'No.' } },
  },
  'a question, then an approval': {
    turns: [
      simpleCall('q', 'ask_user_questions', { questions: [{ id: 'x', question: 'Which?' }] }),
      words('', add('a', 1)),
      done,
    ],
    tools: [tool('add', 'manual', { permission: 'ask' })],
    config: parking,
    said: {
      q: { decision: 'answer', output: { content: 'This one.', isError: false } },
      a: { decision: 'approve' },
    },
  },
  'a cut answer and a pause': {
    turns: [{ ...words('One '), finish: 'length' }, { ...words('two '), rawFinish: 'pause_turn' }, words('three')],
  },
  'an empty reply': { turns: [{ pieces: [] }, done] },
  'a task list and its reminder': {
    turns: [
      simpleCall('a', 'write_todos', todos('pending')),
      words('First.'),
      simpleCall('b', 'write_todos', todos('completed')),
      words('Second.'),
    ],
    config: { planning: true },
  },
  'a broken attempt': {
    before: { ...simpleText('x', 'y', 'z'), fault: { kind: 'cut', after: 2 } },
    turns: [words('', add('a', 1)), done],
    tools: [tool('add', 'safe')],
  },
  'a refused attempt': {
    before: { fault: { kind: 'status', status: 429, headers: { 'retry-after': '20' } } },
    turns: [done],
  },
  'a step limit': {
    turns: [words('', add('a', 1)), words('Enough.', add('b', 2))],
    tools: [tool('add', 'safe')],
    limits: { maxSteps: 1 },
  },
  'a round limit': {
    turns: [words('', add('a', 1)), words('Enough.', add('b', 2))],
    tools: [tool('add', 'safe')],
    limits: { maxToolRounds: 1 },
  },
  'a message while a tool runs': {
    turns: [words('', add('a', 1)), done],
    tools: [tool('add', 'safe')],
    meanwhile: 'steer',
  },
  'a pause in a batch': {
    turns: [batch, done],
    tools: mixed.map((each) => ({ ...each, concurrent: false })),
    meanwhile: 'pause',
  },
  'a compaction (row 14)': {
    turns: [words('', add('a', 1)), done],
    tools: [tool('add', 'safe')],
    limits: { maxContextTokens: 1500 },
    history: [1, 2, 3, 4].flatMap((n) => [
      { role: 'user', content: [{ type: 'text', text: `${n} `.repeat(1500) }] } as const,
      { role: 'assistant', parts: [{ kind: 'text', text: 'Yes.' }] } as const,
    ]),
  },
};

/** A run of the scenario, its tools counted, and how the world outside behaves. */
function stage(scenario: Scenario) {
  const { turns, before, said = {}, meanwhile } = scenario;
  const runs: string[] = [];
  const tools = (scenario.tools ?? []).map((each): Tool => ({
    ...each,
    run: async (input, context) => (runs.push(context.executionKey), each.run(input, context)),
  }));
  const rig: EngineRig = createEngineRig({
    ...scenario,
    tools,
    replies: (request) => {
      if (isSummary(request)) return simpleText('In short.');
      const failed = rig.events('attempt-reset').some(({ data }) => data.reason !== 'crash');
      if (before !== undefined && !failed) return before;
      return turns[rig.events('turn-complete').length] ?? simpleText('One too many.');
    },
  });
  const onEvent = () => {
    if (meanwhile === undefined || rig.events('tool-dispatched').length === 0 || rig.state().result !== null) return;
    if (meanwhile === 'steer') rig.say('Hurry.', 'm1');
    else if (rig.state().leg === 1) rig.pause.abort();
  };
  /** People decide, and a paused run is resumed, until it is over. */
  async function finish() {
    for (let round = 0; round < 6; round++) {
      const { result, pending } = rig.state();
      if (result?.status !== 'awaiting-input' && result?.status !== 'paused') return result;
      for (const { call } of pending.filter(isOpen)) rig.decide(call.id, said[call.id] ?? { decision: 'abort' });
      await rig.resume(result.status === 'paused' ? 'resume' : 'decision', { onEvent });
    }
    throw new Error('The run does not end.');
  }
  return { rig, runs, onEvent, finish };
}

/** What is left for the next run of the session; answers to calls that nobody can know of are left out. */
function conversation(rig: EngineRig, unknown: ReadonlySet<string>, history: EngineRigOptions['history'] = []) {
  return readContext(rig.state(), history).messages.map((message) => {
    if (message.role !== 'tool') return withoutPlace(message);
    return {
      role: message.role,
      answers: message.answers.map((answer) => (unknown.has(answer.toolCallId) ? answer.toolCallId : answer)),
    };
  });
}

const keysOf = (events: readonly RunEvent[], type: 'tool-dispatched' | 'tool-call-complete') =>
  new Set(events.flatMap((event) => (event.type === type ? [event.data.executionKey] : [])));

describe('13.2: a crash behind every commit', () => {
  for (const [name, scenario] of Object.entries(scenarios))
    test(`${name}: the run ends as it would have, nothing is asked twice, no manual tool is run twice`, async () => {
      const whole = stage(scenario);
      await whole.rig.run({ onEvent: whole.onEvent });
      const expected = await whole.finish();
      expect(expected).toMatchObject({ status: 'completed' });
      const facts = [
        ...whole.rig.events('approval-decided'),
        ...whole.rig.events('user-message').filter(({ data }) => data.mode === 'steer'),
      ];
      for (const keep of new Set([...whole.rig.commits, ...facts.map(({ seq }) => seq)])) {
        const cut = whole.rig.log.slice(0, keep);
        const next = stage(scenario);
        await next.rig.recover(cut, { onEvent: next.onEvent });
        const result = await next.finish();
        const where = `after ${keep}: ${cut.at(-1)?.type}`;

        const [dispatched, returned] = [keysOf(cut, 'tool-dispatched'), keysOf(cut, 'tool-call-complete')];
        const inFlight = [...dispatched].filter((key) => !returned.has(key));
        const manual = new Set(
          (scenario.tools ?? []).filter(({ replay }) => replay === 'manual').map((each) => each.name),
        );
        const lost = new Set<string>();
        for (const event of next.rig.events('tool-call-complete'))
          if (event.data.outcome === 'unknown' && inFlight.includes(event.data.executionKey)) lost.add(event.data.id);
        expect(result, where).toMatchObject({
          status: 'completed',
          stopReason: expected?.stopReason,
          output: expected?.output,
          todos: expected?.todos,
        });
        expect(conversation(next.rig, lost, scenario.history), where).toEqual(
          conversation(whole.rig, lost, scenario.history),
        );

        for (const event of next.rig.events('tool-call-complete')) {
          const { executionKey: key, name: called } = event.data;
          const again = next.runs.filter((each) => each === key).length;
          if (returned.has(key)) expect(again, where).toBe(0);
          else expect(again, where).toBeLessThanOrEqual(dispatched.has(key) && manual.has(called) ? 0 : 1);
        }
        const asked = (rig: EngineRig) => rig.events('approval-required').map(({ data }) => data.approvalId);
        expect(asked(next.rig), where).toEqual(asked(whole.rig));
        const turns =
          next.rig.events('turn-complete').length - cut.filter(({ type }) => type === 'turn-complete').length;
        const calls = next.rig.model.calls.filter((request) => !isSummary(request)).length;
        expect(calls - turns, where).toBe(scenario.before === undefined || calls === turns ? 0 : 1);
      }
    });
});

describe('13.2: what a new owner writes', () => {
  const crash = async (
    leaveAt: RunEvent['type'],
    replies: readonly ScriptedReply[] = [words('Let me see.', add('a', 1)), done],
  ) => {
    const rig = createEngineRig({ replies, tools: [tool('add', 'safe')] });
    await rig.run({ leaveAt });
    const { length } = rig.log;
    await rig.recover();
    return { rig, types: rig.log.slice(length).map(({ type }) => type) };
  };

  test('row 2: a step that had begun is given up as a crash, with nothing shown, its usage unknown', async () => {
    const { rig, types } = await crash('step-started');
    expect(types.slice(0, 2)).toEqual(['run-started', 'attempt-reset']);
    expect(rig.events('attempt-reset')).toMatchObject([{ data: { reason: 'crash', shown: false, retryInMs: 0 } }]);
    expect(rig.events('run-started')[1]?.data).toMatchObject({ leg: 2, cause: 'recovery' });
    expect(rig.state().result).toMatchObject({ usageIncomplete: true });
  });

  test('rows 3 and 4, E-810: a reply that was shown and not accepted is given up as shown, then told anew', async () => {
    const { rig, types } = await crash('text-delta');
    expect(types.slice(0, 3)).toEqual(
      ['run-started', 'attempt-reset', 'tool-call-delta'].map((type, index) => (index === 2 ? types[2] : type)),
    );
    expect(rig.events('attempt-reset')).toMatchObject([{ data: { reason: 'crash', shown: true } }]);
  });

  test('row 5: an accepted reply is not asked for again; its tools are prepared', async () => {
    const { rig, types } = await crash('turn-complete');
    expect(types.slice(0, 3)).toEqual(['run-started', 'tool-call-start', 'tool-dispatched']);
    expect(rig.model.calls).toHaveLength(2);
  });

  test('row 12: between two steps the next one is begun', async () => {
    expect((await crash('step-finished')).types.slice(0, 2)).toEqual(['run-started', 'step-started']);
  });

  test('row 16: a run that has its result is left alone', async () => {
    const { types } = await crash('run-result');
    expect(types).toEqual([]);
  });

  test('E-121: a leg that a crash has cut is followed by a recovery, and the run has one final result', async () => {
    const { rig } = await crash('tool-dispatched');
    expect(rig.events('run-started').map(({ data }) => data.cause)).toEqual(['submit', 'recovery']);
    expect(rig.events('run-result')).toHaveLength(1);
  });
});
