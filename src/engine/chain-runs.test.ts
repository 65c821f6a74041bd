// Whole runs over chains of models that fail in every way: the laws of the log, and what a user is left with.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { createScriptedModel, type ScriptedModel } from '../testing/scripted-model.ts';
import { defaultPolicies, type RetryPolicy } from './policies.ts';
import { simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { Middleware } from './middleware.ts';

interface ChainRun {
  readonly rig: EngineRig;
}

/** The requested model is `scripted-1`; the others follow it as `two`, `three`. */
function startRun(
  scripts: readonly (readonly ScriptedReply[])[],
  o: { readonly retry?: Partial<RetryPolicy>; readonly middleware?: readonly Middleware[] } = {},
): ChainRun {
  const names = ['scripted-1', 'two', 'three'];
  const script = (at: number) => (_: unknown, index: number) =>
    scripts[at]?.[index] ?? simpleText(`${names[at]} `, 'answers.');
  const models = new Map<string, ScriptedModel>();
  const rig: EngineRig = createEngineRig({
    replies: script(0),
    policies: { retry: { ...defaultPolicies.retry, ...o.retry } },
    parts: {
      ...(o.middleware === undefined ? {} : { middleware: o.middleware }),
      fallbacks: names.slice(1, scripts.length).map((model) => ({ model: { provider: 'scripted', model } })),
      async openModel({ model }) {
        const at = names.indexOf(model);
        const opened =
          at === 0
            ? rig.model
            : (models.get(model) ?? createScriptedModel(script(at), { clock: rig.clock, modelId: model }));
        if (at > 0) models.set(model, opened);
        return { model: opened, traits: {}, maxOutputTokens: null };
      },
    },
  });
  return { rig };
}

const refused = (status: number, more: object = {}): ScriptedReply => ({
  fault: { kind: 'status', status, ...more },
});
const typesOf = ({ rig }: ChainRun) => rig.log.map(({ type }) => type);
const resets = ({ rig }: ChainRun) => rig.log.flatMap((event) => (event.type === 'attempt-reset' ? [event.data] : []));

/** What a reader has at the end who drops, per step, what a reset gave up (L16). */
function shownText({ rig }: ChainRun): string {
  let text = '';
  for (const event of rig.log) {
    if (event.type === 'text-delta') text += event.data;
    else if (event.type === 'attempt-reset') text = '';
  }
  return text;
}

test('E-353, E-208: a failover is a fact of its own and no reset', async () => {
  const run = startRun([[refused(503)], []]);
  expect(await run.rig.run()).toMatchObject({
    output: 'two answers.',
    attempts: 1,
    model: { served: { model: 'two' }, fallback: true, reason: expect.stringContaining('503') },
  });
  expect(typesOf(run)).not.toContain('attempt-reset');
  expect(checkLog(run.rig.log)).toEqual([]);
});

test('E-202, E-352: after a visible chunk a server that wants two days is reset and left at once for the next one', async () => {
  const cut: ScriptedReply = {
    ...simpleText('half ', 'of it'),
    fault: { kind: 'error-event', after: 1, type: 'insufficient_quota', message: 'Out of credits.' },
  };
  const run = startRun([[cut], []]);
  expect(await run.rig.run()).toMatchObject({ output: 'two answers.', attempts: 2 });
  expect(resets(run)).toMatchObject([{ shown: true, retryInMs: 0 }]);
  expect(shownText(run)).toBe('two answers.');
  expect(checkLog(run.rig.log)).toEqual([]);
});

test('E-202: with no member left the run fails at once and its error names the time', async () => {
  const run = startRun([
    [refused(429, { headers: { 'retry-after': '172800' } })],
    [refused(503, { headers: { 'retry-after': '90000' } })],
  ]);
  const result = await run.rig.run();
  expect(result).toMatchObject({
    status: 'failed',
    attempts: 1,
    error: { message: expect.stringMatching(/25 hours, until /), causes: [{ type: 'ProviderError' }] },
  });
  expect(checkLog(run.rig.log)).toEqual([]);
});

test('E-113, I2: a run whose middleware breaks its contract fails, and says whose fault it is', async () => {
  const run = startRun([[{ pieces: [{ kind: 'tool-call', id: 'a', name: 'add', arguments: ['{}'] }] }]], {
    middleware: [{ afterModel: (reply) => ({ ...reply, calls: [] }) }],
  });
  expect(await run.rig.run()).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('middleware') },
  });
  expect(checkLog(run.rig.log)).toEqual([]);
});

describe('any chain that fails in any way', () => {
  const after = fc.constantFrom<'nothing' | number>('nothing', 0, 1, 2);
  const fault = fc.oneof(
    fc.record({ kind: fc.constantFrom('cut' as const, 'stall' as const, 'error-event' as const), after }),
    fc.record({ kind: fc.constant('no-end-mark' as const), after: fc.nat(2) }),
    fc.record({
      kind: fc.constant('status' as const),
      status: fc.constantFrom(429, 500, 503, 529, 408),
      headers: fc.constantFrom({}, { 'retry-after': '2' }, { 'retry-after': '30' }, { 'retry-after': '9000' }),
      type: fc.constantFrom('api_error', 'rate_limit_error', 'insufficient_quota'),
    }),
  );
  const reply = fc.oneof(
    { weight: 4, arbitrary: fault.map((each): ScriptedReply => ({ ...simpleText('so ', 'far'), fault: each })) },
    { weight: 1, arbitrary: fc.constant(simpleText('whole ', 'reply')) },
  );
  const scripts = fc.array(fc.array(reply, { maxLength: 6 }), { minLength: 1, maxLength: 3 });
  const retry = fc.record({
    switchAfter: fc.constantFrom(1, 2),
    cooldownSeconds: fc.constantFrom(0, 20),
    stayBelowSeconds: fc.constantFrom(0, 5),
    onLongRetryAfter: fc.constantFrom('fail-over' as const, 'fail' as const),
    fallbackMode: fc.constantFrom('switch' as const, 'fail' as const),
  });
  const buffers: readonly Middleware[] = [{ afterModel: (each) => each }];

  test('E-311, E-941: the laws hold, the run ends, and what is left on the screen is the accepted text, once', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, retry, fc.boolean(), async (chain, policy, buffered) => {
        const run = startRun(chain, { retry: policy, middleware: buffered ? buffers : [] });
        const result = await run.rig.run();
        expect(checkLog(run.rig.log)).toEqual([]);
        expect(run.rig.clock.pending).toBe(0);
        if (result?.status === 'completed') {
          expect(shownText(run)).toBe(result.output);
          expect(['whole reply', 'scripted-1 answers.', 'two answers.', 'three answers.']).toContain(result.output);
        } else
          expect(result).toMatchObject({
            status: 'failed',
            output: '',
            error: { message: expect.stringMatching(/\.$/) },
          });
        if (buffered) expect(resets(run).every(({ shown }) => !shown)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test('E-201: a model alone is never asked again earlier than it wanted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(60), { minLength: 1, maxLength: 3 }), async (waits) => {
        const askedAtMs: number[] = [];
        const answers = waits.map((seconds) => refused(429, { headers: { 'retry-after': String(seconds) } }));
        const rig: EngineRig = createEngineRig({
          replies(_, index) {
            askedAtMs.push(rig.clock.now());
            return answers[index] ?? simpleText('Done.');
          },
        });
        expect(await rig.run()).toMatchObject({ status: 'completed' });
        for (const [index, seconds] of waits.entries())
          expect((askedAtMs[index + 1] ?? 0) - (askedAtMs[index] ?? 0)).toBeGreaterThanOrEqual(seconds * 1000);
      }),
      { numRuns: 50 },
    );
  });
});
