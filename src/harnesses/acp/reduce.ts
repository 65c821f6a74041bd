// What an agent says over ACP, and what the relay saw of it meanwhile, in the words that all runtimes share (H-602). Pure.
//
// R1. The answer to the last open prompt ends the turn, and nothing counts after it.
// R2. A reply is accepted when its calls are told, when the agent asks the model anew, or when the turn ends; the relay, not
//     the agent, says whether it was whole.
// R3. An answer is no success where the newest request of the model has failed (H-101).

import { acceptReply, failureOf, reduceRelay, withReply } from './reduce-reply.ts';
import { objectOf, objectsOf, textOf } from '../foreign/fields.ts';
import { faultError } from './fault-error.ts';
import { reduceCall, reducePermission } from './reduce-call.ts';
import type { AcpDialect } from './acp-profile.ts';
import type { AcpNative, AcpState, Reduced } from './acp-state.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeEnd } from '../foreign/native-fact.ts';
import type { StopReason } from '../../core/outcome.ts';
import type { Todo } from '../../core/run-event.ts';
import { asCount, type Usage } from '../../core/usage.ts';

export function reduce(state: AcpState, native: AcpNative, dialect: AcpDialect): Reduced {
  if (state.isOver) return [state, []];
  switch (native.from) {
    case 'update':
      return reduceUpdate(state, native.update, dialect);
    case 'permission':
      return reducePermission(state, native, dialect);
    case 'refusal':
      return [{ ...state, isRefused: true }, []];
    case 'prompted':
      return [{ ...state, openPrompts: state.openPrompts + 1 }, []];
    case 'answer':
      return reduceAnswer({ ...state, openPrompts: state.openPrompts - 1 }, native.result);
    case 'fault': {
      const error = failureOf(state) ?? faultError(native, dialect.label);
      return ended(state, state.isInterrupted ? { as: 'interrupted' } : { as: 'failed', error });
    }
    case 'interrupt':
      return [{ ...state, isInterrupted: true }, []];
    case 'relay':
      return reduceRelay(state, native.fact);
  }
}

function reduceUpdate(state: AcpState, update: JsonObject, dialect: AcpDialect): Reduced {
  const kind = textOf(update['sessionUpdate']);
  switch (kind) {
    case 'agent_message_chunk':
      return reduceText(state, 'text', update);
    case 'agent_thought_chunk':
      return reduceText(state, 'thinking', update);
    case 'tool_call':
    case 'tool_call_update':
      return reduceCall(state, update, dialect);
    case 'plan':
      return [state, [{ is: 'todos', todos: objectsOf(update['entries']).map(todoOf) }]];
    case 'user_message_chunk':
      return [state, [{ is: 'progress' }]];
    case 'usage_update':
    case 'available_commands_update':
    case 'current_mode_update':
    case 'config_option_update':
    case 'session_info_update':
    case 'notice':
      return [state, [{ is: 'alive' }]];
    default:
      return [state, [{ is: 'unknown', kind }]];
  }
}

function reduceText(state: AcpState, kind: 'text' | 'thinking', update: JsonObject): Reduced {
  const messageId = textOf(update['messageId']);
  // Thoughts come under an empty heading.
  const text = textOf(objectOf(update['content'])['text']).replace(kind === 'thinking' ? /^\*\*\*\*\n/ : /^$/, '');
  if (text === '') return [state, [{ is: 'progress' }]];
  const [begun, facts] = withReply(state);
  const { block } = begun;
  const isSame = block.kind === kind && block.messageId === messageId;
  const number = block.kind === null || isSame ? block.number : block.number + 1;
  const next = { ...begun, block: { number, kind, messageId } };
  return [next, [...facts, { is: kind, key: String(number), text }]];
}

function reduceAnswer(state: AcpState, result: JsonObject): Reduced {
  const stopReason = textOf(result['stopReason']);
  if (state.openPrompts > 0) {
    // Another prompt has taken its place; what was shown of it is given up.
    if (stopReason !== 'cancelled' || state.reply !== 'coming') return [state, []];
    return [{ ...state, reply: 'lost', usage: null }, [{ is: 'reply-lost', reason: 'steered', retryInMs: 0 }]];
  }
  if (stopReason === 'cancelled') return ended(state, { as: 'interrupted' });
  const error = failureOf(state);
  if (error !== null) return ended(state, { as: 'failed', error });
  const [begun, opens] = state.reply === 'none' && !state.isRefused ? withReply(state) : ([state, []] as const);
  const told = begun.seen.isAsked ? begun.usage : usageIn(result);
  const [accepted, facts] = acceptReply({ ...begun, usage: told }, stopReasons[stopReason] ?? 'end-turn');
  const [over, end] = ended(accepted, endOf(stopReason, accepted.isRefused));
  return [over, [...opens, ...facts, ...end]];
}

const stopReasons: Readonly<Record<string, StopReason>> = { max_tokens: 'max-tokens', refusal: 'refusal' };

function endOf(stopReason: string, isRefused: boolean): NativeEnd {
  switch (stopReason) {
    case 'max_turn_requests':
      return { as: 'limited', stopReason: 'max-steps', budget: { budget: 'steps', limit: 0, used: 0, then: 'stop' } };
    case 'max_tokens':
      return { as: 'completed', stopReason: 'max-tokens' };
    case 'refusal':
      return { as: 'completed', stopReason: 'refusal' };
    default:
      return isRefused ? { as: 'completed', stopReason: 'other' } : { as: 'completed' };
  }
}

function ended(state: AcpState, end: NativeEnd): Reduced {
  return [{ ...state, isOver: true }, [{ is: 'ended', end }]];
}

/** As the agent itself counts, where no request has passed the relay. */
function usageIn(result: JsonObject): Usage | null {
  const told = objectOf(result['usage']);
  const quota = objectOf(objectOf(objectOf(result['_meta'])['quota'])['token_count']);
  const inputTokens = asCount(told['inputTokens']) ?? asCount(quota['input_tokens']);
  const outputTokens = asCount(told['outputTokens']) ?? asCount(quota['output_tokens']);
  if (!inputTokens && !outputTokens) return null;
  return {
    inputTokens,
    outputTokens,
    cacheReadInputTokens: asCount(told['cachedReadTokens']),
    cacheCreationInputTokens: asCount(told['cachedWriteTokens']),
    thinkingTokens: asCount(told['thoughtTokens']),
  };
}

function todoOf(entry: JsonObject): Todo {
  const { status } = entry;
  return {
    content: textOf(entry['content']),
    status: status === 'completed' || status === 'in_progress' ? status : 'pending',
  };
}
