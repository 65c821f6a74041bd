// A harness that is put together in a test: its turns are what the test says, its host is a whole server.

import { applyDrafts, closeRun } from '../../src/core/closing.ts';
import type { Capabilities, HarnessAdapter, TurnOptions } from '../../src/harnesses/harness.ts';
import type { EventDraft } from '../../src/core/run-event.ts';
import type { RunState } from '../../src/core/run-state.ts';

const model = { provider: 'turns', model: 'turns-1' };
const place = { step: 1, attempt: 1 } as const;

export interface TestTurn extends Pick<TurnOptions, 'signal'> {
  /** What the task was asked. */
  readonly input: string;
  readonly state: RunState;
}

/** Groups between the first event of a step and the end of the task. */
export type TurnScript = (turn: TestTurn) => AsyncIterable<readonly EventDraft[]>;

/** Settings that make it the harness of every task. */
export const turnSettings = { harnesses: { preferred: 'turns' } };

export function turnHarness(script: TurnScript): HarnessAdapter {
  return {
    base: 'turns',
    label: 'Turns',
    probe: async () => ({
      installed: true,
      version: null,
      problem: null,
      models: [{ id: 'turns-1', label: 'Turns', available: true, why: 'It is always there.' }],
      defaultModel: 'turns-1',
      capabilities: {} as Capabilities,
    }),
    chooseModel: async () => ({ available: true, id: 'turns-1', ref: model }),
    openSession: async () => ({
      prompt: (state, { signal }) => play(script, { state, signal, input: inputOf(state) }),
      async [Symbol.asyncDispose]() {},
    }),
  };
}

/** One piece of text; pieces of two blocks that take turns stay apart in the log (E-141). */
export const piece = (block: number, data: string): EventDraft => ({ type: 'text-delta', block, data, ...place });

async function* play(script: TurnScript, turn: TestTurn): AsyncGenerator<readonly EventDraft[]> {
  let { state } = turn;
  const note = (drafts: readonly EventDraft[]) => {
    state = applyDrafts(state, drafts, Date.now());
    return drafts;
  };
  yield note([{ type: 'step-started', step: 1, attempt: 0, data: { purpose: 'reply', model, replyBudget: null } }]);
  const texts = new Map<number, string>();
  for await (const drafts of script(turn)) {
    for (const { type, data, block = 0 } of drafts)
      if (type === 'text-delta') texts.set(block, (texts.get(block) ?? '') + data);
    yield note(drafts);
  }
  turn.signal.throwIfAborted();
  const accepted = note(reply([...texts]));
  yield [...accepted, ...closeRun(state, { status: 'completed', stopReason: 'end-turn' }, Date.now())];
}

function reply(texts: readonly (readonly [number, string])[]): readonly EventDraft[] {
  let end = 0;
  const parts = texts.map(([block, { length }]) => {
    const start = end;
    end += length;
    return { block, kind: 'text', start, end } as const;
  });
  const data = { parts, calls: [], usage: null, usageIncomplete: false, served: model } as const;
  return [
    { type: 'text-complete', data: texts.map(([, text]) => text).join(''), ...place },
    { type: 'turn-complete', data: { ...data, finishReason: 'end-turn', rawFinishReason: null }, ...place },
  ];
}

function inputOf({ transcript }: RunState): string {
  const asked = transcript.messages.findLast(({ role }) => role === 'user');
  const part = asked?.role === 'user' ? asked.content[0] : undefined;
  return part?.type === 'text' ? part.text : '';
}
