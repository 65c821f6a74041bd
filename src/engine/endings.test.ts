// How a run ends after what the model said: whole, cut, refused, paused, empty, with an open task list.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import type { RunEvent } from '../core/run-event.ts';
import { RunResult } from '../core/run-result.ts';
import { simpleCall, simpleText, type ReplyPiece, type ScriptedReply } from '../testing/model-servers/reply-script.ts';

const cut = (...chunks: string[]): ScriptedReply => ({ ...simpleText(...chunks), finish: 'length' });
const paused = (...chunks: string[]): ScriptedReply => ({ ...simpleText(...chunks), rawFinish: 'pause_turn' });
const empty: ScriptedReply = { pieces: [] };
const lostAfter = (reply: ScriptedReply, after: number): ScriptedReply => ({ ...reply, fault: { kind: 'cut', after } });
const types = (rig: EngineRig) => rig.log.map(({ type }) => type);
const words = (rig: EngineRig) => rig.events('user-message').map(({ data }) => data.purpose);
/** The last message of the newest request, as text. */
const lastWord = (rig: EngineRig) => JSON.stringify(rig.model.calls.at(-1)?.prompt.at(-1));

test('E-110, E-124: one turn is deltas, completes, turn, step end, result', async () => {
  const rig = createEngineRig({ replies: [simpleText('Hel', 'lo')] });
  expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'Hello', steps: 1 });
  expect(types(rig).join(' ')).toBe(
    'run-started step-started text-delta text-delta text-complete turn-complete step-finished run-result',
  );
});

test('E-102, E-103: what a model said carries step, attempt and block; the rest the step and attempt 0', async () => {
  const pieces: ReplyPiece[] = [
    { kind: 'thinking', chunks: ['Hm.'] },
    { kind: 'text', chunks: ['A'] },
    { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
  ];
  const rig = createEngineRig({ replies: [{ pieces }, simpleText('B')], tools: [countingTool('add')] });
  await rig.run();
  const place = (type: string) =>
    rig.log.filter((event) => event.type === type).map(({ step, attempt, block }) => [step, attempt, block]);
  expect(place('thinking-delta')).toEqual([[1, 1, 0]]);
  expect(place('text-delta')).toEqual([
    [1, 1, 1],
    [2, 1, 0],
  ]);
  expect(place('tool-call-delta')).toEqual([
    [1, 1, 2],
    [1, 1, 2],
  ]);
  for (const type of ['turn-complete', 'tool-call-start', 'tool-call-complete', 'tool-result'])
    expect(place(type)[0]).toEqual([1, 1, undefined]);
  for (const type of ['step-started', 'step-finished'])
    expect(place(type)).toEqual([
      [1, 0, undefined],
      [2, 0, undefined],
    ]);
});

test('E-111, E-112: a call gives its name first, with no arguments, then all of them', async () => {
  const rig = createEngineRig({
    replies: [simpleCall('a', 'add', { n: 1 }), simpleText('x')],
    tools: [countingTool('add')],
  });
  await rig.run();
  expect(rig.events('tool-call-delta').map(({ data }) => data.partialJson)).toEqual(['', '{"n":1}']);
});

test('E-110: an accepted reply has its turn-complete also in a run that fails later', async () => {
  const refused: ScriptedReply = { fault: { kind: 'status', status: 400 } };
  const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), refused], tools: [countingTool('add')] });
  expect(await rig.run()).toMatchObject({ status: 'failed' });
  expect(rig.events('turn-complete')).toHaveLength(1);
  expect(types(rig).slice(-3)).toEqual(['step-finished', 'error', 'run-result']);
});

describe('truncation', () => {
  test('E-400, E-401, E-402, E-409: with a limit of 2 the answer is part0 part1 part2, in a text and a budget that doubles', async () => {
    const rig = createEngineRig({
      replies: [cut('part0 '), cut('part1 '), cut('part2')],
      limits: { maxTruncationRecoveries: 2 },
      config: { maxTokens: 1000 },
    });
    const result = await rig.run();
    expect(result).toMatchObject({
      status: 'completed',
      stopReason: 'max-tokens',
      output: 'part0 part1 part2',
      steps: 3,
    });
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([1000, 2000, 4000]);
    expect(rig.events('step-started').map(({ data }) => [data.purpose, data.continues, data.replyBudget])).toEqual([
      ['reply', undefined, 1000],
      ['continuation', 1, 2000],
      ['continuation', 2, 4000],
    ]);
    expect(words(rig)).toEqual(['continue', 'continue']);
    expect(rig.events('user-message').every(({ data }) => data.mode === 'engine')).toBe(true);
    expect(JSON.stringify(rig.state().transcript.messages)).toContain('cut off');
  });

  test('E-400: the budget is not raised above what the model can give, and stays raised for the run', async () => {
    const rig = createEngineRig({
      replies: [cut('a'), simpleCall('c', 'add', {}), simpleText('b')],
      tools: [countingTool('add')],
      config: { maxTokens: 1000 },
      parts: { openModel: async () => ({ model: rig.model, traits: {}, maxOutputTokens: 1500 }) },
    });
    await rig.run();
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([1000, 1500, 1500]);
  });

  test('E-209, E-401: a retry inside the second piece keeps the first', async () => {
    const rig = createEngineRig({ replies: [cut('one '), lostAfter(simpleText('lo', 'st'), 1), simpleText('two')] });
    expect(await rig.run()).toMatchObject({
      status: 'completed',
      stopReason: 'end-turn',
      output: 'one two',
      attempts: 3,
    });
    expect(rig.events('attempt-reset')).toMatchObject([{ step: 2, data: { attempt: 1, shown: true } }]);
  });

  test('E-403: a cut call never runs, its answer names the cut, and the model is asked again with a doubled budget', async () => {
    const tool = countingTool('add');
    const rig = createEngineRig({
      replies: [
        { ...simpleCall('a', 'add', { n: 1 }), finish: 'length' },
        simpleCall('b', 'add', { n: 2 }),
        simpleText('ok'),
      ],
      tools: [tool],
      config: { maxTokens: 1000 },
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(tool.runs).toEqual([{ n: 2 }]);
    expect(rig.answers()['a']).toContain('cut at its token limit');
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([1000, 2000, 2000]);
  });

  test('E-402, E-403: without recoveries a cut text and a cut call end the run as truncated', async () => {
    const limits = { maxTruncationRecoveries: 0 };
    const text = createEngineRig({ replies: [cut('half')], limits });
    const result = new RunResult((await text.run()) ?? expect.unreachable());
    expect(result).toMatchObject({ stopReason: 'max-tokens', output: 'half', truncated: true });
    const call = createEngineRig({
      replies: [{ ...simpleCall('a', 'add', {}), finish: 'length' }],
      limits,
      tools: [countingTool('add')],
    });
    expect(await call.run()).toMatchObject({ status: 'completed', stopReason: 'max-tokens' });
  });

  test('E-400: a reply that was cut before its first word is asked for again', async () => {
    const rig = createEngineRig({
      replies: [{ pieces: [{ kind: 'thinking', chunks: ['…'] }], finish: 'length' }, simpleText('ok')],
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(words(rig)).toEqual(['nudge']);
  });
});

describe('refusals and finish reasons', () => {
  test.each([
    ['refusal', 'refusal'],
    ['content-filter', 'safety'],
  ] as const)(
    'E-404: the calls of a reply that ends with %s never run; no retry, no nudge, its text is kept',
    async (rawFinish, stopReason) => {
      const tool = countingTool('add');
      const pieces: ReplyPiece[] = [
        { kind: 'text', chunks: ['I will not.'] },
        { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
      ];
      const rig = createEngineRig({ replies: [{ pieces, finish: 'content-filter', rawFinish }], tools: [tool] });
      const result = new RunResult((await rig.run()) ?? expect.unreachable());
      expect(result).toMatchObject({ status: 'completed', stopReason, output: 'I will not.', refused: true });
      expect([tool.runs.length, rig.model.calls.length]).toEqual([0, 1]);
    },
  );

  test.each(['end_turn', 'stop_sequence', 'anything_else'])(
    'E-405: a reply that ends with %s has its calls run',
    async (rawFinish) => {
      const tool = countingTool('add');
      const rig = createEngineRig({
        replies: [{ ...simpleCall('a', 'add', {}), finish: 'stop', rawFinish }, simpleText('ok')],
        tools: [tool],
      });
      expect(await rig.run()).toMatchObject({ output: 'ok' });
      expect(tool.runs).toHaveLength(1);
    },
  );

  test('E-405: a stop sequence without calls is a whole answer', async () => {
    const rig = createEngineRig({ replies: [{ ...simpleText('ok'), rawFinish: 'stop_sequence' }] });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'stop-sequence', output: 'ok' });
  });
});

describe('pauses and empty replies', () => {
  test('E-406: a paused reply is handed back as it is, and its texts are joined', async () => {
    const rig = createEngineRig({ replies: [paused('a'), paused('b'), simpleText('c')] });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'abc' });
    expect(words(rig)).toEqual([]);
    expect(rig.model.calls[1]?.prompt.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'a' }] });
  });

  test('E-406: the sixth pause fails the run, and its output is kept', async () => {
    const rig = createEngineRig({ replies: () => paused('x') });
    expect(await rig.run()).toMatchObject({
      status: 'failed',
      output: 'xxxxxx',
      error: { type: 'RecoveryExhaustedError' },
    });
    expect(rig.model.calls).toHaveLength(6);
  });

  test('E-406: an empty pause is a pause, not an empty reply', async () => {
    const rig = createEngineRig({ replies: [paused(), paused(), paused(), empty, empty, simpleText('ok')] });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
  });

  test('E-407: an empty reply leaves nothing in the transcript, and the model is nudged', async () => {
    const rig = createEngineRig({ replies: [empty, simpleText('ok')] });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok', steps: 2 });
    expect(rig.events('turn-complete')[0]?.data).toMatchObject({ empty: true });
    expect(rig.model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user']);
    expect(lastWord(rig)).toContain('empty');
  });

  test('E-407: the third empty reply fails the run', async () => {
    const rig = createEngineRig({ replies: () => empty });
    expect(await rig.run()).toMatchObject({ status: 'failed', error: { type: 'RecoveryExhaustedError' } });
    expect(rig.model.calls).toHaveLength(3);
  });
});

describe('what is left of an answer that is none (E-061)', () => {
  test('text of earlier calling turns is no part of the output', async () => {
    const pieces: ReplyPiece[] = [
      { kind: 'text', chunks: ['Let me see.'] },
      { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }, simpleText('Done.')], tools: [countingTool('add')] });
    expect(await rig.run()).toMatchObject({ output: 'Done.', partialOutput: null });
  });

  test('E-210: a run that fails in a continuation keeps its accepted pieces, and the last attempt beside them', async () => {
    const rig = createEngineRig({
      replies: (_, index) => (index === 0 ? cut('one ') : lostAfter(simpleText('tw', 'o'), 1)),
    });
    expect(await rig.run()).toMatchObject({ status: 'failed', output: 'one ', partialOutput: 'tw' });
  });

  test('a run that waits for a person shows the text of the turn that waits', async () => {
    const pieces: ReplyPiece[] = [
      { kind: 'text', chunks: ['May I?'] },
      { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }], tools: [countingTool('add', { permission: 'ask' })] });
    expect(await rig.run()).toMatchObject({ status: 'awaiting-input', output: '', partialOutput: 'May I?' });
  });

  test('E-062: usage that nobody gave is null and makes the whole incomplete; known usage is summed', async () => {
    const used = { inputTokens: 10, outputTokens: 5 };
    const tools = [countingTool('add')];
    const whole = createEngineRig({
      replies: [
        { ...simpleCall('a', 'add', {}), usage: used },
        { ...simpleText('x'), usage: used },
      ],
      tools,
    });
    expect(await whole.run()).toMatchObject({
      usage: { inputTokens: 20, outputTokens: 10, thinkingTokens: null },
      usageIncomplete: false,
    });
    const part = createEngineRig({ replies: [{ ...simpleCall('a', 'add', {}), usage: used }, simpleText('x')], tools });
    expect(await part.run()).toMatchObject({ usage: { inputTokens: 10, outputTokens: 5 }, usageIncomplete: true });
    const melted: ReplyPiece[] = [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}{}'] }];
    const broken = createEngineRig({ replies: () => ({ pieces: melted, usage: used }), tools });
    expect(await broken.run()).toMatchObject({ status: 'failed', usage: { inputTokens: 40 }, usageIncomplete: false });
    const stopped = createEngineRig({ replies: [{ pieces: melted, usage: used }, simpleText('x', 'y')], tools });
    const onEvent = ({ type }: RunEvent) => void (type === 'text-delta' && stopped.stop.abort());
    expect(await stopped.run({ onEvent })).toMatchObject({
      status: 'cancelled',
      usage: { inputTokens: 10 },
      usageIncomplete: true,
    });
    const none = createEngineRig({ replies: [simpleText('x')] });
    expect(await none.run()).toMatchObject({ usage: null, usageIncomplete: true, cost: { dollars: null } });
  });
});
