// Cancel, shutdown and pause, in every phase of a run: E-812 to E-819, E-953, B100.

import { describe, expect, test } from 'vitest';
import events from 'node:events';
import { readContext } from './context-view.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions, type RigRunOptions } from '../testing/engine-rig.ts';
import { defaultPolicies } from './policies.ts';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { sleep } from '../core/clock.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { withoutPlace } from '../core/transcript.ts';
import type { Model } from './model.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Tool } from './tool.ts';

const done = simpleText('Done.');
const stalled = (after: 'nothing' | number): ScriptedReply => ({
  ...simpleText('a', 'b', 'c'),
  fault: { kind: 'stall', after },
});
const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '50' } } };
const cancel = (rig: EngineRig) => rig.stop.abort(new StopTurn('cancel'));
const outcomes = (rig: EngineRig) => rig.events('tool-call-complete').map(({ data }) => data.outcome);
const obedient: Tool['run'] = (_, { signal }) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve({ content: 'stopped half-way' })));

/** A model that never answers, not even with headers, until it is stopped. */
const silent: Model = {
  provider: 'scripted',
  modelId: 'scripted-1',
  doStream: ({ abortSignal }) =>
    new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(new Error('stopped')))),
};

interface Phase {
  readonly options: EngineRigOptions;
  /** Cancelled so long after the start; absent: before it. */
  readonly afterMs?: number;
}

const phases: Record<string, Phase> = {
  'before the start': { options: { replies: [done] } },
  'while the model is opened': {
    options: { replies: [done], parts: { openModel: () => new Promise(() => {}) } },
    afterMs: 2500,
  },
  'before the headers': {
    options: { replies: [], parts: { openModel: async () => ({ model: silent, traits: {}, maxOutputTokens: null }) } },
    afterMs: 2500,
  },
  'before the first chunk': { options: { replies: [stalled(0)] }, afterMs: 2500 },
  'while it streams': { options: { replies: [stalled(2)] }, afterMs: 2500 },
  'in a wait before a retry': { options: { replies: [busy, done] }, afterMs: 2500 },
  'in a tool that obeys': {
    options: { replies: [simpleCall('a', 'add', {})], tools: [countingTool('add', { run: obedient })] },
    afterMs: 2500,
  },
  'in a tool that does not': {
    options: {
      replies: [simpleCall('a', 'add', {})],
      tools: [countingTool('add', { run: () => new Promise(() => {}) })],
    },
    afterMs: 2500,
  },
  'while a callback thinks about an approval': {
    options: {
      replies: [simpleCall('a', 'add', {})],
      tools: [countingTool('add', { permission: 'ask' })],
      people: { how: 'ask', decide: () => new Promise(() => {}) },
    },
    afterMs: 2500,
  },
  'in a middleware that hangs': {
    options: { replies: [done], parts: { middleware: [{ beforeModel: () => new Promise(() => {}) }] } },
    afterMs: 2500,
  },
  'in a summary call': {
    options: {
      replies: () => stalled(1),
      limits: { maxContextTokens: 200 },
      history: [
        { role: 'user', content: [{ type: 'text', text: 'long '.repeat(2000) }] },
        { role: 'assistant', parts: [{ kind: 'text', text: 'Yes.' }] },
      ],
    },
    afterMs: 2500,
  },
};

describe('E-813, E-953, B100: a cancel', () => {
  for (const [name, { options, afterMs }] of Object.entries(phases))
    for (const times of [1, 2])
      test(`${name}, ${times === 1 ? 'once' : 'twice'}: the run is cancelled in time, its calls are answered, and the session goes on`, async () => {
        const rig = createEngineRig(options);
        const fire = () => Array.from({ length: times }, () => cancel(rig));
        if (afterMs === undefined) fire();
        else rig.clock.timer(afterMs, fire);
        const startMs = rig.clock.now();
        expect(await rig.run()).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', error: null });
        expect((rig.log.at(-1)?.at ?? 0) - startMs - (afterMs ?? 0)).toBeLessThanOrEqual(10_000);
        expect(rig.clock.pending).toBe(0);
        const history = readContext(rig.state(), options.history ?? []).messages.map(withoutPlace);
        const next = createEngineRig({ replies: [done], history });
        expect(await next.run()).toMatchObject({ status: 'completed', output: 'Done.' });
      });

  const moments = [
    'step-started',
    'text-delta',
    'turn-complete',
    'tool-call-start',
    'tool-dispatched',
    'tool-result',
    'attempt-reset',
    'step-finished',
  ];
  for (const moment of moments)
    test(`after the first ${moment}: no further model call and no dispatch`, async () => {
      const lost: ScriptedReply = { ...simpleText('lost', 'x'), fault: { kind: 'cut', after: 1 } };
      const tool = countingTool('add');
      const rig = createEngineRig({
        replies: [lost, simpleCalls(['a', 'add', {}], ['b', 'add', { n: 1 }]), done],
        tools: [tool],
      });
      let before = { calls: 0, runs: 0 };
      const result = await rig.run({
        onEvent({ type }) {
          if (type !== moment || rig.stop.signal.aborted) return;
          before = { calls: rig.model.calls.length, runs: tool.runs.length };
          cancel(rig);
        },
      });
      expect(result).toMatchObject({ status: 'cancelled' });
      expect({ calls: rig.model.calls.length, runs: tool.runs.length }).toEqual(before);
    });

  test('E-813: reaches the provider within a second', async () => {
    let noticedMs = 0;
    const model: Model = {
      ...silent,
      doStream: (request) => (
        request.abortSignal?.addEventListener('abort', () => (noticedMs = rig.clock.now())),
        silent.doStream(request)
      ),
    };
    const rig: EngineRig = createEngineRig({
      replies: [],
      parts: { openModel: async () => ({ model, traits: {}, maxOutputTokens: null }) },
    });
    rig.clock.timer(2500, () => cancel(rig));
    const startMs = rig.clock.now();
    await rig.run();
    expect(noticedMs - startMs).toBe(2500);
  });

  test.each(['text-complete', 'turn-complete'] as const)(
    'E-814: in the tick of the reply (at its %s) still wins',
    async (type) => {
      const rig = createEngineRig({ replies: [done] });
      expect(await rig.run({ onEvent: (event) => void (event.type === type && cancel(rig)) })).toMatchObject({
        status: 'cancelled',
      });
      expect(rig.events('turn-complete')).toHaveLength(1);
    },
  );

  test('E-814: when the result is in the log it changes nothing', async () => {
    const rig = createEngineRig({ replies: [done] });
    expect(await rig.run({ onEvent: (event) => void (event.type === 'run-result' && cancel(rig)) })).toMatchObject({
      status: 'completed',
    });
  });

  test('E-814: of a run that fails by it, is a cancel', async () => {
    const rig = createEngineRig({
      replies: [done],
      parts: { middleware: [{ beforeModel: () => (cancel(rig), Promise.reject(new Error('aborted'))) }] },
    });
    expect(await rig.run()).toMatchObject({ status: 'cancelled', error: null });
  });

  test('13.2 row 15: that a crash has overtaken is carried out by the next owner, with no model call and no dispatch', async () => {
    const tool = countingTool('add', { replay: 'safe' });
    for (const leaveAt of ['step-started', 'turn-complete', 'tool-dispatched', 'step-finished'] as const) {
      const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
      await rig.run({ leaveAt });
      const before = { calls: rig.model.calls.length, runs: tool.runs.length };
      cancel(rig);
      expect(await rig.recover(), leaveAt).toMatchObject({ status: 'cancelled' });
      expect({ calls: rig.model.calls.length, runs: tool.runs.length }).toEqual(before);
    }
  });
});

describe('E-816, E-817: what does not come to rest', () => {
  const heldBy = async (facts: Partial<Tool>) => {
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {})], tools: [countingTool('add', facts)] });
    rig.clock.timer(2500, () => cancel(rig));
    return { rig, result: await rig.run() };
  };

  test('a tool that does not stop is abandoned after 5 s and named', async () => {
    const { result, rig } = await heldBy({ run: () => new Promise(() => {}) });
    expect(result?.unstopped).toEqual([expect.stringContaining('did not stop')]);
    expect((result?.endedAtMs ?? 0) - (rig.log[0]?.at ?? 0)).toBe(7500);
  });

  test('what a tool says it could not stop is named', async () => {
    const run: Tool['run'] = async (input, context) => ({
      ...(await obedient(input, context)),
      unstopped: ['process 42'],
    });
    expect((await heldBy({ run })).result?.unstopped).toEqual(['process 42']);
  });

  test('whatever else hangs is left behind after 8 s and named, and what it does later is not heard', async () => {
    const rig: EngineRig = createEngineRig({
      replies: [done],
      parts: { middleware: [{ beforeModel: async (request) => (await sleep(rig.clock, 30_000), request) }] },
    });
    rig.clock.timer(2500, () => cancel(rig));
    const result = await rig.run();
    expect(result).toMatchObject({ status: 'cancelled', unstopped: [expect.stringContaining('did not stop in time')] });
    expect((result?.endedAtMs ?? 0) - (rig.log[0]?.at ?? 0)).toBe(10_500);
    const { length } = rig.log;
    await rig.clock.advance(60_000);
    expect([rig.log.length, rig.model.calls.length]).toEqual([length, 0]);
  });
});

describe('E-818: a call in flight at a cancel', () => {
  const cancelIn = async (replay: 'manual' | 'safe' | 'idempotent', run: Tool['run']) => {
    const rig = createEngineRig({
      replies: [simpleCall('a', 'add', { n: 1 })],
      tools: [countingTool('add', { replay, run })],
    });
    rig.clock.timer(2500, () => cancel(rig));
    return { rig, result: await rig.run() };
  };

  test.each([
    ['that stops when told', obedient],
    ['that does not', () => new Promise<never>(() => {})],
  ] as const)('a manual one %s has an unknown outcome and is listed as uncertain', async (_, run) => {
    const { rig, result } = await cancelIn('manual', run);
    expect(outcomes(rig)).toEqual(['unknown']);
    expect(result?.pending).toMatchObject([
      { kind: 'recovery', status: 'uncertain', call: { id: 'a', name: 'add', input: { n: 1 } } },
    ]);
  });

  test.each(['safe', 'idempotent'] as const)('a %s one is cancelled and leaves nothing to say', async (replay) => {
    const { rig, result } = await cancelIn(replay, obedient);
    expect([outcomes(rig), result?.pending]).toEqual([['cancelled'], []]);
  });
});

describe('a shutdown', () => {
  const shutDown = (rig: EngineRig) => rig.stop.abort(new StopTurn('shutdown'));

  test('UD-60: ends the loop without an ending', async () => {
    const rig = createEngineRig({ replies: [simpleText('a', 'b')] });
    expect(await rig.run({ onEvent: ({ type }) => void (type === 'text-delta' && shutDown(rig)) })).toBe(null);
    expect(rig.log.at(-1)?.type).toBe('text-delta');
  });

  test.each(['manual', 'safe'] as const)(
    'T5: leaves a %s call that it cuts short to the next owner',
    async (replay) => {
      const rig = createEngineRig({
        replies: [simpleCall('a', 'add', {})],
        tools: [countingTool('add', { replay, run: obedient })],
      });
      rig.clock.timer(2500, () => shutDown(rig));
      expect(await rig.run()).toBe(null);
      expect(rig.log.at(-1)?.type).toBe('tool-dispatched');
      const tool = countingTool('add', { replay });
      const next = createEngineRig({ replies: [done], tools: [tool] });
      expect(await next.recover(rig.log)).toMatchObject({ status: 'completed' });
      expect([tool.runs.length, outcomes(next)]).toEqual(replay === 'safe' ? [1, ['ok']] : [0, ['unknown']]);
    },
  );

  test('T4: a loop that is left while a tool runs stops the tool before it is gone', async () => {
    let stopped = false;
    const patient = countingTool('wait', {
      run: async (input, context) => (await obedient(input, context), (stopped = true), { content: '' }),
    });
    const rig = createEngineRig({
      replies: [simpleCalls(['a', 'add', {}], ['b', 'wait', {}])],
      tools: [countingTool('add'), patient],
    });
    await rig.run({ leaveAt: 'tool-result' });
    expect([stopped, rig.clock.pending]).toEqual([true, 0]);
  });
});

describe('E-819: a pause', () => {
  const pauseAfter = (rig: EngineRig, type: RunEvent['type']): RigRunOptions => ({
    onEvent: (event) => void (event.type === type && rig.pause.abort()),
  });

  test('lets the model call end, and the resumed run repeats nothing', async () => {
    const tool = countingTool('add');
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), simpleText('Do', 'ne.')], tools: [tool] });
    expect(await rig.run(pauseAfter(rig, 'tool-call-delta'))).toMatchObject({ status: 'paused' });
    expect(rig.events('turn-complete')).toHaveLength(1);
    expect(await rig.resume('resume')).toMatchObject({ status: 'completed', output: 'Done.' });
    expect([rig.model.calls.length, tool.runs.length]).toEqual([2, 1]);
  });

  test('lets the running tool end, and the rest of the batch waits', async () => {
    const tool = countingTool('add', { concurrent: false });
    const rig = createEngineRig({
      replies: [simpleCalls(['a', 'add', { n: 1 }], ['b', 'add', { n: 2 }]), done],
      tools: [tool],
    });
    expect(await rig.run(pauseAfter(rig, 'tool-dispatched'))).toMatchObject({ status: 'paused' });
    expect(tool.runs).toEqual([{ n: 1 }]);
    expect(await rig.resume('resume')).toMatchObject({ status: 'completed' });
    expect(tool.runs).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('E-214: inside a wait before a retry ends it; resumed, the rest of it is waited, without a second reset', async () => {
    const rig = createEngineRig({ replies: [busy, done] });
    rig.clock.timer(10_000, () => rig.pause.abort());
    expect(await rig.run()).toMatchObject({ status: 'paused' });
    expect(rig.model.calls).toHaveLength(1);
    expect(await rig.resume('resume')).toMatchObject({ status: 'completed', attempts: 2 });
    const [reset] = rig.events('attempt-reset');
    expect(rig.events('attempt-reset')).toHaveLength(1);
    expect((rig.events('text-delta')[0]?.at ?? 0) - (reset?.at ?? 0)).toBe(50_000);
  });

  test('E-544: inside the wait before a tool is tried again ends it; resumed, the tool is', async () => {
    const retry = { attempts: 3, backoffSeconds: 30, maxBackoffSeconds: 30, retryErrorResults: true };
    let runs = 0;
    const flaky = countingTool('add', {
      replay: 'safe',
      retry,
      run: async () => ({ content: 'try again', isError: ++runs === 1 }),
    });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [flaky] });
    rig.clock.timer(5000, () => rig.pause.abort());
    const paused = await rig.run();
    expect(paused).toMatchObject({ status: 'paused' });
    expect((paused?.endedAtMs ?? 0) - (rig.log[0]?.at ?? 0)).toBe(5000);
    expect(await rig.resume('resume')).toMatchObject({ status: 'completed' });
  });

  test('E-213: the resumed run has a fresh retry budget', async () => {
    const failing: ScriptedReply = { fault: { kind: 'status', status: 503 } };
    const rig = createEngineRig({
      replies: (_, index) => (index < 6 ? failing : done),
      policies: { retry: { ...defaultPolicies.retry, attempts: 4, backoffSeconds: 5 } },
    });
    expect(
      await rig.run({
        onEvent: ({ type }) =>
          void (type === 'attempt-reset' && rig.events('attempt-reset').length === 3 && rig.pause.abort()),
      }),
    ).toMatchObject({ status: 'paused' });
    expect(await rig.resume('resume')).toMatchObject({ status: 'completed', output: 'Done.', attempts: 7 });
  });
});

describe('E-847, E-949, B133: what is left behind', () => {
  test('no timer, whatever happened', async () => {
    const lost: ScriptedReply = { ...simpleText('a', 'b'), fault: { kind: 'cut', after: 1 } };
    const rig = createEngineRig({
      replies: [lost, simpleCall('a', 'add', {}), done],
      tools: [countingTool('add')],
      limits: { maxSeconds: 600 },
    });
    await rig.run();
    expect(rig.clock.pending).toBe(0);
  });

  test('no listener on the signals of the run, after and during many rounds', async () => {
    const counts = new Set<number>();
    const tool = countingTool('add', {
      run: async () => (counts.add(events.getEventListeners(rig.stop.signal, 'abort').length), { content: '' }),
    });
    const rig: EngineRig = createEngineRig({
      replies: (_, index) => (index < 300 ? simpleCall('a', 'add', { n: index }) : done),
      tools: [tool],
    });
    await rig.run();
    expect(counts).toEqual(new Set([1]));
    expect(events.getEventListeners(rig.stop.signal, 'abort')).toHaveLength(0);
    expect(events.getEventListeners(rig.pause.signal, 'abort')).toHaveLength(0);
  });
});
