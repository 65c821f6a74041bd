import { countOf, textOf } from '../foreign/fields.ts';
import { toldFailure } from '../foreign/told-failure.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import { refusedBy, type PiState, type Reduced } from './pi-state.ts';
import type { StopReason } from '../../core/outcome.ts';
import { asCount, type Usage } from '../../core/usage.ts';

/** Messages of the model; those of others are ours, or were told as tool results. */
export function reduceMessage(state: PiState, event: JsonObject): Reduced {
  if (event['type'] === 'message_update') return withServed(state, null, reduceBlock(state, event));
  const message = isJsonObject(event['message']) ? event['message'] : {};
  if (message['role'] !== 'assistant') return [state, [{ is: 'progress' }]];
  // A turn that was interrupted begins one more reply, which is none.
  if (message['stopReason'] === 'aborted') return [state, [{ is: 'progress' }]];
  const named = typeof message['responseModel'] === 'string' ? message['responseModel'] : null;
  if (event['type'] === 'message_start')
    return withServed({ ...state, calls: {}, isServedTold: false }, named, { facts: [{ is: 'reply-begun' }] });
  return endMessage(state, message, named);
}

interface Told {
  /** Absent: as they were. */
  readonly calls?: PiState['calls'];
  readonly facts: readonly NativeFact[];
}

/** Who answers is told as soon as anybody knows: the relay before Pi, which names the model at the end and not on all wires. */
function withServed(state: PiState, named: string | null, { calls = state.calls, facts }: Told): Reduced {
  const model = state.seen.model ?? named;
  if (state.isServedTold || model === null) return [{ ...state, calls }, facts];
  const [first, ...rest] = facts;
  const served: NativeFact = { is: 'served', model };
  const ordered = first?.is === 'reply-begun' ? [first, served, ...rest] : [served, ...facts];
  return [{ ...state, calls, isServedTold: true }, ordered];
}

function reduceBlock({ calls }: PiState, { assistantMessageEvent }: JsonObject): Told {
  const block = isJsonObject(assistantMessageEvent) ? assistantMessageEvent : {};
  const { contentIndex, delta, content, id, toolName, toolCall } = block;
  const type = textOf(block['type']);
  const key = `${countOf(contentIndex)}`;
  const piece = textOf(delta);
  const whole = textOf(content);
  switch (type) {
    case 'text_delta':
      return { facts: [{ is: 'text', key, text: piece }] };
    case 'thinking_delta':
      return { facts: [{ is: 'thinking', key, text: piece }] };
    case 'text_end':
      return { facts: [{ is: 'text-whole', key, text: whole }] };
    case 'thinking_end':
      return { facts: [{ is: 'thinking-whole', key, text: whole }] };
    case 'toolcall_start':
      if (typeof id !== 'string' || typeof toolName !== 'string') break;
      return { calls: { ...calls, [key]: id }, facts: [{ is: 'call-begun', id, name: toolName }] };
    case 'toolcall_delta': {
      const call = calls[key];
      return { facts: [call === undefined ? { is: 'progress' } : { is: 'call-input', id: call, piece }] };
    }
    case 'toolcall_end':
      return { facts: wholeCall(toolCall) };
    case 'start':
    case 'text_start':
    case 'thinking_start':
      return { facts: [{ is: 'progress' }] };
  }
  return { facts: [{ is: 'unknown', kind: `message_update:${type}` }] };
}

function wholeCall(toolCall: JsonValue | undefined): readonly NativeFact[] {
  const { id, name, arguments: input = {} } = isJsonObject(toolCall) ? toolCall : {};
  if (typeof id !== 'string' || typeof name !== 'string') return [{ is: 'unknown', kind: 'toolcall_end' }];
  return [{ is: 'call-whole', call: { id, name, input } }];
}

const stopReasons: Readonly<Record<string, StopReason>> = {
  stop: 'end-turn',
  length: 'max-tokens',
  toolUse: 'tool-use',
};

function endMessage(state: PiState, message: JsonObject, named: string | null): Reduced {
  const { stopReason, rawStopReason, errorMessage } = message;
  const raw = typeof rawStopReason === 'string' ? rawStopReason : null;
  const refused = raw === 'refusal';
  if (stopReason === 'error' && !refused) {
    const error = toldFailure(textOf(errorMessage), refusedBy(state));
    return withServed({ ...state, last: { error } }, named, { facts: [{ is: 'progress' }] });
  }
  const finishReason = refused ? 'refusal' : (stopReasons[textOf(stopReason)] ?? 'other');
  const usage = state.seen.usage ?? usageOf(message['usage']);
  const accepted: NativeFact = { is: 'reply-accepted', finishReason, raw, usage };
  return withServed({ ...state, last: 'accepted' }, named, { facts: [accepted] });
}

/** Null: zeros, which is how Pi says that it does not know (H-031). */
function usageOf(value: JsonValue | undefined): Usage | null {
  const told = isJsonObject(value) ? value : {};
  const [fresh = 0, output = 0, read = 0, written = 0] = [
    told['input'],
    told['output'],
    told['cacheRead'],
    told['cacheWrite'],
  ].map(countOf);
  if (fresh + output + read + written === 0) return null;
  return {
    inputTokens: fresh + read + written,
    outputTokens: output,
    cacheReadInputTokens: read,
    cacheCreationInputTokens: written,
    thinkingTokens: asCount(told['reasoning']),
  };
}
