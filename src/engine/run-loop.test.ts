import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { defaultPolicies } from './policies.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { Tool } from './tool.ts';

function countingTool(name: string, facts: Partial<Tool> = {}): Tool & { readonly runs: unknown[] } {
  const runs: unknown[] = [];
  return {
    name,
    description: name,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false },
    run: async (input) => {
      runs.push(input);
      return { content: `${name} ran` };
    },
    ...facts,
    runs,
  };
}

const types = (rig: EngineRig) => rig.log.map(({ type }) => type);
const answers = (rig: EngineRig) =>
  rig.log.flatMap((event) => (event.type === 'tool-result' ? [[event.data.toolCallId, event.data.content]] : []));
const cut = (reply: ScriptedReply, after: 'nothing' | number): ScriptedReply => ({
  ...reply,
  fault: { kind: 'cut', after },
});

describe('a run without faults', () => {
  test('E-110, E-124: one turn is deltas, completes, turn, step end, result, by the laws', async () => {
    const rig = createEngineRig({ replies: [simpleText('Hel', 'lo')] });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'Hello', steps: 1 });
    expect(types(rig)).toEqual([
      'run-started',
      'step-started',
      'text-delta',
      'text-delta',
      'text-complete',
      'turn-complete',
      'step-finished',
      'run-result',
    ]);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('E-126, E-127: parallel calls of one reply each run once and are answered before the next step', async () => {
    const tool = countingTool('add');
    const both: ScriptedReply = {
      pieces: [
        { kind: 'text', chunks: ['Adding.'] },
        { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n"', ':1}'] },
        { kind: 'tool-call', id: 'b', name: 'add', arguments: ['{"n":2}'] },
      ],
    };
    const rig = createEngineRig({ replies: [both, simpleText('Done.')], tools: [tool] });
    expect(await rig.run()).toMatchObject({ output: 'Done.', steps: 2 });
    expect(tool.runs).toEqual([{ n: 1 }, { n: 2 }]);
    expect(answers(rig)).toEqual([
      ['a', 'add ran'],
      ['b', 'add ran'],
    ]);
    expect(checkLog(rig.log)).toEqual([]);
    const roles = rig.model.calls[1]?.prompt.map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool']);
  });

  test('E-533: a batch with one call that may not run beside others goes one by one, in call order', async () => {
    const order: string[] = [];
    const slow = (name: string, concurrent: boolean): Tool => ({
      ...countingTool(name),
      concurrent,
      run: async () => {
        order.push(`${name} begins`);
        await Promise.resolve();
        order.push(`${name} ends`);
        return { content: name };
      },
    });
    const reply: ScriptedReply = {
      pieces: [
        { kind: 'tool-call', id: 'a', name: 'first', arguments: ['{}'] },
        { kind: 'tool-call', id: 'b', name: 'second', arguments: ['{}'] },
      ],
    };
    const rig = createEngineRig({
      replies: [reply, simpleText('x')],
      tools: [slow('first', true), slow('second', false)],
    });
    await rig.run();
    expect(order).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  });
});

describe('faults of the model call', () => {
  const kinds = ['cut', 'error-event', 'stall', 'no-end-mark'] as const;
  for (const kind of kinds)
    for (const after of [0, 1, 3])
      test(`E-311, B068: ${kind} after ${after} deltas: the text that stays is the accepted one, once`, async () => {
        const faulty: ScriptedReply = { ...simpleText('a', 'b', 'c', 'd'), fault: { kind, after } };
        const rig = createEngineRig({ replies: [faulty, simpleText('whole ', 'answer')] });
        expect(await rig.run()).toMatchObject({ status: 'completed', output: 'whole answer', attempts: 2, steps: 1 });
        const reset = rig.log.find(({ type }) => type === 'attempt-reset');
        expect(reset?.data).toMatchObject({ attempt: 1, nextAttempt: 2, shown: after > 0 });
        expect(checkLog(rig.log)).toEqual([]);
      });

  test('B069: arguments that were cut off are never run, and not joined to those of the next attempt', async () => {
    const tool = countingTool('add');
    const whole = simpleCall('a', 'add', { n: 1 });
    const rig = createEngineRig({
      replies: [
        cut({ pieces: [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n"', ':1}'] }] }, 1),
        whole,
        simpleText('ok'),
      ],
      tools: [tool],
    });
    await rig.run();
    expect(tool.runs).toEqual([{ n: 1 }]);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('E-201: no attempt is made earlier than the server asked for', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'Retry-After': '7' } } };
    const rig = createEngineRig({ replies: [busy, simpleText('ok')] });
    await rig.run();
    const reset = rig.log.find((event) => event.type === 'attempt-reset');
    expect(reset?.data).toMatchObject({ retryInMs: 7000, shown: false });
    const first = rig.log.find((event) => event.type === 'text-delta');
    expect((first?.at ?? 0) - (reset?.at ?? 0)).toBeGreaterThanOrEqual(7000);
  });

  test('E-202: a server that asks for more than the policy allows fails the run at once', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '172800' } } };
    const rig = createEngineRig({ replies: [busy] });
    expect(await rig.run()).toMatchObject({ status: 'failed', error: { type: 'ProviderError', status: 429 } });
    expect(rig.model.calls).toHaveLength(1);
  });

  test('E-210: when the attempts are used up the run fails with the text of the last one kept', async () => {
    const rig = createEngineRig({ replies: () => cut(simpleText('part', 'ial', '!'), 2) });
    expect(await rig.run()).toMatchObject({ status: 'failed', attempts: 4, partialOutput: 'partial', output: '' });
    expect(checkLog(rig.log)).toEqual([]);
  });

  test.each([
    [401, 'AuthenticationError'],
    [400, 'ProviderError'],
    [402, 'QuotaExhaustedError'],
  ])('E-205: status %i is not retried and is a %s', async (status, type) => {
    const rig = createEngineRig({ replies: [{ fault: { kind: 'status', status } }] });
    expect(await rig.run()).toMatchObject({ status: 'failed', error: { type, retryable: false } });
    expect(rig.model.calls).toHaveLength(1);
  });

  test('E-303: a provider that answers promptly is given up after 20 s without a first event', async () => {
    const silent: ScriptedReply = { fault: { kind: 'stall', after: 'nothing' } };
    const rig = createEngineRig({ replies: [silent, simpleText('ok')], traits: { firstEventPromptly: true } });
    await rig.run();
    const reset = rig.log.find((event) => event.type === 'attempt-reset');
    expect(reset?.data).toMatchObject({ reason: 'stalled' });
    expect((reset?.at ?? 0) - (rig.log[1]?.at ?? 0)).toBe(20_000);
  });

  test('E-301: six gaps just under the idle limit cause no retry', async () => {
    const pieces = Array.from({ length: 6 }, () => [
      { kind: 'pause', ms: 150_000 } as const,
      { kind: 'text', chunks: ['x'] } as const,
    ]).flat();
    const retry = { ...defaultPolicies.retry, callTimeoutSeconds: 3000 };
    const rig = createEngineRig({ replies: [{ pieces }], policies: { retry } });
    expect(await rig.run()).toMatchObject({ output: 'xxxxxx', attempts: 1 });
  });
});

describe('waiting notices', () => {
  const silence = (ms: number): ScriptedReply => ({
    pieces: [
      { kind: 'pause', ms },
      { kind: 'text', chunks: ['ok'] },
    ],
  });
  const notices = (rig: EngineRig) =>
    rig.log.flatMap((event) => (event.type === 'waiting' ? [event.data.seconds] : []));

  test('E-335: a silence of 41 s shows at 10, 25 and 40 s', async () => {
    const rig = createEngineRig({ replies: [silence(41_000)] });
    await rig.run();
    expect(notices(rig)).toEqual([10, 25, 40]);
  });

  test('E-335: a chunk at 24 s begins a new wait, whose first notice comes at 34 s', async () => {
    const pieces: ScriptedReply['pieces'] = [
      { kind: 'pause', ms: 24_000 },
      { kind: 'text', chunks: ['a'] },
      { kind: 'pause', ms: 11_000 },
      { kind: 'text', chunks: ['b'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }] });
    await rig.run();
    const startMs = rig.log[1]?.at ?? 0;
    const moments = rig.log.flatMap((event) => (event.type === 'waiting' ? [(event.at - startMs) / 1000] : []));
    expect(moments).toEqual([10, 34]);
  });

  test('E-335: a prompt answer shows none, and null turns them off', async () => {
    const prompt = createEngineRig({ replies: [silence(3000)] });
    await prompt.run();
    expect(notices(prompt)).toEqual([]);
    const off = createEngineRig({
      replies: [silence(60_000)],
      policies: { progress: { firstAfterSeconds: null, repeatEverySeconds: 15 } },
    });
    await off.run();
    expect(notices(off)).toEqual([]);
  });

  test('E-331: a long wait before a retry shows too', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } } };
    const rig = createEngineRig({ replies: [busy, simpleText('ok')] });
    await rig.run();
    expect(rig.log.flatMap((event) => (event.type === 'waiting' ? [event.data] : []))).toEqual([
      { on: 'retry', seconds: 10 },
      { on: 'retry', seconds: 25 },
    ]);
    expect(checkLog(rig.log)).toEqual([]);
  });
});

describe('calls that do not run', () => {
  test.each([
    ['an unknown tool', simpleCall('a', 'nothing_like_it', {}), /no tool named/],
    ['a misspelt tool, with proposals', simpleCall('a', 'ad', {}), /Did you mean add/],
    ['null', { pieces: [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['null'] }] }, /not one JSON object/],
    ['an array', { pieces: [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['[]'] }] }, /not one JSON object/],
    [
      'cut JSON',
      { pieces: [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n":'] }] },
      /not one JSON object/,
    ],
    ['a wrong type', simpleCall('a', 'add', { n: 'one' }), /n must be number/],
    ['an unknown argument', simpleCall('a', 'add', { m: 1 }), /additional properties/],
  ] as const)('E-510 to E-514: %s is answered, not run, and the run goes on', async (_, reply, message) => {
    const tool = countingTool('add');
    const rig = createEngineRig({ replies: [reply, simpleText('ok')], tools: [tool] });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(tool.runs).toEqual([]);
    expect(answers(rig)).toEqual([['a', expect.stringMatching(message)]]);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('E-512: a name that differs in case, separators or a usual prefix finds its tool', async () => {
    const tool = countingTool('read_file');
    const rig = createEngineRig({
      replies: [simpleCall('a', 'functions.ReadFile', {}), simpleText('ok')],
      tools: [tool],
    });
    await rig.run();
    expect(tool.runs).toHaveLength(1);
  });

  test('E-403: the calls of a reply that was cut at its token limit never run', async () => {
    const tool = countingTool('add');
    const rig = createEngineRig({
      replies: [{ ...simpleCall('a', 'add', { n: 1 }), finish: 'length' }],
      tools: [tool],
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-tokens' });
    expect(tool.runs).toEqual([]);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('E-404: the calls of a refused reply never run, and the text is kept', async () => {
    const tool = countingTool('add');
    const pieces: ScriptedReply['pieces'] = [
      { kind: 'text', chunks: ['I will not.'] },
      { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces, finish: 'content-filter' }], tools: [tool] });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'safety', output: 'I will not.' });
    expect(tool.runs).toEqual([]);
  });

  test('E-534, B016: a tool that throws, at once or later, gives an error answer and the run goes on', async () => {
    const throws: Tool = {
      ...countingTool('now'),
      run: () => {
        throw new Error('broken');
      },
    };
    const rejects: Tool = { ...countingTool('later'), run: async () => Promise.reject(new Error('broken later')) };
    const pieces: ScriptedReply['pieces'] = [
      { kind: 'tool-call', id: 'a', name: 'now', arguments: ['{}'] },
      { kind: 'tool-call', id: 'b', name: 'later', arguments: ['{}'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }, simpleText('ok')], tools: [throws, rejects] });
    expect(await rig.run()).toMatchObject({ status: 'completed' });
    expect(answers(rig)).toEqual([
      ['a', 'The tool failed: broken'],
      ['b', 'The tool failed: broken later'],
    ]);
  });

  test('E-536: a handler that ignores its timeout is abandoned after 5 s', async () => {
    const deaf: Tool = { ...countingTool('deaf'), timeoutSeconds: 10, run: () => new Promise(() => {}) };
    const rig = createEngineRig({ replies: [simpleCall('a', 'deaf', {}), simpleText('ok')], tools: [deaf] });
    await rig.run();
    const complete = rig.log.find((event) => event.type === 'tool-call-complete');
    expect(complete?.data).toMatchObject({ outcome: 'timeout', durationMs: 15_000 });
  });
});

describe('budgets', () => {
  const calling = () => simpleCall('a', 'add', {});

  test('UD-02: with N tool rounds, N rounds run; the calls of the next reply are answered, not run', async () => {
    const tool = countingTool('add');
    const rig = createEngineRig({ replies: calling, tools: [tool], limits: { maxToolRounds: 2 } });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-steps', steps: 3 });
    expect(tool.runs).toHaveLength(2);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('UD-02: a run that needs exactly N rounds and then answers is not limited', async () => {
    const rig = createEngineRig({
      replies: [calling(), simpleText('ok')],
      tools: [countingTool('add')],
      limits: { maxToolRounds: 1 },
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'ok' });
  });

  test('E chapter 7: maxSteps 2 makes at most three model calls, the last without tools', async () => {
    const rig = createEngineRig({ replies: calling, tools: [countingTool('add')], limits: { maxSteps: 2 } });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-steps' });
    expect(rig.model.calls).toHaveLength(3);
    expect(rig.model.calls[2]?.tools).toBeUndefined();
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('UD-03: each call gets what is left of the output budget, and nothing is called with nothing left', async () => {
    const usage = { inputTokens: 10, outputTokens: 30 };
    const rig = createEngineRig({
      replies: () => ({ ...calling(), usage }),
      tools: [countingTool('add')],
      limits: { maxOutputTokens: 50 },
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-tokens' });
    expect(rig.model.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([50, 20]);
    expect(rig.log.at(-2)).toMatchObject({ type: 'budget-reached', data: { budget: 'output-tokens', used: 60 } });
  });

  test('UD-01: the time budget ends a model call that is under way: completed, limited, its text kept', async () => {
    const pieces: ScriptedReply['pieces'] = [
      { kind: 'text', chunks: ['so far'] },
      { kind: 'pause', ms: 90_000 },
      { kind: 'text', chunks: ['never'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }], limits: { maxSeconds: 60 } });
    expect(await rig.run()).toMatchObject({ status: 'completed', stopReason: 'max-time', partialOutput: 'so far' });
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('E-210: a retry whose wait would pass the time budget is not waited for', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '50' } } };
    const rig = createEngineRig({ replies: [busy], limits: { maxSeconds: 30 } });
    expect(await rig.run()).toMatchObject({ stopReason: 'max-time' });
    expect(rig.clock.now() - (rig.log[0]?.at ?? 0)).toBeLessThan(5_000);
  });
});

describe('cancel', () => {
  const moments = [
    'step-started',
    'text-delta',
    'turn-complete',
    'tool-call-start',
    'tool-dispatched',
    'tool-result',
    'attempt-reset',
  ];
  for (const moment of moments)
    test(`E-813, B100: a cancel at the first ${moment} ends the run cancelled, every call answered, with no further model call`, async () => {
      const replies = [cut(simpleText('lost', 'x'), 1), { ...simpleCall('a', 'add', {}) }, simpleText('never')];
      const rig = createEngineRig({ replies, tools: [countingTool('add')] });
      let callsBefore = 0;
      const result = await rig.run({
        onEvent({ type }) {
          if (type !== moment || rig.stop.signal.aborted) return;
          callsBefore = rig.model.calls.length;
          rig.stop.abort(new StopTurn('cancel'));
        },
      });
      expect(result).toMatchObject({ status: 'cancelled', error: null });
      expect(rig.model.calls.length - callsBefore).toBeLessThanOrEqual(moment === 'step-started' ? 1 : 0);
      expect(checkLog(rig.log)).toEqual([]);
    });

  test('UD-60: a shutdown ends the loop without an ending, and the next owner goes on', async () => {
    const rig = createEngineRig({ replies: [simpleText('a', 'b'), simpleText('whole')] });
    await rig.run({ onEvent: ({ type }) => void (type === 'text-delta' && rig.stop.abort(new StopTurn('shutdown'))) });
    expect(rig.log.at(-1)?.type).not.toBe('run-result');
  });
});

describe('crash points (E 13.2)', () => {
  const script = (): ScriptedReply[] => [
    {
      pieces: [
        { kind: 'text', chunks: ['Let me ', 'see.'] },
        { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n":1}'] },
      ],
    },
    simpleText('All ', 'done.'),
  ];
  for (const replay of ['manual', 'safe', 'idempotent'] as const)
    test(`a crash after any event of a run with a ${replay} tool: no committed reply is asked for again, the run ends`, async () => {
      const whole = createEngineRig({ replies: script(), tools: [countingTool('add', { replay })] });
      await whole.run();
      for (const keep of whole.commits.slice(0, -1)) {
        const tool = countingTool('add', { replay });
        const cutLog = whole.log.slice(0, keep);
        const accepted = cutLog.filter(({ type }) => type === 'turn-complete').length;
        const rig = createEngineRig({
          replies: (_, index) => script()[index + accepted] ?? simpleText('extra'),
          tools: [tool],
        });
        const result = await rig.recover(cutLog);
        const kept = cutLog.map(({ type }) => type);
        expect(result, `after ${kept.at(-1)}`).toMatchObject({ status: 'completed', output: 'All done.' });
        const dispatched = kept.includes('tool-dispatched');
        const returned = kept.includes('tool-call-complete');
        const runsAgain = dispatched && !returned && replay !== 'manual';
        expect(tool.runs.length, `after ${kept.at(-1)}`).toBe(dispatched && !runsAgain ? 0 : 1);
        expect(rig.model.calls.length).toBe(2 - accepted);
        expect(checkLog(rig.log)).toEqual([]);
      }
    });

  test('E-542: a manual call of unknown outcome is answered "unknown" and never repeated', async () => {
    const rig = createEngineRig({ replies: script(), tools: [countingTool('add')] });
    await rig.run();
    const keep = rig.log.findIndex(({ type }) => type === 'tool-dispatched') + 1;
    await rig.recover(rig.log.slice(0, keep));
    const complete = rig.log.find((event) => event.type === 'tool-call-complete');
    expect(complete?.data).toMatchObject({ outcome: 'unknown' });
  });
});

describe('what is left behind', () => {
  test('E-305: a log that stalls with a full hand-over neither hangs the call nor counts as the model being silent', async () => {
    const chunks = Array.from({ length: 5_000 }, () => 'x');
    const rig = createEngineRig({ replies: [{ pieces: [{ kind: 'text', chunks }] }] });
    const stalled = rig.run({ stallMs: 400_000 });
    expect(await stalled).toMatchObject({ status: 'completed', attempts: 1, output: 'x'.repeat(5_000) });
  });

  test('T4: a loop that is left while a tool runs stops the tool before it is gone', async () => {
    let stopped = false;
    const patient: Tool = {
      ...countingTool('wait'),
      run: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            stopped = true;
            resolve({ content: 'stopped' });
          });
        }),
    };
    const pieces: ScriptedReply['pieces'] = [
      { kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] },
      { kind: 'tool-call', id: 'b', name: 'wait', arguments: ['{}'] },
    ];
    const rig = createEngineRig({ replies: [{ pieces }], tools: [countingTool('add'), patient] });
    await rig.run({ leaveAt: 'tool-result' });
    expect(stopped).toBe(true);
    expect(rig.clock.pending).toBe(0);
  });

  test('E-847: a run leaves no timer on the clock', async () => {
    const rig = createEngineRig({
      replies: [cut(simpleText('a', 'b'), 1), simpleCall('a', 'add', {}), simpleText('ok')],
      tools: [countingTool('add')],
      limits: { maxSeconds: 600 },
    });
    await rig.run();
    expect(rig.clock.pending).toBe(0);
  });
});
