// One reply of the model after the other: what is streamed of it, and its blocks as the program keeps them. Pure.
//
// A block comes whole (`assistant`) before its stream says that it ended, and the reply's usage only at its end.

import { countUsage } from './count-usage.ts';
import { listOf, numberOf, objectOf, plainText, textOf, wordOf } from '../foreign/fields.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { StopReason } from '../../core/outcome.ts';

export interface ReplyState {
  /** `asked`: announced as begun, and nothing of it is there yet. */
  readonly at: 'between' | 'asked' | 'replying';
  readonly id: string | null;
  /** Index of the newest block: what comes whole is of it. */
  readonly block: number;
  /** Ids of calls by their block. */
  readonly calls: readonly { readonly block: number; readonly id: string }[];
  /** Whether its pieces come, too. */
  readonly streamed: boolean;
  readonly usage: JsonObject;
}

type Reduced = readonly [ReplyState, readonly NativeFact[]];

export const noReply: ReplyState = { at: 'between', id: null, block: -1, calls: [], streamed: false, usage: {} };
const progress: NativeFact = { is: 'progress' };

/** A model call is under way, though nothing of its reply is there. */
export function askReply(state: ReplyState): Reduced {
  return state.at === 'asked' ? [state, [progress]] : [{ ...noReply, at: 'asked' }, [{ is: 'reply-begun' }]];
}

export function reduceStream(state: ReplyState, event: JsonObject): Reduced {
  const type = textOf(event['type']);
  switch (type) {
    case 'message_start':
      return beginReply(state, objectOf(event['message']), true);
    case 'content_block_start':
      return beginBlock(state, numberOf(event['index']) ?? 0, objectOf(event['content_block']));
    case 'content_block_delta':
      return [state, [deltaFact(state, numberOf(event['index']) ?? 0, objectOf(event['delta']))]];
    case 'message_delta':
      return endReply(state, wordOf(objectOf(event['delta'])['stop_reason']), objectOf(event['usage']));
    case 'content_block_stop':
    case 'message_stop':
    case 'error':
      return [state, [progress]];
    case 'ping':
      return [state, [{ is: 'alive' }]];
    default:
      return [state, [{ is: 'unknown', kind: `stream_event/${type}` }]];
  }
}

/** An `assistant` message: a block of the reply, whole. */
export function reduceBlock(state: ReplyState, message: JsonObject): Reduced {
  const id = wordOf(message['id']);
  if (state.at === 'between' && id === state.id) return [state, [progress]];
  const known = state.at === 'replying' && id === state.id;
  const [begun, facts] = known ? ([state, []] as const) : beginReply(state, message, false);
  const block = begun.streamed ? begun.block : begun.block + 1;
  const whole = listOf(message['content']).flatMap((part) => wholeFacts(`${block}`, objectOf(part)));
  return [{ ...begun, block }, [...facts, ...whole]];
}

function beginReply(state: ReplyState, message: JsonObject, streamed: boolean): Reduced {
  const model = wordOf(message['model']);
  const served: readonly NativeFact[] = model === null ? [] : [{ is: 'served', model }];
  const begun: readonly NativeFact[] = state.at === 'asked' ? [] : [{ is: 'reply-begun' }];
  const next = { ...noReply, at: 'replying', id: wordOf(message['id']), streamed } as const;
  return [{ ...next, usage: objectOf(message['usage']) }, [...begun, ...served]];
}

function beginBlock(state: ReplyState, block: number, content: JsonObject): Reduced {
  const [id, name, text] = [wordOf(content['id']), wordOf(content['name']), wordOf(content['text'])];
  if (content['type'] === 'tool_use' && id !== null && name !== null)
    return [{ ...state, block, calls: [...state.calls, { block, id }] }, [{ is: 'call-begun', id, name }]];
  const facts: readonly NativeFact[] =
    text === null || text === '' ? [progress] : [{ is: 'text', key: `${block}`, text }];
  return [{ ...state, block }, facts];
}

function deltaFact({ calls }: ReplyState, block: number, delta: JsonObject): NativeFact {
  const [text, thinking] = [wordOf(delta['text']), wordOf(delta['thinking'])];
  if (delta['type'] === 'text_delta' && text !== null) return { is: 'text', key: `${block}`, text };
  if (delta['type'] === 'thinking_delta' && thinking !== null)
    return { is: 'thinking', key: `${block}`, text: thinking };
  const [piece, call] = [wordOf(delta['partial_json']), calls.find((each) => each.block === block)];
  if (piece !== null && call !== undefined) return { is: 'call-input', id: call.id, piece };
  return progress;
}

function wholeFacts(key: string, part: JsonObject): readonly NativeFact[] {
  const [id, name] = [wordOf(part['id']), wordOf(part['name'])];
  switch (textOf(part['type'])) {
    case 'text':
      return [{ is: 'text-whole', key, text: plainText([part]) }];
    case 'thinking':
      return [{ is: 'thinking-whole', key, text: textOf(part['thinking']) }];
    case 'tool_use':
      if (id === null || name === null) return [];
      return [{ is: 'call-whole', call: { id, name, input: part['input'] ?? {} } }];
    default:
      return [];
  }
}

function endReply(state: ReplyState, raw: string | null, usage: JsonObject): Reduced {
  if (raw === null || state.at !== 'replying') return [state, [progress]];
  const finishReason = finishReasons.get(raw) ?? 'other';
  const accepted = { is: 'reply-accepted', finishReason, raw, usage: countUsage(state.usage, usage) } as const;
  return [{ ...state, at: 'between' }, [accepted]];
}

const finishReasons: ReadonlyMap<string, StopReason> = new Map<string, StopReason>([
  ['end_turn', 'end-turn'],
  ['tool_use', 'tool-use'],
  ['max_tokens', 'max-tokens'],
  ['model_context_window_exceeded', 'max-tokens'],
  ['stop_sequence', 'stop-sequence'],
  ['refusal', 'refusal'],
  ['pause_turn', 'pause-turn'],
]);
