// What Pi says in RPC mode, and what the relay saw meanwhile, as native facts. Pure. Events as of Pi 1.6.0.
//
// R1. `agent_settled` alone is the end, and comes out once a turn; `agent_end` is followed by retries and steered messages.
// R2. A reply is taken when its `message_end` names a stop reason that is no error; what it says before is shown as it comes.
// R3. `tool_execution_start` says nothing: it is sent before the gate has answered, and for calls that will not run. One that
//     has run is known by its `durationMs`.

import { toldFailure } from '../foreign/told-failure.ts';
import { countOf, objectOf, plainText, textOf } from '../foreign/fields.ts';
import { gateOf } from './gate.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { reduceMessage } from './reduce-message.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { idle, nothingSeen, refusedBy, type PiNative, type PiState, type Reduced } from './pi-state.ts';
import type { NativeEnd, NativeFact } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';

export function reduce(state: PiState, native: PiNative): Reduced {
  return native.from === 'relay' ? [withSeen(state, native.fact), []] : reduceEvent(state, native.event);
}

function withSeen(state: PiState, fact: RelayFact): PiState {
  // A tool that has the lease may ask, too, and be answered later.
  if (fact.at !== 'asked' && fact.request !== state.seen.request) return state;
  switch (fact.at) {
    case 'asked':
      return { ...state, seen: { ...nothingSeen, request: fact.request } };
    case 'answered':
      return { ...state, seen: { ...state.seen, status: fact.status } };
    case 'served':
      return { ...state, seen: { ...state.seen, model: fact.model } };
    case 'usage':
      return { ...state, seen: { ...state.seen, usage: fact.usage } };
    case 'byte':
    case 'ended':
      return state;
  }
}

function reduceEvent(state: PiState, event: JsonObject): Reduced {
  const type = textOf(event['type']);
  switch (type) {
    case 'message_start':
    case 'message_update':
    case 'message_end':
      return reduceMessage(state, event);
    case 'extension_ui_request':
      return reduceExtension(state, event);
    case 'tool_execution_update':
      return addOutput(state, event);
    case 'tool_execution_end':
      return endCall(state, event);
    case 'auto_retry_start':
      return [state, [retryOf(state, event)]];
    case 'compaction_end':
      return [state, compactionOf(event)];
    case 'agent_settled':
      return settle(state, event);
    default:
      return [state, [quiet.has(type) ? { is: 'progress' } : { is: 'unknown', kind: type }]];
  }
}

const quiet: ReadonlySet<string> = new Set([
  'agent_start',
  'agent_end',
  'turn_start',
  'turn_end',
  'tool_execution_start',
  'queue_update',
  'entry_appended',
  'session_info_changed',
  'thinking_level_changed',
  'auto_retry_end',
  'compaction_start',
  'summarization_retry_scheduled',
  'summarization_retry_attempt_start',
  'summarization_retry_finished',
]);

function reduceExtension(state: PiState, event: JsonObject): Reduced {
  const gate = gateOf(event);
  if (gate !== null) return [{ ...state, gates: { ...state.gates, [gate.call.id]: gate.request } }, [gate]];
  const { method, message } = event;
  if (method !== 'notify' || typeof message !== 'string' || !message.startsWith('MCP servers need attention'))
    return [state, [{ is: 'alive' }]];
  const servers = message.matchAll(/^ {2}([\w-]+): /gm);
  return [state, Array.from(servers, ([, name = '']) => ({ is: 'degraded', what: `mcp:${name}` }))];
}

/** Pi tells the output so far. One that was cut at its head is shown with the result only. */
function addOutput(state: PiState, { toolCallId: id, partialResult }: JsonObject): Reduced {
  const text = plainText(objectOf(partialResult)['content']);
  if (typeof id !== 'string' || text === '') return [state, [{ is: 'progress' }]];
  const before = state.outputs[id] ?? '';
  const next = { ...state, outputs: { ...state.outputs, [id]: text } };
  const goesOn = text.length > before.length && text.startsWith(before);
  return [next, [goesOn ? { is: 'call-output', id, text: text.slice(before.length) } : { is: 'progress' }]];
}

function endCall(state: PiState, { toolCallId: id, result, isError, durationMs }: JsonObject): Reduced {
  if (typeof id !== 'string') return [state, [{ is: 'unknown', kind: 'tool_execution_end' }]];
  const { [id]: request, ...gates } = state.gates;
  const { [id]: _output, ...outputs } = state.outputs;
  const ran = typeof durationMs === 'number';
  const outcome = ran ? (isError === true ? 'error' : 'ok') : request === undefined ? 'invalid' : 'cancelled';
  const closed: readonly NativeFact[] = request === undefined ? [] : [{ is: 'gate-closed', request }];
  return [
    { ...state, gates, outputs },
    [...closed, { is: 'call-ended', id, outcome, content: plainText(objectOf(result)['content']) }],
  ];
}

function retryOf({ last, seen }: PiState, { delayMs, errorMessage }: JsonObject): NativeFact {
  const known =
    last !== null && last !== 'accepted' ? last.error : toldFailure(textOf(errorMessage), refusedBy({ seen }));
  return { is: 'reply-lost', reason: 'transient-error', retryInMs: countOf(delayMs), error: known };
}

function compactionOf({ result, reason }: JsonObject): readonly NativeFact[] {
  if (!isJsonObject(result)) return [{ is: 'progress' }];
  const { tokensBefore, estimatedTokensAfter } = result;
  const lost: readonly NativeFact[] =
    reason === 'overflow' ? [{ is: 'reply-lost', reason: 'context-overflow', retryInMs: 0 }] : [];
  return [
    ...lost,
    { is: 'compacted', tokensBefore: countOf(tokensBefore), tokensAfter: countOf(estimatedTokensAfter) },
  ];
}

function settle(state: PiState, { aborted }: JsonObject): Reduced {
  if (state.isOver) return [state, []];
  return [{ ...idle, seen: state.seen }, [{ is: 'ended', end: endOf(state.last, aborted === true) }]];
}

function endOf(last: PiState['last'], aborted: boolean): NativeEnd {
  if (aborted) return { as: 'interrupted' };
  if (last === 'accepted') return { as: 'completed' };
  return { as: 'failed', error: last?.error ?? harnessError('Pi ended without an answer.') };
}
