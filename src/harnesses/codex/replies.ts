// The replies of a turn, from two sides: Codex tells what they say, the relay that they are whole. Pure.
//
// R1. The two sides come in any order. A reply is accepted when the relay saw its end and as many
//     calls have come as it makes. Of a reply that only speaks, the mark is the usage that Codex tells after it: text may
//     still be under way when the relay has seen all.
// R2. Without a relay the usage is the mark of every reply. It comes after the tools, so gates wait for the book (H-022).

import { countOf, objectOf } from '../foreign/fields.ts';
import { readError, resetReasonOf, stopReasonOf } from './read-error.ts';
import { unreachedError } from '../foreign/provider-error.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeFact } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';
import type { Usage } from '../../core/usage.ts';

/** A reply as the relay sees it. */
interface AskedReply {
  readonly request: number;
  readonly served: string | null;
  readonly usage: Usage | null;
  readonly retryAfterMs: number;
  readonly finishReason: string | null;
  /** Calls of a whole reply; null: it has not ended, or not told. */
  readonly calls: number | null;
  readonly isLost: boolean;
  /** The relay did not reach the provider, of which Codex repeats at most the status. */
  readonly unreached: ErrorInfo | null;
}

export interface CodexState {
  readonly thread: string;
  /** Absolute path. */
  readonly workspace: string;
  readonly turn: string | null;
  /** `over`: accepted, and what it called has ended. */
  readonly reply: 'none' | 'open' | 'accepted' | 'over';
  /** Calls of the newest reply. */
  readonly calls: readonly NativeCall[];
  /** Ids of calls that were asked about (C1 of `reduce.ts`). */
  readonly gated: readonly string[];
  /** The reply that is told of, and those that were asked for after it. */
  readonly asked: readonly AskedReply[];
  readonly isUsageTold: boolean;
  readonly totalTokens: number;
  /** Of the newest reply, which is how long the conversation is. */
  readonly contextTokens: number;
  readonly tokensBefore: number;
}

export type Step = readonly [state: CodexState, facts: readonly NativeFact[]];

export function createCodexState(thread: string, workspace: string): CodexState {
  return {
    thread,
    workspace,
    turn: null,
    reply: 'none',
    calls: [],
    gated: [],
    asked: [],
    isUsageTold: false,
    totalTokens: 0,
    contextTokens: 0,
    tokensBefore: 0,
  };
}

/** A reply is told of: it begins where none does, and a later one is the one that was asked for last. */
function begin(state: CodexState): Step {
  if (state.reply === 'open') return [state, []];
  const asked = state.asked.slice(-1);
  return [
    { ...state, reply: 'open', calls: [], asked, isUsageTold: false },
    [{ is: 'reply-begun' }, ...served(asked[0]?.served ?? null)],
  ];
}

export function during(state: CodexState, facts: readonly NativeFact[]): Step {
  const [next, begun] = begin(state);
  return [next, [...begun, ...facts]];
}

export function addCall(state: CodexState, call: NativeCall): Step {
  if (state.calls.some(({ id }) => id === call.id)) return [state, []];
  const [begun, facts] = state.reply === 'accepted' ? ([state, []] as const) : begin(state);
  const [next, accepted] = acceptIfWhole({ ...begun, calls: [...begun.calls, call] });
  return [next, [...facts, { is: 'call-whole', call }, ...accepted]];
}

/** R1. */
function acceptIfWhole(state: CodexState): Step {
  const expected = state.asked[0]?.calls ?? null;
  const isWhole = expected !== null && state.calls.length > 0 && state.calls.length >= expected;
  return state.reply === 'open' && isWhole ? accept(state, null) : [state, []];
}

export function accept(state: CodexState, told: Usage | null): Step {
  const [reply] = state.asked;
  const raw = reply?.finishReason ?? null;
  const usage = reply?.usage ?? told;
  return [
    { ...state, reply: 'accepted', isUsageTold: usage !== null },
    [{ is: 'reply-accepted', finishReason: stopReasonOf(raw), raw, usage }],
  ];
}

export function countTokens(state: CodexState, usage: JsonObject): Step {
  const last = objectOf(usage['last']);
  const totalTokens = countOf(objectOf(usage['total'])['totalTokens']);
  const counted = { ...state, totalTokens, contextTokens: countOf(last['totalTokens']) || state.contextTokens };
  // After a failure the old total is told again.
  if (totalTokens <= state.totalTokens) return [counted, []];
  const told = usageIn(last);
  switch (state.reply) {
    case 'open': {
      const [next, facts] = accept(counted, told);
      return [{ ...next, reply: 'over' }, facts];
    }
    case 'accepted':
      return [{ ...counted, reply: 'over' }, state.isUsageTold || told === null ? [] : [{ is: 'usage', usage: told }]];
    case 'none':
    case 'over':
      return [counted, []];
  }
}

/** Null where all is zero: then it was not reported (H-031). */
function usageIn(last: JsonObject): Usage | null {
  if (countOf(last['inputTokens']) + countOf(last['outputTokens']) === 0) return null;
  return {
    inputTokens: countOf(last['inputTokens']),
    outputTokens: countOf(last['outputTokens']),
    cacheReadInputTokens: countOf(last['cachedInputTokens']),
    cacheCreationInputTokens: countOf(last['cacheWriteInputTokens']),
    thinkingTokens: countOf(last['reasoningOutputTokens']),
  };
}

export function lose(state: CodexState, error: JsonObject): Step {
  const [begun, facts] = begin(state);
  const retryInMs = state.asked.at(-1)?.retryAfterMs ?? 0;
  const lost = { is: 'reply-lost', reason: resetReasonOf(error), retryInMs, error: faultOf(state, error) } as const;
  return [{ ...begun, reply: 'none', calls: [] }, [...facts, lost]];
}

export function faultOf(state: CodexState, error: JsonObject): ErrorInfo {
  return state.asked.at(-1)?.unreached ?? readError(error);
}

export function reduceRelay(state: CodexState, fact: RelayFact): Step {
  const update = (more: Partial<AskedReply>): CodexState => ({
    ...state,
    asked: state.asked.map((each) => (each.request === fact.request ? { ...each, ...more } : each)),
  });
  switch (fact.at) {
    case 'asked': {
      const kept = state.asked.filter(({ isLost }) => !isLost);
      return [{ ...state, asked: [...kept, { ...nothingKnown, request: fact.request }] }, [{ is: 'progress' }]];
    }
    case 'answered':
      return [update({ retryAfterMs: fact.retryAfterMs ?? 0 }), []];
    case 'byte':
      return [state, [{ is: 'progress' }]];
    case 'served': {
      const tellsNow = state.reply === 'open' && state.asked[0]?.request === fact.request;
      return [update({ served: fact.model }), tellsNow ? served(fact.model) : []];
    }
    case 'usage':
      return [update({ usage: fact.usage }), []];
    case 'ended': {
      const { finishReason, calls = null } = fact;
      if (fact.how === 'whole') return acceptIfWhole(update({ finishReason, calls }));
      return [update({ isLost: true, unreached: unreachedError(fact.error?.message ?? '') }), []];
    }
  }
}

const nothingKnown: Omit<AskedReply, 'request'> = {
  served: null,
  usage: null,
  retryAfterMs: 0,
  finishReason: null,
  calls: null,
  isLost: false,
  unreached: null,
};

export const served = (model: string | null): readonly NativeFact[] =>
  model === null ? [] : [{ is: 'served', model }];
