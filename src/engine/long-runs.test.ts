// What a step costs in the first and in the thousandth step of a run.

import { expect, test, vi } from 'vitest';
import { readContext, type ContextView } from './context-view.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { buildPrompt } from './build-prompt.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { estimateTokens } from './token-estimate.ts';
import { evolve, initialRunState, type RunState } from '../core/run-state.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import { testRunId, testSessionId } from '../testing/log-builder.ts';
import { viewOf, withoutPlace, type Message } from '../core/transcript.ts';
import fc from 'fast-check';
import type { ContentStore } from './content-store.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Tool } from './tool.ts';

function workFor(rounds: number, run: Tool['run'], more: Partial<EngineRigOptions> = {}): EngineRig {
  return createEngineRig({
    replies: (_, index) => (index < rounds ? simpleCall('a', 'add', { n: index }) : simpleText('Done.')),
    tools: [countingTool('add', { run })],
    limits: { maxSteps: 0 },
    ...more,
  });
}

/** Abort listeners that nobody has removed, of all signals there are. */
function countListeners() {
  let count = 0;
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const counting = (by: number, change: typeof addEventListener): typeof addEventListener =>
    function (this: EventTarget, ...args) {
      if (this instanceof AbortSignal) count += by;
      return change.apply(this, args);
    };
  const spies = [
    vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(counting(1, addEventListener)),
    vi.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(counting(-1, removeEventListener)),
  ];
  return { current: () => count, [Symbol.dispose]: () => spies.forEach((spy) => spy.mockRestore()) };
}

test('E-847: over 2,000 rounds the listeners, timers and followers of the signals of a run stay as many', async () => {
  using listeners = countListeners();
  const follow = vi.spyOn(AbortSignal, 'any');
  const seen = new Set<string>();
  const rig = workFor(2000, async () => {
    seen.add(`${listeners.current()} ${rig.clock.pending}`);
    return { content: 'ok' };
  });
  expect(await rig.run()).toMatchObject({ status: 'completed', steps: 2001 });
  expect(seen.size).toBe(1);
  expect(follow).not.toHaveBeenCalled();
});

/** The states of a run as its driver has them, one after the other. */
function* statesOf(log: readonly RunEvent[]): Generator<RunState> {
  let state = initialRunState(testRunId, testSessionId);
  for (const event of log) yield (state = evolve(state, event));
}

const messagesOf = (log: readonly RunEvent[]): readonly Message[] =>
  [...statesOf(log)].at(-1)?.transcript.messages.map(withoutPlace) ?? [];

test('V1, E-442: the view that grows is the view of the whole, at every event of a run', () => {
  fc.assert(
    fc.property(arbitraryLog, arbitraryLog, (earlier, log) => {
      const history = messagesOf(earlier);
      let before: ContextView = { messages: [], tokens: 0, lineage: {} };
      for (const state of statesOf(log)) {
        const view = readContext(state, history);
        expect(view.messages).toEqual(viewOf(state.transcript, history));
        expect(view.tokens).toBe(estimateTokens(view.messages));
        if (view.lineage === before.lineage)
          expect(view.messages.slice(0, before.messages.length)).toEqual(before.messages);
        before = view;
      }
    }),
  );
});

test('a compaction, and a look ahead that never came true, begin another lineage', () => {
  const [asked, replied] = ['Go.', 'Well.'].map((text): Message => ({
    role: 'user',
    content: [{ type: 'text', text }],
  }));
  const start = initialRunState(testRunId, testSessionId);
  const of = (messages: readonly (Message | undefined)[], more: Partial<RunState['transcript']> = {}) =>
    readContext(
      {
        ...start,
        transcript: { ...start.transcript, messages: messages.filter((each) => each !== undefined), ...more },
      },
      history,
    );
  const history: readonly Message[] = [];
  const first = of([asked]);
  const ahead = of([asked, { role: 'user', content: [] }]);
  expect(ahead.lineage).toBe(first.lineage);
  const real = of([asked, replied]);
  expect(real.messages).toEqual([asked, replied]);
  expect(real.lineage).not.toBe(first.lineage);
  expect(of([asked, replied], { clearedThrough: 0 }).lineage).not.toBe(real.lineage);
});

/** A PNG of one pixel. */
const bytes = new Uint8Array(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
);
const content: ContentStore = {
  putContent: async () => ({ ref: 'never', bytes: 0 }),
  content: vi.fn(async () => bytes),
};
const openedAs = (provider: string) => ({
  model: createScriptedModel([], { provider }),
  traits: {},
  maxOutputTokens: null,
  accepts: ['image/*'],
});

test('Q4: the request that goes on from the one before is the request that is written anew, for whichever model', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryLog, arbitraryLog, fc.infiniteStream(fc.boolean()), async (earlier, log, others) => {
      const history = messagesOf(earlier);
      for (const state of statesOf(log)) {
        const other = others.next().value === true;
        const opened = openedAs(other ? 'openai-compatible.chat' : 'anthropic.messages');
        const options = { content, opened, cache: null, dropBound: other, systemAddition: other ? 'More.' : '' };
        const grown = await buildPrompt(state, { ...options, history });
        expect(grown).toEqual(await buildPrompt(state, { ...options, history: [...history] }));
      }
    }),
    { numRuns: 50 },
  );
});

test('Q4: the turns of earlier requests are handed on as they are, and a file is read once', async () => {
  const rounds = 20;
  const media = [{ mediaType: 'image/png', data: bytes }];
  const model = createScriptedModel((_, index) =>
    index < rounds ? simpleCall('a', 'add', { n: index }) : simpleText('Done.'),
  );
  const opened = { ...openedAs('scripted'), model };
  const rig = workFor(rounds, async () => ({ content: 'ok', media }), { parts: { openModel: async () => opened } });
  const read = vi.spyOn(rig.content, 'content');
  await rig.run();
  const prompts = model.calls.map(({ prompt }) => prompt);
  for (const [index, prompt] of prompts.slice(1).entries()) {
    const earlier = prompts[index]?.slice(0, -2) ?? [];
    expect(prompt.slice(0, earlier.length).every((turn, at) => turn === earlier[at])).toBe(true);
  }
  expect(prompts.at(-1)).toHaveLength(1 + 2 * rounds);
  expect(read).toHaveBeenCalledTimes(1);
});
