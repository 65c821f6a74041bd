// What belongs to replies: their beginning, their end, and what the relay alone knows of them, since the protocol hides
// requests, retries, served models and most usage (H-603).

import { addUsage } from '../../core/usage.ts';
import { providerError } from '../foreign/provider-error.ts';
import { nothingSeen, type AcpState, type Reduced, type Seen } from './acp-state.ts';
import type { ErrorInfo, StopReason } from '../../core/outcome.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';

/** The present reply, begun if none is under way; one whose call has ended was whole, whoever has not said so (H-021). */
export function withReply(state: AcpState): Reduced {
  const told = Object.values(state.calls);
  if (state.reply === 'coming' && !told.some(({ isNew, isOver }) => isNew && isOver)) return [state, []];
  const [before, accepts] = acceptReply(state, 'tool-use');
  const block = { ...before.block, number: before.block.number + 1, kind: null };
  const calls = Object.fromEntries(Object.entries(before.calls).map(([id, call]) => [id, { ...call, isNew: false }]));
  const { model } = before.seen;
  const served: readonly NativeFact[] = model === null ? [] : [{ is: 'served', model }];
  const next = { ...before, reply: 'coming', block, calls, isRefused: false } as const;
  return [next, [...accepts, { is: 'reply-begun' }, ...served]];
}

export function acceptReply(state: AcpState, stopReason: StopReason = 'end-turn'): Reduced {
  if (state.reply !== 'coming') return [state, []];
  const { seen, usage } = state;
  const finishReason = finishOf(seen.finishReason) ?? stopReason;
  return [
    { ...state, reply: 'accepted', usage: null, owesUsage: usage === null },
    [{ is: 'reply-accepted', finishReason, raw: seen.finishReason, usage }],
  ];
}

/** Accepts it once all calls are told that the relay has counted in it. */
export function acceptIfWhole(state: AcpState): Reduced {
  const { how, calls } = state.seen;
  const told = Object.values(state.calls).filter(({ isNew, input }) => isNew && input !== undefined).length;
  return how === 'whole' && calls > 0 && told >= calls ? acceptReply(state) : [state, []];
}

export function reduceRelay(state: AcpState, fact: RelayFact): Reduced {
  // Titles and summaries offer no tools; they are no replies, whenever they come.
  const isAside = fact.at === 'asked' ? fact.tools === 0 : fact.request !== state.seen.request;
  if (isAside) {
    const facts: readonly NativeFact[] = fact.at === 'asked' || fact.at === 'byte' ? [{ is: 'progress' }] : [];
    return [{ ...state, aside: seeAside(state.aside, fact) }, facts];
  }
  switch (fact.at) {
    case 'asked':
      return reduceAsked(state, fact.request);
    case 'answered':
      return [{ ...state, seen: { ...state.seen, status: fact.status } }, []];
    case 'byte':
      return [state, [{ is: 'progress' }]];
    case 'served': {
      const next = { ...state, seen: { ...state.seen, model: fact.model } };
      return [next, state.reply === 'coming' ? [{ is: 'served', model: fact.model }] : []];
    }
    case 'usage':
      if (state.owesUsage) return [{ ...state, owesUsage: false }, [{ is: 'usage', usage: fact.usage }]];
      return [{ ...state, usage: addUsage(state.usage, fact.usage) }, []];
    case 'ended': {
      const { how, finishReason, error, calls = 0 } = fact;
      return acceptIfWhole({ ...state, seen: { ...state.seen, how, finishReason, error, calls } });
    }
  }
}

function seeAside(aside: Seen, fact: RelayFact): Seen {
  if (fact.at === 'asked') return { ...nothingSeen, request: fact.request };
  if (fact.request !== aside.request) return aside;
  if (fact.at === 'answered') return { ...aside, status: fact.status };
  return fact.at === 'ended' ? { ...aside, how: fact.how, error: fact.error } : aside;
}

/** A request while the last one's reply was not accepted: the agent has taken it, or tries again without a word (H-024). */
function reduceAsked(state: AcpState, request: number): Reduced {
  const { how } = state.seen;
  const asked = (next: AcpState): AcpState => ({ ...next, seen: { ...nothingSeen, request, isAsked: true } });
  if (how === 'whole') {
    const [accepted, facts] = acceptReply(state);
    return [asked(accepted), facts];
  }
  if (how !== 'cut' && how !== 'refused') return [asked(state), []];
  const [begun, facts] = withReply({ ...state, seen: { ...state.seen, model: null } });
  const error = relayError(state.seen);
  const lost: NativeFact = {
    is: 'reply-lost',
    reason: 'transient-error',
    retryInMs: 0,
    ...(error === null ? {} : { error }),
  };
  return [asked({ ...begun, reply: 'lost', usage: null }), [...facts, lost]];
}

/**
 * Why the turn has no answer, as the relay saw it; null: nothing failed. A request beside the replies counts only where there
 * was nothing else: an agent without tools asks for all in that form.
 */
export function failureOf({ seen, aside, reply }: AcpState): ErrorInfo | null {
  return relayError(seen) ?? (seen.isAsked || reply !== 'none' ? null : relayError(aside));
}

/** Why the newest request has failed; null: it has not. */
function relayError({ how, status, error }: Seen): ErrorInfo | null {
  if (how !== 'cut' && how !== 'refused') return null;
  const message = error?.message ?? '';
  return how === 'refused'
    ? providerError({ status, type: error?.type ?? null, message })
    : providerError({ status: null, type: null, message: `terminated ${message}` });
}

/** In the words of all wires; null: nothing that the agent's own word would not tell. */
function finishOf(raw: string | null): StopReason | null {
  if (raw === null) return null;
  if (/^(length|max_(output_)?tokens|incomplete)$/i.test(raw)) return 'max-tokens';
  if (/^(content_filter|safety|prohibited_content|blocklist|recitation|spii)$/i.test(raw)) return 'safety';
  return /^refusal$/i.test(raw) ? 'refusal' : null;
}
