// What ends or shortens a run whose limit is reached (the table of chapter 7 of the engine's rules).

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { RunResult } from '../core/run-result.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { sleep } from '../core/clock.ts';
import type { Limits } from '../core/run-config.ts';

const calling = (index = 0): ScriptedReply => simpleCall('a', 'add', { n: index });
const using = (reply: ScriptedReply, outputTokens: number): ScriptedReply => ({
  ...reply,
  usage: { inputTokens: 0, outputTokens },
});
const reached = (rig: EngineRig) => rig.events('budget-reached').map(({ data }) => data);

/** A model that calls a tool for ever, each time with other arguments. */
function endless(limits: Partial<Limits>, outputTokens = 0) {
  const tool = countingTool('add');
  const rig = createEngineRig({ replies: (_, index) => using(calling(index), outputTokens), tools: [tool], limits });
  return { rig, tool };
}

describe('steps', () => {
  test('E-423: maxSteps 2 makes three model calls; the calls of the second reply run, the third has no tools', async () => {
    const { rig, tool } = endless({ maxSteps: 2 });
    const result = new RunResult((await rig.run()) ?? expect.unreachable());
    expect(result).toMatchObject({ status: 'completed', stopReason: 'max-steps', steps: 3, limited: true });
    expect(rig.model.calls.map(({ tools }) => tools?.length ?? 0)).toEqual([2, 2, 0]);
    expect(tool.runs).toHaveLength(2);
    expect(reached(rig)).toEqual([{ budget: 'steps', limit: 2, used: 2, then: 'final-answer' }]);
    expect(rig.events('user-message').map(({ data }) => data.purpose)).toEqual(['final-answer']);
  });

  test('E-425, E-565: calls in the final answer are answered, not run, and its text is the output', async () => {
    const last: ScriptedReply = {
      pieces: [{ kind: 'text', chunks: ['That is all.'] }, ...(calling().pieces ?? [])],
    };
    const tool = countingTool('add');
    const rig = createEngineRig({ replies: [calling(), last], tools: [tool], limits: { maxSteps: 1 } });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-steps', output: 'That is all.' });
    expect(tool.runs).toHaveLength(1);
    expect(rig.events('tool-call-complete').map(({ data }) => data.outcome)).toEqual(['ok', 'not-run']);
  });

  test('with finalAnswerOnLimit off the run fails with a MaxStepsError', async () => {
    const { rig } = endless({ maxSteps: 2, finalAnswerOnLimit: false });
    expect(await rig.run()).toMatchObject({ status: 'failed', error: { type: 'MaxStepsError' } });
    expect(rig.model.calls).toHaveLength(2);
    expect(rig.log.slice(-3).map(({ type }) => type)).toEqual(['budget-reached', 'error', 'run-result']);
    expect(reached(rig)).toMatchObject([{ budget: 'steps', then: 'fail' }]);
  });

  test('E-420: continuations, also those after a pause, do not count', async () => {
    const replies: ScriptedReply[] = [
      { ...simpleText('a'), finish: 'length' },
      { ...simpleText('b'), rawFinish: 'pause_turn' },
      simpleText('c'),
    ];
    const rig = createEngineRig({ replies, limits: { maxSteps: 1 } });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'abc', steps: 3 });
  });

  test('0 is no limit', async () => {
    const replies = (_: unknown, index: number) => (index < 70 ? calling(index) : simpleText('ok'));
    const rig = createEngineRig({ replies, tools: [countingTool('add')], limits: { maxSteps: 0 } });
    expect(await rig.run()).toMatchObject({ stopReason: 'end-turn', steps: 71 });
  });
});

describe('tool rounds (UD-02)', () => {
  test('with N rounds, N replies have their calls run; the calls of the next one are answered, not run', async () => {
    const { rig, tool } = endless({ maxToolRounds: 2 });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-steps', steps: 3 });
    expect(tool.runs).toHaveLength(2);
    expect(reached(rig)).toEqual([{ budget: 'tool-rounds', limit: 2, used: 2, then: 'stop' }]);
  });

  test('a run that needs exactly N rounds and then answers is not limited', async () => {
    const rig = createEngineRig({
      replies: [calling(), simpleText('ok')],
      tools: [countingTool('add')],
      limits: { maxToolRounds: 1 },
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'ok' });
    expect(reached(rig)).toEqual([]);
  });

  test('calls that are refused use no round', async () => {
    const rig = createEngineRig({
      replies: [simpleCall('x', 'nothing', {}), calling(), simpleText('ok')],
      tools: [countingTool('add')],
      limits: { maxToolRounds: 1 },
    });
    expect(await rig.run()).toMatchObject({ stopReason: 'end-turn', output: 'ok' });
  });
});

describe('output tokens (UD-03)', () => {
  test('each call gets what is left, and nothing is called with nothing left', async () => {
    const { rig } = endless({ maxOutputTokens: 50 }, 30);
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-tokens' });
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([50, 20]);
    expect(reached(rig)).toEqual([{ budget: 'output-tokens', limit: 50, used: 60, then: 'stop' }]);
  });

  test('a reply that is cut there is not gone on with', async () => {
    const rig = createEngineRig({
      replies: () => ({ ...using(simpleText('x'), 50), finish: 'length' }),
      limits: { maxOutputTokens: 50 },
    });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-tokens', output: 'x' });
    expect(rig.model.calls).toHaveLength(1);
    expect(reached(rig)).toMatchObject([{ budget: 'output-tokens' }]);
  });

  test('what a given-up attempt is known to have used is used', async () => {
    const pieces = [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n":1}{"n":2}'] }] as const;
    const rig = createEngineRig({
      replies: [using({ pieces }, 30), using(simpleText('ok'), 10)],
      tools: [countingTool('add')],
      limits: { maxOutputTokens: 50 },
    });
    await rig.run();
    expect(rig.events('attempt-reset')).toMatchObject([{ data: { reason: 'malformed-reply' } }]);
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([50, 20]);
  });
});

describe('cost and tokens', () => {
  test('E-421: the reply that crosses the limit is kept; the stop comes before the next call, and `used` shows by how much', async () => {
    const tool = countingTool('add');
    const rig = createEngineRig({
      replies: [using(calling(), 100_000), simpleText('never')],
      tools: [tool],
      limits: { maxCostDollars: 1, inputCostPerM: 3, outputCostPerM: 15 },
    });
    const result = new RunResult((await rig.run()) ?? expect.unreachable());
    expect(result).toMatchObject({ status: 'completed', stopReason: 'max-cost', limited: true, error: null });
    expect(result.cost).toEqual({ dollars: 1.5, estimated: false });
    expect(reached(rig)).toEqual([{ budget: 'cost', limit: 1, used: 1.5, then: 'stop' }]);
    expect([tool.runs.length, rig.model.calls.length]).toEqual([1, 1]);
  });

  test('E-064: an unknown price counts as 3 and 15 dollars a million tokens, and the cost as estimated', async () => {
    const { rig } = endless({ maxCostDollars: 0.1 }, 10_000);
    expect(await rig.run()).toMatchObject({ stopReason: 'max-cost', cost: { dollars: 0.15, estimated: true } });
  });

  test('tokens are counted in and out, and those of what tools have started', async () => {
    const usage = {
      inputTokens: 40,
      outputTokens: 0,
      cacheReadInputTokens: null,
      cacheCreationInputTokens: null,
      thinkingTokens: null,
    };
    const rig = createEngineRig({
      replies: [{ ...calling(), usage: { inputTokens: 30, outputTokens: 30 } }, simpleText('never')],
      tools: [countingTool('add', { run: async () => ({ content: 'ok', usage }) })],
      limits: { maxTotalTokens: 100 },
    });
    expect(await rig.run()).toMatchObject({
      stopReason: 'max-total-tokens',
      usage: { inputTokens: 70, outputTokens: 30 },
    });
    expect(reached(rig)).toEqual([{ budget: 'tokens', limit: 100, used: 100, then: 'stop' }]);
  });

  test('E-421: what nobody counts is not counted: a run without usage figures is not stopped', async () => {
    const rig = createEngineRig({
      replies: [calling(), simpleText('ok')],
      tools: [countingTool('add')],
      limits: { maxTotalTokens: 1 },
    });
    expect(await rig.run()).toMatchObject({ stopReason: 'end-turn' });
  });
});

describe('time', () => {
  const slow = (ms: number): ScriptedReply => ({
    pieces: [
      { kind: 'text', chunks: ['so far'] },
      { kind: 'pause', ms },
      { kind: 'text', chunks: ['never'] },
    ],
  });

  test('UD-01: a model call that is under way is ended; completed, limited, its text kept', async () => {
    const rig = createEngineRig({ replies: [slow(90_000)], limits: { maxSeconds: 60 } });
    expect(await rig.run()).toMatchObject({
      status: 'completed',
      stopReason: 'max-time',
      partialOutput: 'so far',
      error: null,
    });
    expect(reached(rig)).toEqual([{ budget: 'time', limit: 60, used: 60, then: 'stop' }]);
  });

  test('E-818: a tool that is under way is stopped; a manual one has an unknown outcome, for the record', async () => {
    const patient = countingTool('add', {
      run: (_, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ content: 'stopped' }))),
    });
    const rig = createEngineRig({ replies: [calling()], tools: [patient], limits: { maxSeconds: 60 } });
    expect(await rig.run()).toMatchObject({
      stopReason: 'max-time',
      pending: [{ status: 'uncertain', call: { id: 'a' } }],
    });
    expect(rig.events('tool-call-complete')).toMatchObject([{ data: { outcome: 'unknown' } }]);
  });

  test('time in which the run waits for a person does not count', async () => {
    const rig = createEngineRig({
      replies: [calling(), slow(50_000)],
      tools: [countingTool('add', { permission: 'ask' })],
      limits: { maxSeconds: 60 },
    });
    expect(await rig.run()).toMatchObject({ status: 'awaiting-input' });
    await rig.clock.advance(3_600_000);
    rig.decide('a', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed', stopReason: 'end-turn' });
  });

  test('E-210: a retry whose wait would pass the end of it is not waited for', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '50' } } };
    const rig = createEngineRig({ replies: [busy], limits: { maxSeconds: 30 } });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-time' });
    expect(rig.clock.now() - (rig.log[0]?.at ?? 0)).toBeLessThan(5_000);
  });
});

describe('loops (E-563)', () => {
  const circling = { replies: () => simpleCall('a', 'add', {}), tools: [countingTool('add')] };

  test('after ten laps the model has a last word without tools', async () => {
    const rig = createEngineRig({
      ...circling,
      replies: (_, index) => (index < 10 ? simpleCall('a', 'add', {}) : simpleText('I give up.')),
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'loop', output: 'I give up.' });
    expect(reached(rig)).toEqual([{ budget: 'loop', limit: 10, used: 10, then: 'final-answer' }]);
    expect(rig.model.calls.at(-1)?.tools).toBeUndefined();
  });

  test('E-560: calls that are refused again and again are laps as well', async () => {
    const rig = createEngineRig({ ...circling, replies: () => simpleCall('a', 'add', { wrong: 1 }) });
    expect(await rig.run()).toMatchObject({ stopReason: 'loop', steps: 11 });
  });

  test('null never breaks', async () => {
    const loopGuard = { maxPeriod: 4, threshold: 3, history: 64, breakAfterLaps: null };
    const rig = createEngineRig({ ...circling, limits: { loopGuard, maxSteps: 20 } });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-steps', steps: 21 });
  });
});

describe('several at once (E-422): one is told, the first of time, cost, tokens, output tokens, loop, rounds, steps', () => {
  const all: Partial<Limits> = {
    maxCostDollars: 0.000_001,
    maxTotalTokens: 1,
    maxOutputTokens: 1,
    maxToolRounds: 0,
    maxSteps: 1,
  };
  test.each([
    ['cost', 'max-cost', {}],
    ['tokens', 'max-total-tokens', { maxCostDollars: null }],
    ['output-tokens', 'max-tokens', { maxCostDollars: null, maxTotalTokens: null }],
    ['tool-rounds', 'max-steps', { maxCostDollars: null, maxTotalTokens: null, maxOutputTokens: null }],
  ] as const)('%s', async (budget, stopReason, without) => {
    const { rig, tool } = endless({ ...all, ...without }, 30);
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason });
    expect(reached(rig)).toMatchObject([{ budget }]);
    expect(tool.runs).toEqual([]);
  });

  test('time before all of them', async () => {
    const slow = countingTool('add', {
      run: async (_, { signal }) => (await sleep(rig.clock, 20_000, signal), { content: '' }),
    });
    const rig: EngineRig = createEngineRig({
      replies: () => using(calling(), 30),
      tools: [slow],
      limits: { ...all, maxToolRounds: null, maxSeconds: 10 },
    });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-time' });
    expect(reached(rig)).toMatchObject([{ budget: 'time' }]);
  });

  test('loop before steps', async () => {
    const rig = createEngineRig({
      replies: () => simpleCall('a', 'add', {}),
      tools: [countingTool('add')],
      limits: { maxSteps: 10 },
    });
    expect(await rig.run()).toMatchObject({ stopReason: 'loop' });
    expect(reached(rig)).toMatchObject([{ budget: 'loop' }]);
  });
});
