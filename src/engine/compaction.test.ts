import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { compactContext, type CompactOptions, type CompactOutcome } from './compaction.ts';
import { estimateTokens } from './token-estimate.ts';
import { readContext } from './context-view.ts';
import { createLogBuilder, testTask, type LogBuilder } from '../testing/log-builder.ts';
import { defaultPolicies } from './policies.ts';
import { type EventData } from '../core/run-event.ts';
import { noBudgets, type Limits } from '../core/run-config.ts';
import { withoutPlace, type Message } from '../core/transcript.ts';
import { addUsage, type Usage } from '../core/usage.ts';

const usage: Usage = {
  inputTokens: 100,
  outputTokens: 10,
  cacheReadInputTokens: null,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
};

interface StepSize {
  /** Tokens of each result. */
  readonly results: readonly number[];
  /** Tokens of the reply that calls for them. */
  readonly reply?: number;
  /** The reply is not whole: the next one goes on with it. */
  readonly paused?: boolean;
  /** Somebody speaks after it. */
  readonly spoken?: boolean;
  readonly inputTokens?: number;
}

const text = (tokens: number) => 'word '.repeat(Math.ceil((tokens * 4) / 5)).slice(0, tokens * 4);

function begin(limits: Partial<Limits> = {}): LogBuilder {
  const log = createLogBuilder();
  log.start(testTask);
  const [first] = log.events;
  if (first?.type !== 'run-started') throw new Error('A log begins with run-started.');
  return createLogBuilder([{ ...first, data: { ...first.data, limits: { ...noBudgets, ...limits } } }]);
}

function work(log: LogBuilder, steps: readonly StepSize[]): LogBuilder {
  for (const { results: sizes, reply = 2, paused = false, spoken, inputTokens } of steps) {
    const calls = (paused ? [] : sizes).map((tokens, index) => ({
      kind: 'call' as const,
      id: `call_${index}`,
      pieces: ['{}'],
      outcome: 'ok' as const,
      content: text(tokens),
    }));
    const counted = inputTokens === undefined ? {} : { usage: { ...usage, inputTokens } };
    log.step({
      blocks: [{ kind: 'text', pieces: [text(reply)] }, ...calls],
      ...counted,
      ...(paused ? { finishReason: 'pause-turn' as const } : {}),
    });
    if (spoken === true) speak(log, 'And this.');
  }
  return log;
}

function speak(log: LogBuilder, said: string): void {
  const data = { messageId: `m${log.events.length}`, content: [{ type: 'text', text: said }], mode: 'steer' } as const;
  log.add({ type: 'user-message', step: log.state.step, attempt: 0, data });
}

const said = (summary: string) => ({ text: summary, usage, usageIncomplete: false });

/** One round of compaction on a log, which takes what it yields. */
async function compact(log: LogBuilder, options: Partial<CompactOptions> = {}) {
  const asked: Parameters<CompactOptions['summarise']>[] = [];
  const given: CompactOptions = {
    trigger: 'auto',
    history: [],
    windowTokens: null,
    replyBudget: null,
    toolTokens: 0,
    policy: defaultPolicies.compaction,
    summarise: async () => said('In short.'),
    ...options,
  };
  const summarise: CompactOptions['summarise'] = (...args) => {
    asked.push(args);
    return given.summarise(...args);
  };
  const made: EventData['compacted'][] = [];
  const round = compactContext(() => log.state, { ...given, summarise });
  let outcome: CompactOutcome | undefined;
  while (outcome === undefined) {
    const { done, value } = await round.next();
    if (done === true) outcome = value;
    else
      for (const draft of value) {
        log.add(draft);
        if (draft.type === 'compacted') made.push(draft.data);
      }
  }
  return { outcome, made, change: made[0], asked, view: readContext(log.state, given.history).messages };
}

const roles = (messages: readonly Message[]) => messages.map(({ role }) => role);
const results = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? message.answers.map(({ content }) => content) : []));

describe('when it is due (E-440)', () => {
  test('nothing happens below the limit, and a window that nobody knows has none', async () => {
    const log = work(begin(), [{ results: [30_000] }, { results: [30_000] }]);
    expect(await compact(log)).toMatchObject({ outcome: 'not-due', made: [] });
    expect(await compact(log, { windowTokens: 70_000 })).toMatchObject({ outcome: 'not-due', made: [] });
  });

  test('the limit is the window without the reply and 1,024 tokens, or maxContextTokens', async () => {
    const steps = [{ results: [30_000] }, { results: [30_000] }];
    const tight = { windowTokens: 92_000, replyBudget: 32_000 };
    expect(await compact(work(begin(), steps), tight)).toMatchObject({ outcome: 'shortened' });
    expect(await compact(work(begin(), steps), { ...tight, windowTokens: 95_000 })).toMatchObject({
      outcome: 'not-due',
    });
    for (const windowTokens of [50_000, 200_000]) {
      const own = work(begin({ maxContextTokens: 50_000 }), steps);
      expect(await compact(own, { windowTokens, replyBudget: 32_000 })).toMatchObject({ outcome: 'shortened' });
    }
  });

  test('a reply that is promised the whole window leaves the request its half', async () => {
    const log = work(begin(), [{ results: [2000] }, { results: [100] }]);
    const own = { windowTokens: 8000, replyBudget: 8000 };
    expect(await compact(log, own)).toMatchObject({ outcome: 'not-due' });
    work(log, [{ results: [2500] }]);
    expect(await compact(log, own)).toMatchObject({ outcome: 'shortened' });
  });

  test('tools and the system prompt count', async () => {
    const log = work(begin({ maxContextTokens: 10_000 }), [{ results: [4000] }, { results: [4000] }]);
    expect(await compact(log, { toolTokens: 1000 })).toMatchObject({ outcome: 'not-due' });
    expect(await compact(log, { toolTokens: 3000 })).toMatchObject({ outcome: 'shortened' });
  });

  test("the provider's own count of the newest request is believed, and forgotten once the view changes", async () => {
    const log = work(begin({ maxContextTokens: 50_000 }), [
      { results: [1000] },
      { results: [1000], inputTokens: 60_000 },
      { results: [500] },
    ]);
    const { change } = await compact(log);
    expect(change?.tokensBefore).toBeGreaterThan(61_500);
    expect(change?.tokensBefore).toBeLessThan(61_600);
    expect(log.state.measured).toBeNull();
    expect(await compact(log)).toMatchObject({ outcome: 'not-due' });
  });

  test('switched off, only a person can have it done', async () => {
    const off = { policy: { ...defaultPolicies.compaction, enabled: false }, windowTokens: 1000 };
    const log = () => work(begin(), [{ results: [3000] }, { results: [100] }]);
    expect(await compact(log(), off)).toMatchObject({ outcome: 'not-due', asked: [] });
    expect(await compact(log(), { ...off, trigger: 'overflow' })).toMatchObject({ outcome: 'nothing-left', asked: [] });
    expect(await compact(log(), { ...off, trigger: 'manual' })).toMatchObject({ outcome: 'shortened' });
  });
});

describe('pruning (E-441)', () => {
  const many = (count: number) => Array.from({ length: count }, () => ({ results: [10_000] }));

  test('old results go, the newest 40,000 tokens stay, no summary is asked for', async () => {
    const log = work(begin({ maxContextTokens: 75_000 }), many(8));
    const { change, asked, view } = await compact(log);
    expect(change).toMatchObject({ method: 'prune', trigger: 'auto', usage: null });
    expect(asked).toEqual([]);
    expect(results(view).map((content) => content.length > 1000)).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(change?.tokensAfter).toBe(estimateTokens(view));
  });

  test('it is not done for less than 20,000 tokens, nor where it is not enough', async () => {
    expect((await compact(work(begin({ maxContextTokens: 50_000 }), many(5)))).change?.method).toBe('summary');
    expect((await compact(work(begin({ maxContextTokens: 30_000 }), many(8)))).change?.method).toBe('summary');
  });

  test('results of earlier runs are old ones too, and each counts for itself', async () => {
    const history = work(begin(), many(6)).state.transcript.messages.map(withoutPlace);
    const log = work(begin({ maxContextTokens: 60_000 }), many(1));
    const { change, view } = await compact(log, { history });
    expect(change).toMatchObject({ method: 'prune' });
    expect(results(view).filter((content) => content.length > 1000)).toHaveLength(4);
  });
});

describe('summary and trim (E-441, E-445)', () => {
  const steps = Array.from({ length: 10 }, (_, index) => ({ results: [1000], spoken: index === 4 }));

  test('the old messages become a summary, at most 8,000 tokens long, counted in the usage of the run', async () => {
    const log = work(begin({ maxContextTokens: 8000 }), steps);
    const { change, asked, view } = await compact(log);
    expect(change).toMatchObject({ method: 'summary', summary: 'In short.', usage });
    expect(change?.tokensAfter).toBeLessThan(4000);
    expect(asked[0]?.[1]).toBe(2000);
    expect(log.state.usage).toEqual(usage);
    expect(log.state.recoveries.summaries).toBe(1);
    expect(roles(view).slice(0, 3)).toEqual(['user', 'user', 'assistant']);
    const large = work(begin({ maxContextTokens: 90_000 }), [...steps, { results: [45_000, 45_000] }, ...steps]);
    expect((await compact(large)).asked[0]?.[1]).toBe(8000);
  });

  test('the request for it is one text without calls that fits, whatever the conversation holds', async () => {
    const log = work(begin({ maxContextTokens: 8000 }), [{ results: [50_000] }, ...steps]);
    const { asked } = await compact(log, { instructions: 'Keep the numbers.' });
    const prompt = asked[0]?.[0] ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(JSON.stringify(prompt)).toContain('Keep the numbers.');
    expect(JSON.stringify(prompt)).toContain('Do it.');
    expect(JSON.stringify(prompt).length / 4).toBeLessThan(8000);
  });

  test('the next summary is given the one before it', async () => {
    const log = work(begin({ maxContextTokens: 8000 }), steps);
    await compact(log, { summarise: async () => said('The secret is 42.') });
    work(log, steps);
    const { asked, change } = await compact(log);
    expect(JSON.stringify(asked[0]?.[0])).toContain('The secret is 42.');
    expect(change?.method).toBe('summary');
  });

  test.each([
    ['fails', { text: '', usage: null, usageIncomplete: true }],
    ['is empty', said(' \n')],
    ['is longer than what it stands for', said(text(20_000))],
  ])('a summary that %s leads to a trim that bills it, never to a failure', async (_, reply) => {
    const log = work(begin({ maxContextTokens: 8000 }), steps);
    const before = log.state.usage;
    const { change, outcome } = await compact(log, { summarise: async () => reply });
    expect(log.state.usage).toEqual(addUsage(before, reply.usage));
    expect(change?.usageIncomplete ?? false).toBe(reply.usageIncomplete);
    expect(outcome).toBe('shortened');
    expect(change).toMatchObject({ method: 'trim', usage: reply.usage });
    expect(change?.tokensAfter).toBeLessThan(4200);
  });

  test('at most three summaries a run, and none once a budget is spent', async () => {
    const log = begin({ maxContextTokens: 8000 });
    const methods: (string | undefined)[] = [];
    for (let round = 0; round < 4; round++) methods.push((await compact(work(log, steps))).change?.method);
    expect(methods).toEqual(['summary', 'summary', 'summary', 'trim']);
    const spent = work(begin({ maxContextTokens: 8000, maxTotalTokens: 50 }), [{ results: [9000], inputTokens: 90 }]);
    expect(await compact(work(spent, steps))).toMatchObject({ asked: [], change: { method: 'trim' } });
  });

  test('a stop while the summary is made changes nothing', async () => {
    const stop = new AbortController();
    const summarise = async () => {
      stop.abort();
      return said('');
    };
    const log = work(begin({ maxContextTokens: 8000 }), steps);
    const { outcome, made } = await compact(log, { summarise, signal: stop.signal });
    expect({ outcome, made }).toEqual({ outcome: 'nothing-left', made: [] });
  });

  test('after an overflow less is left than was too long, until nothing is left to go', async () => {
    const log = work(begin(), [{ results: [20_000, 20_000] }, ...steps, { results: [3000] }]);
    const sizes: number[] = [];
    for (let round = 0; round < 20; round++) {
      const { change, outcome } = await compact(log, { trigger: 'overflow' });
      if (change === undefined) {
        expect(outcome).toBe('nothing-left');
        break;
      }
      expect(change.tokensAfter).toBeLessThan(change.tokensBefore);
      sizes.push(change.tokensAfter);
    }
    expect(sizes.length).toBeGreaterThan(0);
    expect(sizes.length).toBeLessThan(20);
    expect(log.state.recoveries.overflows).toBe(sizes.length);
  });

  test('the first request of a run can lose all that was before it, and nothing else', async () => {
    const history = work(begin(), [{ results: [90_000] }]).state.transcript.messages.map(withoutPlace);
    const log = begin({ maxContextTokens: 20_000 });
    const { view, change } = await compact(log, { history });
    expect(change).toMatchObject({ method: 'summary', throughSeq: 0 });
    expect(roles(view)).toEqual(['user', 'user']);
    expect(await compact(log, { history, trigger: 'overflow' })).toMatchObject({ outcome: 'nothing-left' });
  });
});

describe('what stays (E-443)', () => {
  const size = fc.nat({ max: 6000 });
  const step: fc.Arbitrary<StepSize> = fc.record({
    results: fc.array(size, { maxLength: 3 }),
    reply: size.map((tokens) => tokens + 1),
    paused: fc.boolean(),
    spoken: fc.boolean(),
  });
  const steps = fc.array(step, { maxLength: 6 });
  const round = fc.record({
    trigger: fc.constantFrom('auto' as const, 'overflow' as const, 'manual' as const),
    windowTokens: fc.option(fc.integer({ min: 1000, max: 20_000 })),
    fails: fc.boolean(),
    more: steps,
  });
  const policy = { ...defaultPolicies.compaction, pruneKeepsTokens: 4000, pruneFreesTokens: 2000 };

  test('what was asked, the newest reply and all after it, each call with its result, and never a longer view', async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, fc.array(round, { minLength: 1, maxLength: 3 }), async (before, now, rounds) => {
        const history = work(begin(), before).state.transcript.messages.map(withoutPlace);
        const log = work(begin(), now);
        for (const { trigger, windowTokens, fails, more } of rounds) {
          const summarise = async () => said(fails ? '' : 'Short.');
          const old = readContext(log.state, history).messages;
          const { change, made, view } = await compact(log, { trigger, windowTokens, history, policy, summarise });
          expect(made.length).toBeLessThan(2);
          expect(view).toContain(log.state.transcript.messages[0]);
          const ofRun = log.state.transcript.messages;
          const newest = ofRun.findLastIndex(({ role }) => role === 'assistant');
          for (const message of ofRun.slice(Math.max(newest, 0)))
            if (message.role !== 'tool') expect(view).toContain(message);
          expectNoSplit(view);
          expectWholeReplies([...history, ...ofRun], view);
          if (change !== undefined) {
            expect(change.tokensAfter).toBeLessThan(change.tokensBefore);
            expect(estimateTokens(view)).toBeLessThan(estimateTokens(old));
          } else expect(view).toEqual(old);
          work(log, more);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function expectNoSplit(view: readonly Message[]): void {
  for (const [index, message] of view.entries()) {
    const before = view[index - 1];
    const calls = before?.role === 'assistant' ? before.parts.filter(({ kind }) => kind === 'tool-call').length : 0;
    if (message.role === 'tool') expect(message.answers).toHaveLength(calls);
    else expect(calls).toBe(0);
  }
}

/** A reply in pieces is there with all of them or with none. */
function expectWholeReplies(all: readonly Message[], view: readonly Message[]): void {
  for (const [index, message] of all.entries())
    if (message.role === 'assistant' && all[index + 1]?.role === 'assistant')
      expect(view.includes(message)).toBe(view.some((other) => other === all[index + 1]));
}
