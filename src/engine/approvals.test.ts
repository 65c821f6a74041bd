// Approvals and questions, from the engine's side: what it asks, when it parks, and how it goes on (E-600 to E-613).

import { describe, expect, test } from 'vitest';
import { type PendingTool } from '../core/run-event.ts';
import { allowAll } from '../core/run-config.ts';
import { approvalIds, runIds } from '../core/ids.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { simpleCall, simpleCalls, simpleText } from '../testing/model-servers/reply-script.ts';
import { silentLogger } from '../core/logger.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { People } from './prepare-batch.ts';
import type { Tool } from './tool.ts';

const done = simpleText('Done.');
const gated = (name = 'add', facts: Partial<Tool> = {}) => countingTool(name, { permission: 'ask', ...facts });
const outcomes = (rig: EngineRig) =>
  Object.fromEntries(rig.events('tool-call-complete').map(({ data }) => [data.id, data.outcome]));
const legs = (rig: EngineRig) => rig.events('run-started').map(({ data }) => data.cause);

async function park(options: Partial<EngineRigOptions> = {}) {
  const tool = gated();
  const rig = createEngineRig({ replies: [simpleCall('a', 'add', { n: 1 }), done], tools: [tool], ...options });
  expect(await rig.run()).toMatchObject({ status: 'awaiting-input' });
  return { rig, tool };
}

describe('a call that has to be asked for', () => {
  test('E-131, E-600: is asked for once, with all that a person needs, and the leg ends', async () => {
    const { rig } = await park();
    expect(rig.log.slice(-2).map(({ type }) => type)).toEqual(['approval-required', 'run-result']);
    const [asked] = rig.events('approval-required');
    expect(asked?.data).toMatchObject({
      kind: 'approval',
      status: 'pending',
      runId: 'resp_rig',
      executionKey: 'resp_rig:1:a',
      call: { id: 'a', name: 'add', input: { n: 1 } },
      argsDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      replay: 'manual',
      toolAttempt: 0,
      expiresAtMs: null,
    });
    expect(rig.state().result?.pending).toEqual([asked?.data]);
    expect(rig.clock.pending).toBe(0);
  });

  test('E-606: expires when the agent says so', async () => {
    const { rig } = await park({ config: { permissions: { ...allowAll, expiresAfterSeconds: 60 } } });
    const [asked] = rig.events('approval-required');
    expect((asked?.data.expiresAtMs ?? 0) - (asked?.at ?? 0)).toBe(60_000);
  });

  test('E-608, B081: approved, it runs once by that authority; the model is not asked again for its reply', async () => {
    const { rig, tool } = await park();
    rig.decide('a', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed', output: 'Done.', pending: [] });
    expect([tool.runs.length, rig.model.calls.length, legs(rig)]).toEqual([1, 2, ['submit', 'decision']]);
    const id = rig.events('approval-required')[0]?.data.approvalId;
    expect(rig.events('tool-dispatched')[0]?.data.authority).toBe(`approval:${id}`);
  });

  test('P-089: what was said by who approved it reaches the tool, and only that call of it', async () => {
    const heard: (string | undefined)[] = [];
    const tool = gated('add', {
      run: (_, { approvalNote }) => {
        heard.push(approvalNote);
        return Promise.resolve({ content: 'ok' });
      },
    });
    const replies = [simpleCalls(['a', 'add', {}], ['b', 'add', {}]), done];
    const { rig } = await park({ tools: [tool], replies });
    rig.decide('a', { decision: 'approve', note: 'Only once.' });
    rig.decide('b', { decision: 'approve' });
    await rig.resume();
    expect(heard).toEqual(['Only once.', undefined]);
  });

  test('E-604: denied, it is an error result with the note of who denied it, and the run goes on', async () => {
    const { rig, tool } = await park();
    rig.decide('a', { decision: 'deny', note: 'Use the other one.' });
    expect(await rig.resume()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(tool.runs).toHaveLength(0);
    expect(rig.answers()['a']).toContain('Use the other one.');
    expect(outcomes(rig)).toEqual({ a: 'denied' });
  });

  test('E-606: expired, nobody has refused it, and the model reads that', async () => {
    const { rig } = await park();
    rig.decide('a', { decision: 'expired', by: 'engine' });
    await rig.resume();
    expect(rig.answers()['a']).toContain('Nobody decided');
  });

  test.each([
    [
      'throws at once',
      () => {
        throw new Error('broken');
      },
      'error',
    ],
    ['times out', () => new Promise<never>(() => {}), 'timeout'],
  ] as const)(
    'B081: approved, and it %s: its call has its one answer and the session goes on',
    async (_, run, outcome) => {
      const { rig } = await park({ tools: [gated('add', { run, timeoutSeconds: 5 })] });
      rig.decide('a', { decision: 'approve' });
      expect(await rig.resume()).toMatchObject({ status: 'completed', output: 'Done.' });
      expect(outcomes(rig)).toEqual({ a: outcome });
    },
  );

  test('E-601, 13.2 row 7: a decision that woke nobody is acted on by the next owner, once', async () => {
    const { rig, tool } = await park();
    rig.decide('a', { decision: 'approve' });
    expect(await rig.recover()).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, legs(rig)]).toEqual([1, ['submit', 'decision']]);
  });

  test('13.2 row 6: a parked run is left alone by a new owner', async () => {
    const { rig } = await park();
    const { length } = rig.log;
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input' });
    expect(rig.log).toHaveLength(length);
  });
});

describe('several calls', () => {
  const three = simpleCalls(['1', 'add', {}], ['2', 'free', {}], ['3', 'add', { n: 3 }]);
  const parkThree = async () => {
    const tools = [gated(), countingTool('free')];
    return { ...(await park({ replies: [three, done], tools })), tools };
  };

  test('E-608: a decision stays while another is open; what is open is listed, and not announced again', async () => {
    const { rig, tools } = await parkThree();
    rig.decide('1', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'awaiting-input', pending: [{ call: { id: '3' } }] });
    expect(rig.events('approval-required')).toHaveLength(2);
    expect(tools.flatMap(({ runs }) => runs)).toEqual([]);
    rig.decide('3', { decision: 'deny' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(outcomes(rig)).toEqual({ 1: 'ok', 2: 'ok', 3: 'denied' });
  });

  test('E-128: no call of the batch is dispatched before the last decision', async () => {
    const { rig } = await parkThree();
    rig.decide('1', { decision: 'approve' });
    await rig.resume();
    rig.decide('3', { decision: 'approve' });
    await rig.resume();
    const last = rig.events('approval-decided').at(-1)?.seq ?? 0;
    expect(rig.events('tool-dispatched').every(({ seq }) => seq > last)).toBe(true);
  });

  test('B081, E-565: the next request has exactly one answer for each call', async () => {
    const { rig } = await parkThree();
    for (const id of ['1', '3']) rig.decide(id, { decision: 'deny' });
    await rig.resume();
    const message = rig.model.calls[1]?.prompt.at(-1);
    const ids = message?.role === 'tool' ? message.content.map((part) => 'toolCallId' in part && part.toolCallId) : [];
    expect(ids).toEqual(['1', '2', '3']);
  });
});

describe('E-603: an approval is for exact arguments', () => {
  test('a later preparation that gives others asks again, under another id', async () => {
    let n = 1;
    const beforeTool = (call: { name: string }) => ({ name: call.name, arguments: JSON.stringify({ n }) });
    const { rig, tool } = await park({ parts: { middleware: [{ beforeTool }] } });
    rig.decide('a', { decision: 'approve' });
    n = 2;
    expect(await rig.resume()).toMatchObject({ status: 'awaiting-input', pending: [{ call: { input: { n: 2 } } }] });
    expect(tool.runs).toEqual([]);
    const [first, second] = rig.events('approval-required');
    expect(first?.data.approvalId).not.toBe(second?.data.approvalId);
    rig.decide('a', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
  });

  test('the order of the keys makes no difference', async () => {
    let json = '{"a":1,"b":2}';
    const beforeTool = (call: { name: string }) => ({ name: call.name, arguments: json });
    const inputSchema = { type: 'object' };
    const { rig } = await park({ tools: [gated('add', { inputSchema })], parts: { middleware: [{ beforeTool }] } });
    rig.decide('a', { decision: 'approve' });
    json = '{"b":2,"a":1}';
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
  });
});

test('E-603, E-903: an approval of a tool that has changed since is none, and it is asked for again', async () => {
  let tool = gated('add', { identity: 'old' });
  const sources = [{ list: async () => ({ tools: [tool], degraded: [] }), async [Symbol.asyncDispose]() {} }];
  const { rig } = await park({ tools: [], parts: { sources } });
  rig.decide('a', { decision: 'approve' });
  tool = gated('add', { identity: 'new' });
  const pending = [{ kind: 'approval', toolIdentity: 'new' }];
  expect(await rig.resume()).toMatchObject({ status: 'awaiting-input', pending });
  rig.decide('a', { decision: 'approve' });
  expect(await rig.resume()).toMatchObject({ status: 'completed' });
  expect(tool.runs).toHaveLength(1);
});

test('E-522: a callback that fails is a no, and the log has its cause', async () => {
  const heard: string[] = [];
  const logger = {
    ...silentLogger,
    error: (said: string, _: unknown, cause: unknown) => void heard.push(`${said} ${String(cause)}`),
  };
  const people: People = { how: 'ask', decide: () => Promise.reject(new Error('boom')) };
  const rig = createEngineRig({
    replies: [simpleCall('a', 'add', {}), done],
    tools: [gated()],
    people,
    parts: { logger },
  });
  expect(await rig.run()).toMatchObject({ status: 'completed' });
  expect([outcomes(rig), heard]).toEqual([{ a: 'denied' }, ['A callback for approvals failed. Error: boom']]);
});

test('E-607: a cancel decides what is open as cancelled, then closes the calls', async () => {
  const { rig, tool } = await park();
  rig.stop.abort(new StopTurn('cancel'));
  expect(await rig.resume('resume')).toMatchObject({ status: 'cancelled' });
  const types = rig.log.map(({ type }) => type);
  expect(types.slice(types.indexOf('approval-decided'))).toEqual([
    'approval-decided',
    'tool-call-start',
    'tool-call-complete',
    'tool-result',
    'step-finished',
    'run-result',
  ]);
  expect(rig.events('approval-decided')).toMatchObject([{ data: { decision: 'cancelled', by: 'engine' } }]);
  expect([outcomes(rig), tool.runs.length]).toEqual([{ a: 'cancelled' }, 0]);
});

describe('E-611: questions', () => {
  const questions = [{ id: 'q', question: 'Which one?', options: ['a', 'b'] }];
  const ask = simpleCall('a', 'ask_user_questions', { questions });
  const config = { permissions: { ...allowAll, questions: true } };

  test('are never dispatched but park, and the answers are the result', async () => {
    const { rig } = await park({ replies: [ask, done], config });
    expect(rig.events('approval-required')).toMatchObject([{ data: { kind: 'question', questions } }]);
    rig.decide('a', { decision: 'answer', output: { content: '[q] Which one?\n- a', isError: false } });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(rig.answers()['a']).toBe('[q] Which one?\n- a');
    expect(outcomes(rig)).toEqual({ a: 'answered' });
    expect(rig.events('tool-dispatched')).toEqual([]);
  });

  test('E-606: that expired count as declined', async () => {
    const { rig } = await park({ replies: [ask, done], config });
    rig.decide('a', { decision: 'expired', by: 'engine' });
    await rig.resume();
    expect([rig.answers()['a'], outcomes(rig)]).toEqual(['The user did not answer.', { a: 'answered' }]);
  });

  test('that are none are refused; where nobody can answer, the model reads that', async () => {
    const same = [
      { id: 'q', question: 'x' },
      { id: 'q', question: 'y' },
    ];
    const wrong = createEngineRig({
      replies: [simpleCall('a', 'ask_user_questions', { questions: same }), done],
      config,
    });
    expect(await wrong.run()).toMatchObject({ status: 'completed' });
    expect(outcomes(wrong)).toEqual({ a: 'invalid' });
    const alone = createEngineRig({ replies: [ask, done], config, people: { how: 'deny' } });
    expect(await alone.run()).toMatchObject({ status: 'completed' });
    expect(alone.answers()['a']).toContain('Nobody can answer');
  });

  test('are offered only where the agent may ask', async () => {
    const rig = createEngineRig({ replies: [ask, done], tools: [countingTool('add')] });
    await rig.run();
    expect(rig.answers()['a']).toContain('no tool named');
  });

  test('B088: what ran before a question is not run again, and each question is put once', async () => {
    const effect = countingTool('effect');
    const replies = [
      simpleCall('e', 'effect', {}),
      simpleCall('a', 'ask_user_questions', { questions }),
      simpleCall('b', 'ask_user_questions', { questions }),
      done,
    ];
    const { rig } = await park({ replies, config, tools: [effect] });
    for (const id of ['a', 'b']) {
      rig.decide(id, { decision: 'answer', output: { content: 'a', isError: false } });
      await rig.resume();
    }
    expect(rig.state().result).toMatchObject({ status: 'completed' });
    expect([effect.runs.length, rig.events('approval-required').length]).toEqual([1, 2]);
  });
});

describe('E-612: what a sub-agent asks', () => {
  const asked: PendingTool = {
    approvalId: approvalIds.make('child'),
    kind: 'approval',
    executionKey: 'resp_child:1:x',
    runId: runIds.make('child'),
    step: 1,
    agentPath: ['scout'],
    call: { id: 'x', name: 'bash', input: {} },
    argsDigest: 'd',
    replay: 'manual',
    toolAttempt: 0,
    status: 'pending',
    requestedAtMs: 0,
    expiresAtMs: null,
  };
  /** A child that waits for its approval, then ends. */
  const delegate = (decided: () => boolean) =>
    countingTool('delegate', {
      replay: 'idempotent',
      childRunId: () => asked.runId,
      run: async () => (decided() ? { content: 'The child is done.' } : { content: '', waitsFor: [asked] }),
    });

  test('parks the parent with its path; decided, the call goes on under the same key, as the child does', async () => {
    const tool = delegate(() => rig.events('approval-decided').length > 0);
    const rig: EngineRig = createEngineRig({ replies: [simpleCall('a', 'delegate', {}), done], tools: [tool] });
    expect(await rig.run()).toMatchObject({
      status: 'awaiting-input',
      pending: [{ agentPath: ['scout'], call: { id: 'x' } }],
    });
    rig.decide('x', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(rig.answers()).toEqual({ a: 'The child is done.' });
    const dispatched = rig
      .events('tool-dispatched')
      .map(({ data }) => [data.executionKey, data.childRunId, data.toolAttempt]);
    expect(dispatched).toEqual([
      ['resp_rig:1:a', 'resp_child', 1],
      ['resp_rig:1:a', 'resp_child', 2],
    ]);
  });

  test('is cancelled with the parent', async () => {
    const rig = createEngineRig({ replies: [simpleCall('a', 'delegate', {})], tools: [delegate(() => false)] });
    await rig.run();
    rig.stop.abort(new StopTurn('cancel'));
    expect(await rig.resume('resume')).toMatchObject({ status: 'cancelled' });
    expect(rig.events('approval-decided')).toMatchObject([
      { data: { approvalId: asked.approvalId, decision: 'cancelled' } },
    ]);
  });

  test('13.2 row 17: a parent that was lost while its child worked attaches to it by its key', async () => {
    const tool = delegate(() => true);
    const rig = createEngineRig({ replies: [simpleCall('a', 'delegate', {}), done], tools: [tool] });
    await rig.run({ leaveAt: 'tool-dispatched' });
    expect(await rig.recover()).toMatchObject({ status: 'completed' });
    expect(new Set(rig.events('tool-dispatched').map(({ data }) => data.childRunId)).size).toBe(1);
  });
});
