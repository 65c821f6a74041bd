import { describe, expect, test } from 'vitest';
import { createChainRig, rigRef, streamOf, type ChainRig, type ChainResult } from '../testing/chain-rig.ts';
import { createModelHealth } from './model-health.ts';
import { silentLogger } from '../core/logger.ts';
import type { ModelPart } from './models/model-part.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';

const refused = (status: number, more: { message?: string; type?: string; after?: number } = {}): ScriptedReply => {
  const { after, ...said } = more;
  const headers = after === undefined ? {} : { 'retry-after': String(after) };
  return { fault: { kind: 'status', status, headers, ...said } };
};
const busy = (after?: number) => refused(429, after === undefined ? {} : { after });
const spent = (after?: number) =>
  refused(429, { type: 'insufficient_quota', ...(after === undefined ? {} : { after }) });
const down = refused(503);
const finish: ModelPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};
const calls = ({ models }: ChainRig) => Object.values(models).map((model) => model.calls.length);
const textOf = ({ drafts }: ChainResult) =>
  drafts.flatMap((draft) => (draft.type === 'text-delta' ? [draft.data] : [])).join('');
const switches = ({ drafts }: ChainResult) =>
  drafts.flatMap((draft) =>
    draft.type === 'model-switched' ? [{ ...draft.data, from: draft.data.from.model, to: draft.data.to.model }] : [],
  );

function failureOf({ outcome }: ChainResult) {
  if (outcome.type !== 'failed') throw new Error(`The outcome is '${outcome.type}'.`);
  return outcome.failure;
}

describe('failover', () => {
  test('a failure is logged where another member follows; the last one is told of by its step', async () => {
    const logged = async (...names: readonly string[]) => {
      const lines: unknown[] = [];
      const logger = { ...silentLogger, warn: (_: string, facts = {}) => void lines.push(facts) };
      const members = Object.fromEntries(names.map((name) => [name, { replies: [down] }]));
      await createChainRig({ members, logger }).call();
      return lines;
    };
    expect(await logged('one')).toEqual([]);
    expect(await logged('one', 'two')).toEqual([expect.objectContaining({ model: 'one', status: 503 })]);
  });

  test('E-350, E-353: a transient failure goes to the next member inside the attempt, and the switch is a fact before its first delta', async () => {
    const rig = createChainRig({ members: { one: { replies: [down] }, two: { replies: [simpleText('Hi.')] } } });
    const result = await rig.call();
    expect(result.outcome).toMatchObject({ type: 'reply', reply: { text: 'Hi.', served: rigRef('two') } });
    expect(result.drafts.map(({ type, step, attempt }) => [type, step, attempt])).toEqual([
      ['model-switched', 1, 1],
      ['text-delta', 1, 1],
    ]);
    expect(switches(result)).toEqual([
      { kind: 'failover', from: 'one', to: 'two', reason: expect.stringContaining('status 503') },
    ]);
    // Alone in its group, so that it is committed before the new member is called.
    expect(result.groups[0]).toHaveLength(1);
  });

  test.each([
    ['an error event before anything', { ...simpleText('x'), fault: { kind: 'error-event', after: 'nothing' } }],
    ['a cut after the start', { ...simpleText('x'), fault: { kind: 'cut', after: 0 } }],
    ['silence after the start', { ...simpleText('x'), fault: { kind: 'stall', after: 0 } }],
    ['an end without its mark', { ...simpleText('x'), fault: { kind: 'no-end-mark', after: 0 } }],
  ] as const)('E-351, B066: %s shows nothing, so it does not close the window', async (_, reply) => {
    const rig = createChainRig({ members: { one: { replies: [reply] }, two: { replies: [simpleText('Hi.')] } } });
    expect(await rig.call()).toMatchObject({ outcome: { type: 'reply', reply: { text: 'Hi.' } } });
  });

  test.each([
    ['text', simpleText('x', 'y')],
    ['thinking', { pieces: [{ kind: 'thinking', chunks: ['x', 'y'] }] }],
    ['a tool delta', simpleCall('a', 'add', {})],
  ] satisfies [string, ScriptedReply][])('E-351, E-352: after %s the failure is the outcome', async (_, reply) => {
    const rig = createChainRig({
      members: { one: { replies: [{ ...reply, fault: { kind: 'cut', after: 1 } }] }, two: {} },
    });
    expect(failureOf(await rig.call())).toMatchObject({ class: 'transient', retryAtOnce: false });
    expect(calls(rig)).toEqual([1, 0]);
  });

  test("E-350: the last member's failure is the outcome, with those before as its causes; the next attempt begins at the first again", async () => {
    const rig = createChainRig({
      members: {
        one: { replies: () => down },
        two: { replies: () => busy(7) },
        three: { replies: () => refused(500) },
      },
    });
    expect(failureOf(await rig.call())).toMatchObject({
      class: 'transient',
      error: {
        status: 500,
        model: 'three',
        causes: [{ message: expect.stringContaining('503') }, { message: expect.stringContaining('429') }],
      },
    });
    await rig.call({ attempt: 2 });
    // The second one asked to be left alone for 7 s (E-201).
    expect(calls(rig)).toEqual([2, 1, 2]);
  });

  test('E-350: with switchAfter 2 the first strike goes to the retry logic, the second to the next member', async () => {
    const rig = createChainRig({
      members: { one: { replies: () => down }, two: { replies: () => simpleText('Hi.') } },
      retry: { switchAfter: 2 },
    });
    expect((await rig.call()).outcome.type).toBe('failed');
    expect((await rig.call({ attempt: 2 })).outcome.type).toBe('reply');
    expect(calls(rig)).toEqual([2, 1]);
  });

  test("E-353: fallbackMode 'fail' forbids switching", async () => {
    const rig = createChainRig({ members: { one: { replies: [down] }, two: {} }, retry: { fallbackMode: 'fail' } });
    expect(failureOf(await rig.call())).toMatchObject({ error: { model: 'one' } });
    expect(calls(rig)).toEqual([1, 0]);
  });

  test.each([
    [400, 'final'],
    [401, 'authentication'],
    [404, 'final'],
    [422, 'final'],
  ])('E-354: a %i is %s for the run at once', async (status, failureClass) => {
    const rig = createChainRig({ members: { one: { replies: [refused(status)] }, two: {} } });
    expect(failureOf(await rig.call()).class).toBe(failureClass);
    expect(calls(rig)).toEqual([1, 0]);
  });

  test('E-440: a request that is too long is for compaction, not for another member', async () => {
    const rig = createChainRig({
      members: { one: { replies: [refused(400, { message: 'prompt is too long' })] }, two: {} },
    });
    expect(failureOf(await rig.call()).class).toBe('overflow');
    expect(calls(rig)).toEqual([1, 0]);
  });

  test('E-358: a refusal is a reply', async () => {
    const rig = createChainRig({
      members: { one: { replies: [{ ...simpleText('No.'), finish: 'content-filter' }] }, two: {} },
    });
    expect((await rig.call()).outcome).toMatchObject({ type: 'reply', reply: { finishReason: 'safety' } });
    expect(calls(rig)).toEqual([1, 0]);
  });

  test('E-020: a fallback that cannot be opened is passed over; the requested model that cannot is an error', async () => {
    const rig = createChainRig({ members: { one: { replies: () => down } } });
    const members = { one: { replies: [down] }, gone: {}, three: { replies: [simpleText('Hi.')] } };
    const passing = createChainRig({ members });
    const cannot = () => Promise.reject(new Error('No credential.'));
    passing.opening['gone'] = cannot;
    expect(switches(await passing.call())).toMatchObject([{ from: 'one', to: 'three' }]);
    rig.opening['one'] = cannot;
    await expect(rig.call()).rejects.toThrow('No credential.');
  });
});

describe('quota and long waits', () => {
  test('E-354, B071: spent quota goes to the next member at once, and the spent one is skipped until it is probed', async () => {
    const rig = createChainRig({
      members: {
        one: { replies: (_, index) => (index === 0 ? spent() : simpleText('Back.')) },
        two: { replies: () => simpleText('Hi.') },
      },
    });
    const first = await rig.call();
    expect(first).toMatchObject({ tookMs: 0, outcome: { type: 'reply' } });
    const second = await rig.call();
    expect(switches(second)).toEqual([
      { kind: 'failover', from: 'one', to: 'two', reason: expect.stringContaining('left alone') },
    ]);
    expect(calls(rig)).toEqual([1, 2]);
    await rig.clock.advance(900_000);
    expect(textOf(await rig.call())).toBe('Back.');
  });

  test('E-354: if all are blocked, all are tried', async () => {
    const rig = createChainRig({
      members: {
        one: { replies: () => spent() },
        two: { replies: (_, index) => (index === 0 ? spent() : simpleText('Hi.')) },
      },
    });
    expect(failureOf(await rig.call())).toMatchObject({
      class: 'quota',
      error: { type: 'QuotaExhaustedError', causes: [{}] },
    });
    expect((await rig.call()).outcome.type).toBe('reply');
    expect(calls(rig)).toEqual([2, 2]);
  });

  test('E-202: a wait that is too long blocks the member and the next one is tried at once', async () => {
    const rig = createChainRig({
      members: { one: { replies: [busy(172_800)] }, two: { replies: () => simpleText('Hi.') } },
    });
    expect(await rig.call()).toMatchObject({ tookMs: 0, outcome: { type: 'reply' } });
    await rig.clock.advance(3_600_000);
    await rig.call();
    expect(calls(rig)).toEqual([1, 2]);
  });

  test('E-202: with no member left the failure names the time', async () => {
    const rig = createChainRig({ members: { one: { replies: [busy(172_800)] } } });
    const failure = failureOf(await rig.call());
    expect(failure).toMatchObject({ retryAfterMs: 172_800_000, retryAtOnce: false });
    expect(failure.error.message).toMatch(/wait 2 days, until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/);
  });

  test("E-202: onLongRetryAfter 'fail' asks nobody else", async () => {
    const rig = createChainRig({
      members: { one: { replies: [busy(172_800)] }, two: {} },
      retry: { onLongRetryAfter: 'fail' },
    });
    expect(failureOf(await rig.call()).error.message).toContain('2 days');
    expect(calls(rig)).toEqual([1, 0]);
  });

  test.each([
    ['a long wait', { message: 'Overloaded', retry_after: 172_800 }, 'transient'],
    ['spent quota', { message: 'Out.', code: 'insufficient_quota' }, 'quota'],
  ])(
    'E-202, E-354: %s after a visible chunk: the next attempt goes to the next member at once',
    async (_, said, failureClass) => {
      const failing = streamOf([
        { type: 'text-delta', id: '0', delta: 'x' },
        { type: 'error', error: { type: 'overloaded_error', ...said } },
      ]);
      const rig = createChainRig({ members: { one: { model: failing }, two: { replies: () => simpleText('Hi.') } } });
      expect(failureOf(await rig.call())).toMatchObject({ class: failureClass, retryAtOnce: true });
      expect(switches(await rig.call({ attempt: 2 }))).toMatchObject([{ from: 'one', to: 'two' }]);
      const alone = createChainRig({ members: { one: { model: failing } } });
      expect(failureOf(await alone.call())).toMatchObject({ retryAtOnce: false });
    },
  );

  test('of several failures the newest that a retry can put right decides', async () => {
    const rig = createChainRig({ members: { one: { replies: [down] }, two: { replies: [spent()] } } });
    expect(failureOf(await rig.call())).toMatchObject({
      class: 'transient',
      error: { model: 'one', causes: [{ type: 'QuotaExhaustedError' }] },
    });
  });
});

describe('B073, B074: many runs', () => {
  test('E-355, B073: 50 runs at once wait out the burst on their own model; the second one is not flooded', async () => {
    const untilMs = { value: 0 };
    const rig: ChainRig = createChainRig({
      members: {
        one: { replies: () => (rig.clock.now() < untilMs.value ? busy(2) : simpleText('Hi.')) },
        two: { replies: () => simpleText('Hi.') },
      },
      retry: { stayBelowSeconds: 5 },
    });
    untilMs.value = rig.clock.now() + 2000;
    const run = async () => {
      const failed = failureOf(await rig.call());
      expect(failed.retryAfterMs).toBe(2000);
    };
    await Promise.all(Array.from({ length: 50 }, run));
    await rig.clock.advance(2000);
    const second = await Promise.all(Array.from({ length: 50 }, () => rig.call({ attempt: 2 })));
    expect(second.every(({ outcome }) => outcome.type === 'reply')).toBe(true);
    expect(calls(rig)).toEqual([100, 0]);
  });

  test('E-355, B073: one that stays busy is waited for once, then left', async () => {
    const rig = createChainRig({
      members: { one: { replies: () => busy(2) }, two: { replies: () => simpleText('Hi.') } },
      retry: { stayBelowSeconds: 5 },
    });
    expect((await rig.call()).outcome.type).toBe('failed');
    expect((await rig.call({ attempt: 2 })).outcome.type).toBe('reply');
  });

  test.each([
    ['with a fallback', true],
    ['alone', false],
  ])(
    'B074: a hundred runs in a row on a provider that names a late hour ask it a few times (%s), over a restart too',
    async (_, fallback) => {
      const two = fallback ? { two: { replies: () => simpleText('Hi.') } } : {};
      const rig = createChainRig({ members: { one: { replies: () => busy(36_000) }, ...two } });
      const known = new Map<string, number>();
      rig.health.onTold(({ model }, untilMs) => void known.set(model, untilMs ?? 0));
      for (let run = 0; run < 100; run++) {
        if (run === 50) {
          rig.health = createModelHealth({ clock: rig.clock });
          rig.health.restore([...known].map(([model, untilMs]) => ({ ref: rigRef(model), untilMs })));
        }
        const { outcome } = await rig.call();
        expect(outcome.type).toBe(fallback ? 'reply' : 'failed');
        if (outcome.type === 'failed') expect(outcome.failure.error.message).toContain('10 hours');
      }
      expect(calls(rig)[0]).toBeLessThan(20);
    },
  );
});

describe('E-356: a continuation that is bound to its member', () => {
  const members = () => ({ one: { replies: () => simpleText('One.') }, two: { replies: () => simpleText('Two.') } });

  test('begins there, bound blocks and all', async () => {
    const rig = createChainRig({ members: members() });
    const result = await rig.call({ pinned: 'two' });
    expect(textOf(result)).toBe('Two.');
    expect(rig.asked).toMatchObject([{ member: { ref: rigRef('two') }, dropBound: false }]);
    expect(switches(result)).toMatchObject([{ from: 'one', to: 'two', reason: expect.stringContaining('bound') }]);
  });

  test.each([
    ['fails', { replies: () => down }],
    ['is blocked', { replies: () => spent() }],
  ])('is released, without the bound blocks, when its member %s, and says so', async (_, two) => {
    const rig = createChainRig({ members: { ...members(), two } });
    for (let round = 0; round < 2; round++) {
      const result = await rig.call({ pinned: 'two' });
      expect(textOf(result)).toBe('One.');
      expect(rig.asked.at(-1)).toMatchObject({ member: { ref: rigRef('one') }, dropBound: true });
    }
    const again = await createChainRig({ members: { ...members(), two: { replies: () => down } } }).call({
      pinned: 'two',
    });
    expect(switches(again).at(-1)).toMatchObject({
      from: 'two',
      to: 'one',
      reason: expect.stringContaining("What only 'two' can read was left out."),
    });
  });
});

describe('E-211: replies that cannot be as long as was asked for', () => {
  const tooLong = refused(400, { message: 'max_tokens: 9000 > 4096, which is the maximum allowed' });

  test('the same attempt asks again with the stated limit, and later calls know it', async () => {
    const rig = createChainRig({
      members: { one: { replies: (_, index) => (index === 0 ? tooLong : simpleText('Hi.')) } },
      request: { maxOutputTokens: 9000 },
    });
    expect((await rig.call()).outcome.type).toBe('reply');
    await rig.call();
    expect(rig.models['one']?.calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([9000, 4096, 4096]);
    expect(rig.asked.map(({ replyLimit }) => replyLimit)).toEqual([null, 4096, 4096]);
  });

  test('at most once, and only where a limit is stated', async () => {
    const still = createChainRig({
      members: {
        one: { replies: () => refused(400, { message: 'max_tokens is too large, at most 2000, then 1000' }) },
        two: {},
      },
      request: { maxOutputTokens: 9000 },
    });
    expect(failureOf(await still.call())).toMatchObject({ class: 'reply-limit', error: { type: 'ProviderError' } });
    expect(calls(still)).toEqual([2, 0]);
    const unstated = createChainRig({
      members: { one: { replies: [refused(400, { message: 'max_tokens is too large' })] } },
      request: { maxOutputTokens: 9000 },
    });
    await unstated.call();
    expect(calls(unstated)).toEqual([1]);
  });
});

describe('the model that answered', () => {
  test('E-357: a provider that names another model than the fallback that was called is a second switch', async () => {
    const rig = createChainRig({
      members: { one: { replies: [down] }, two: { replies: [{ ...simpleText('Hi.'), modelId: 'other' }] } },
    });
    const result = await rig.call();
    expect(switches(result)).toMatchObject([
      { kind: 'failover', from: 'one', to: 'two' },
      { kind: 'reported', from: 'two', to: 'other' },
    ]);
    expect(result.outcome).toMatchObject({ reply: { served: rigRef('other') } });
  });

  test('E-357: a dated name is no other model', async () => {
    const rig = createChainRig({
      members: { one: { replies: [{ ...simpleText('Hi.'), modelId: 'maker/one-2026-11-29' }] } },
    });
    const result = await rig.call();
    expect(switches(result)).toEqual([]);
    expect(result.outcome).toMatchObject({ reply: { served: rigRef('one') } });
  });

  test('E-133: a fallback that does not name itself is known by the name it was called by; a late name of another model is not believed', async () => {
    const silent = streamOf([
      { type: 'text-delta', id: '0', delta: 'Hi.' },
      { type: 'response-metadata', modelId: 'other' },
      finish,
    ]);
    const rig = createChainRig({ members: { one: { replies: [down] }, two: { model: silent } } });
    const result = await rig.call();
    expect(switches(result)).toMatchObject([{ kind: 'failover' }]);
    expect(result.outcome).toMatchObject({ reply: { served: rigRef('two') } });
  });
});

describe('a stop', () => {
  test('B094: of a run that is stopped nobody is called any more', async () => {
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    const rig = createChainRig({ members: { one: {} } });
    expect((await rig.call({ signal: stop.signal })).outcome).toEqual({ type: 'stopped' });
    expect(calls(rig)).toEqual([0]);
  });

  test('B076, B094: between two members it ends the attempt before the second is called', async () => {
    const stop = new AbortController();
    const rig = createChainRig({ members: { one: { replies: [down] }, two: {} } });
    const { outcome } = await rig.call({ signal: stop.signal, onGroup: () => stop.abort(new Error('stopped')) });
    expect(outcome).toEqual({ type: 'stopped' });
    expect(calls(rig)).toEqual([1, 0]);
    expect(rig.clock.pending).toBe(0);
  });

  test('B076: the second member has a live signal of its own, which the stop reaches', async () => {
    const stop = new AbortController();
    const rig = createChainRig({
      members: {
        one: { replies: [down] },
        two: { replies: [{ ...simpleText('a', 'b'), fault: { kind: 'stall', after: 1 } }] },
      },
    });
    const onGroup = (group: ChainResult['drafts']) =>
      void (group.some(({ type }) => type === 'text-delta') && stop.abort(new Error('stopped')));
    const { outcome, tookMs } = await rig.call({ signal: stop.signal, onGroup });
    expect([outcome, tookMs]).toEqual([{ type: 'stopped' }, 0]);
    const [one, two] = [rig.models['one'], rig.models['two']].map((model) => model?.calls[0]?.abortSignal);
    expect(one).not.toBe(two);
    expect([two?.aborted, rig.clock.pending]).toEqual([true, 0]);
  });
});
