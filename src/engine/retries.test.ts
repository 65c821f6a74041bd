// Attempts at a reply that fail, and the notices of a wait: chapters 3 to 5 as a run shows them.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { defaultPolicies } from './policies.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { sleep } from '../core/clock.ts';

const done = simpleText('Done.');
const cut = (reply: ScriptedReply, after: 'nothing' | number): ScriptedReply => ({
  ...reply,
  fault: { kind: 'cut', after },
});
const refused = (status: number, headers: Record<string, string> = {}): ScriptedReply => ({
  fault: { kind: 'status', status, headers },
});
const resets = (rig: EngineRig) => rig.events('attempt-reset').map(({ data }) => data);

describe('E-311, B068: however a reply breaks, the text that stays is the accepted one, once', () => {
  for (const kind of ['cut', 'error-event', 'stall', 'no-end-mark'] as const)
    test.each([0, 1, 3])(`${kind} after %i deltas`, async (after) => {
      const faulty: ScriptedReply = { ...simpleText('a', 'b', 'c', 'd'), fault: { kind, after } };
      const rig = createEngineRig({ replies: [faulty, simpleText('whole ', 'answer')] });
      expect(await rig.run()).toMatchObject({ status: 'completed', output: 'whole answer', attempts: 2, steps: 1 });
      expect(resets(rig)).toMatchObject([{ attempt: 1, nextAttempt: 2, shown: after > 0 }]);
    });
});

test('B069: arguments that were cut off are never run, and not joined to those of the next attempt', async () => {
  const tool = countingTool('add');
  const pieces = [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{"n"', ':1}'] }] as const;
  const rig = createEngineRig({ replies: [cut({ pieces }, 1), simpleCall('a', 'add', { n: 1 }), done], tools: [tool] });
  await rig.run();
  expect(tool.runs).toEqual([{ n: 1 }]);
});

describe('attempt-reset', () => {
  test('E-207, E-208: is written also where nothing was shown, before the wait, with what was drawn for it', async () => {
    const rig = createEngineRig({ replies: [refused(503), done] });
    await rig.run();
    expect(resets(rig)).toMatchObject([
      {
        step: 1,
        attempt: 1,
        nextAttempt: 2,
        reason: 'transient-error',
        shown: false,
        retryInMs: 500,
        error: { type: 'ProviderError', status: 503 },
      },
    ]);
    expect((rig.events('text-delta')[0]?.at ?? 0) - (rig.events('attempt-reset')[0]?.at ?? 0)).toBe(500);
  });

  test('E-123: no event of the given-up attempt stands behind it', async () => {
    const rig = createEngineRig({ replies: [cut(simpleText('a', 'b', 'c'), 2), cut(simpleText('d', 'e'), 1), done] });
    await rig.run();
    for (const reset of rig.events('attempt-reset')) {
      const after = rig.log.filter(
        ({ seq, step, attempt }) => seq > reset.seq && step === reset.step && attempt === reset.attempt,
      );
      expect(after).toEqual([]);
    }
  });

  test('E-209: touches its own step alone', async () => {
    const rig = createEngineRig({
      replies: [simpleCall('a', 'add', {}), cut(simpleText('x', 'y'), 1), done],
      tools: [countingTool('add')],
    });
    expect(await rig.run()).toMatchObject({ output: 'Done.' });
    expect(resets(rig)).toMatchObject([{ step: 2 }]);
  });

  test('E-212: the next attempt is asked the same, and nothing of the failed one stays in the transcript', async () => {
    const rig = createEngineRig({ replies: [cut(simpleText('a', 'b'), 1), done] });
    await rig.run();
    expect(rig.model.calls[1]?.prompt).toEqual(rig.model.calls[0]?.prompt);
    expect(JSON.stringify(rig.state().transcript)).not.toContain('"a"');
  });
});

describe('how long and how often', () => {
  test('E-201: waits grow, and no attempt is made earlier than the server asked for', async () => {
    const rig = createEngineRig({ replies: [refused(503), refused(503), refused(429, { 'Retry-After': '7' }), done] });
    await rig.run();
    expect(resets(rig).map(({ retryInMs }) => retryInMs)).toEqual([500, 1000, 7000]);
    expect((rig.events('text-delta')[0]?.at ?? 0) - (rig.events('attempt-reset')[2]?.at ?? 0)).toBe(7000);
  });

  test('E-202: a server that asks for more than the policy allows fails the run at once', async () => {
    const rig = createEngineRig({ replies: [refused(429, { 'retry-after': '172800' })] });
    expect(await rig.run()).toMatchObject({
      status: 'failed',
      error: { type: 'ProviderError', status: 429, message: expect.stringContaining('2 days') },
    });
    expect(rig.model.calls).toHaveLength(1);
  });

  test('E-210: when the attempts are used up the run fails with the text of the last one kept', async () => {
    const rig = createEngineRig({ replies: () => cut(simpleText('part', 'ial', '!'), 2) });
    expect(await rig.run()).toMatchObject({
      status: 'failed',
      attempts: 4,
      partialOutput: 'partial',
      output: '',
      error: { retryable: true },
    });
  });

  test.each([
    [401, 'AuthenticationError'],
    [400, 'ProviderError'],
    [402, 'QuotaExhaustedError'],
  ])('E-205: status %i is not retried and is a %s', async (status, type) => {
    const rig = createEngineRig({ replies: [refused(status)] });
    expect(await rig.run()).toMatchObject({ status: 'failed', error: { type, retryable: false } });
    expect(rig.model.calls).toHaveLength(1);
  });

  test('E-213: a recovery does not refill the attempts, and what a crash cost does not use them up', async () => {
    const rig = createEngineRig({ replies: () => refused(503) });
    await rig.run({ leaveAt: 'attempt-reset' });
    expect(await rig.recover()).toMatchObject({ status: 'failed' });
    expect(rig.model.calls).toHaveLength(4);
    const crashed = createEngineRig({ replies: () => refused(503) });
    await crashed.run({ leaveAt: 'step-started' });
    expect(await crashed.recover()).toMatchObject({ status: 'failed', attempts: 5 });
    expect(resets(crashed).map(({ reason }) => reason)).toEqual([
      'crash',
      'transient-error',
      'transient-error',
      'transient-error',
    ]);
  });

  test('E-214, 13.2 row 13: a new owner waits the rest of a wait, and takes one that has passed for a begun attempt', async () => {
    const replies = [refused(429, { 'retry-after': '30' }), done];
    const early = createEngineRig({ replies });
    await early.run({ leaveAt: 'attempt-reset' });
    await early.clock.advance(10_000);
    expect(await early.recover()).toMatchObject({ status: 'completed', attempts: 2 });
    expect((early.events('text-delta')[0]?.at ?? 0) - (early.events('attempt-reset')[0]?.at ?? 0)).toBe(30_000);
    const late = createEngineRig({ replies });
    await late.run({ leaveAt: 'attempt-reset' });
    await late.clock.advance(40_000);
    expect(await late.recover()).toMatchObject({ status: 'completed', attempts: 3 });
    expect(resets(late)).toMatchObject([
      { reason: 'transient-error' },
      { reason: 'crash', attempt: 2, nextAttempt: 3, retryInMs: 0 },
    ]);
  });

  test('E-440: a request that was too long and is shortened uses up no attempt', async () => {
    const tooLong: ScriptedReply = {
      fault: { kind: 'status', status: 400, message: 'prompt is too long: 9 tokens > 8 maximum' },
    };
    const history = Array.from({ length: 8 }, (_, index) =>
      index % 2 === 0
        ? ({ role: 'user', content: [{ type: 'text', text: 'x'.repeat(9000) }] } as const)
        : ({ role: 'assistant', parts: [{ kind: 'text', text: 'y' }] } as const),
    );
    const summary = simpleText('In short.');
    const rig = createEngineRig({
      replies: [tooLong, summary, refused(503), refused(503), refused(503), done],
      history,
    });
    expect(await rig.run()).toMatchObject({ status: 'completed', attempts: 5 });
    expect(resets(rig).map(({ reason }) => reason)).toEqual([
      'context-overflow',
      'transient-error',
      'transient-error',
      'transient-error',
    ]);
    expect(JSON.stringify(rig.events('text-delta'))).not.toContain('In short.');
  });
});

describe('E-303, E-301: watches', () => {
  test('a provider that answers promptly is given up after 20 s without a first event', async () => {
    const silent: ScriptedReply = { fault: { kind: 'stall', after: 'nothing' } };
    const rig: EngineRig = createEngineRig({ replies: [silent, done], traits: { firstEventPromptly: true } });
    await rig.run();
    expect(resets(rig)).toMatchObject([{ reason: 'stalled' }]);
    expect((rig.events('attempt-reset')[0]?.at ?? 0) - (rig.log[1]?.at ?? 0)).toBeGreaterThanOrEqual(20_000);
  });

  test('six gaps just under the idle limit cause no retry', async () => {
    const pieces = Array.from({ length: 6 }, () => [
      { kind: 'pause', ms: 150_000 } as const,
      { kind: 'text', chunks: ['x'] } as const,
    ]).flat();
    const retry = { ...defaultPolicies.retry, callTimeoutSeconds: 3000 };
    const rig = createEngineRig({ replies: [{ pieces }], policies: { retry } });
    expect(await rig.run()).toMatchObject({ output: 'xxxxxx', attempts: 1 });
  });

  test('E-305: a log that stalls with a full hand-over neither hangs the call nor counts as the model being silent', async () => {
    const chunks = Array.from({ length: 5_000 }, () => 'x');
    const rig = createEngineRig({ replies: [{ pieces: [{ kind: 'text', chunks }] }] });
    expect(await rig.run({ stallMs: 400_000 })).toMatchObject({
      status: 'completed',
      attempts: 1,
      output: 'x'.repeat(5_000),
    });
  });
});

describe('E-330 to E-335: waiting notices', () => {
  const silence = (...ms: number[]): ScriptedReply => ({
    pieces: ms.flatMap((each) => [{ kind: 'pause', ms: each } as const, { kind: 'text', chunks: ['x'] } as const]),
  });
  const notices = (rig: EngineRig) => rig.events('waiting').map(({ data }) => data.seconds);
  const play = async (reply: ScriptedReply, firstAfterSeconds: number | null = 10) => {
    const rig = createEngineRig({
      replies: [reply],
      policies: { progress: { ...defaultPolicies.progress, firstAfterSeconds } },
    });
    await rig.run();
    return rig;
  };

  test('E-335: a silence of 41 s shows at 10, 25 and 40 s, a prompt answer never', async () => {
    expect(notices(await play(silence(41_000)))).toEqual([10, 25, 40]);
    expect(notices(await play(silence(3000)))).toEqual([]);
  });

  test('E-335: a chunk at 24 s begins a new wait, whose first notice comes at 34 s', async () => {
    const rig = await play(silence(24_000, 11_000));
    const startMs = rig.log[1]?.at ?? 0;
    expect(rig.events('waiting').map((event) => (event.at - startMs) / 1000)).toEqual([10, 34]);
  });

  test('E-335: null turns them off', async () => {
    expect(notices(await play(silence(60_000), null))).toEqual([]);
  });

  test('E-111, E-331, E-216: a long wait before a retry shows as well', async () => {
    const rig = createEngineRig({ replies: [refused(429, { 'retry-after': '30' }), done] });
    await rig.run();
    expect(rig.events('waiting').map(({ data }) => data)).toEqual([
      { on: 'retry', seconds: 10 },
      { on: 'retry', seconds: 25 },
    ]);
  });

  test('E-332: a reply that middleware holds back has them too; they cancel and extend nothing', async () => {
    const rig = createEngineRig({
      replies: [silence(41_000)],
      parts: { middleware: [{ afterModel: (reply) => reply }] },
    });
    expect(await rig.run()).toMatchObject({ output: 'x', attempts: 1 });
    expect(notices(rig)).toEqual([10, 25, 40]);
    expect((rig.log.at(-1)?.at ?? 0) - (rig.log[0]?.at ?? 0)).toBe(41_000);
  });

  test('E-333: they change no state', async () => {
    const rig = await play(silence(41_000));
    let state = initialRunState(rig.state().runId, rig.state().sessionId);
    for (const event of rig.log) {
      const next = evolve(state, event);
      if (event.type === 'waiting') expect(next).toBe(state);
      state = next;
    }
  });

  test('E-132: notices of a tool rise strictly, those of the next call begin anew', async () => {
    const tool = countingTool('slow', { run: async () => (await sleep(rig.clock, 26_000), { content: '' }) });
    const progress = { ...defaultPolicies.progress, tools: true };
    const rig: EngineRig = createEngineRig({
      replies: [simpleCall('a', 'slow', {}), simpleCall('b', 'slow', {}), done],
      tools: [tool],
      policies: { progress },
    });
    await rig.run();
    expect(notices(rig)).toEqual([10, 25, 10, 25]);
  });
});
