// From a provider's stream parts to live events and, at the end, the whole reply. Pure: no clock, no I/O.
//
// Y1. Deltas joined by block equal the complete texts and arguments, byte for byte (E-125).
// Y2. No event holds a lone surrogate: a trailing half waits for its partner and becomes U+FFFD only at the end of its
//     block (E-106).
// Y3. A stream without the provider's own finish reason is no reply, whatever the client library made up at its end (E-306).
// Y4. A call announced, repeated or glued wrongly makes the whole reply malformed; nothing of it runs (E-307).

import { IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';
import { holdBackSurrogate, toWellFormed } from '../core/text.ts';
import { toJsonValue, isJsonObject, type JsonObject } from '../core/json.ts';
import type { EventDraft, ReplyPart } from '../core/run-event.ts';
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { ModelReply } from './react.ts';
import type { ModelTraits } from './model.ts';
import type { StopReason } from '../core/outcome.ts';
import type { Usage } from '../core/usage.ts';

interface Block {
  readonly number: number;
  readonly kind: 'text' | 'thinking' | 'tool-call';
  readonly id: string;
  readonly name: string;
  content: string;
  held: string;
  whole: boolean;
  provider: JsonObject | undefined;
}

export interface ReplyReader {
  /** The live events of one part, none for parts that show nothing. An `error` part throws an `InStreamError`. */
  push(part: LanguageModelV4StreamPart): readonly EventDraft[];
  /** What the provider calls the model that answers, once it said so. */
  readonly served: string | null;
  readonly usage: Usage | null;
  /** True once the provider's own finish part arrived: what follows belongs to no reply. */
  readonly finished: boolean;
  /** The whole reply, and what was still held back. @throws IncompleteStreamError, MalformedReplyError (Y3, Y4) */
  end(): { readonly reply: Omit<ModelReply, 'served'>; readonly rest: readonly EventDraft[] };
}

/** An error that the provider reported inside its stream (E-206). */
export class InStreamError extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    super('The provider reported an error inside its stream.');
    this.error = error;
  }
}

const none: readonly EventDraft[] = [];

export function createReplyReader(
  position: { readonly step: number; readonly attempt: number },
  traits: ModelTraits = {},
): ReplyReader {
  const blocks = new Map<string, Block>();
  let finish: LanguageModelV4FinishReason | null = null;
  let usage: Usage | null = null;
  let served: string | null = null;

  function open(key: string, kind: Block['kind'], names: { id: string; name: string }): Block {
    const block: Block = { number: blocks.size, kind, ...names, content: '', held: '', whole: false, provider: undefined };
    blocks.set(key, block);
    return block;
  }

  function delta(kind: 'text' | 'thinking', id: string, text: string): EventDraft | null {
    const key = `${kind}:${id}`;
    const block = blocks.get(key) ?? open(key, kind, { id, name: '' });
    const data = takeText(block, text);
    if (data === '') return null;
    const type = kind === 'text' ? 'text-delta' : 'thinking-delta';
    return { type, data, step: position.step, attempt: position.attempt, block: block.number };
  }

  function callDelta(block: Block, partialJson: string): EventDraft {
    const data = { id: block.id, name: block.name, partialJson };
    return { type: 'tool-call-delta', data, step: position.step, attempt: position.attempt, block: block.number };
  }

  function openCall(id: string, name: string): EventDraft {
    if (blocks.has(`call:${id}`)) throw new MalformedReplyError('The reply holds two tool calls with one id.');
    return callDelta(open(`call:${id}`, 'tool-call', { id, name }), '');
  }

  function callInput(id: string, piece: string): EventDraft | null {
    const block = blocks.get(`call:${id}`);
    if (block === undefined) throw new MalformedReplyError('The reply holds arguments for a tool call it never began.');
    const text = takeText(block, piece);
    return text === '' ? null : callDelta(block, text);
  }

  /** The call as a whole: the end of one that streamed, or all of one that did not (E-112). */
  function wholeCall(id: string, input: string): EventDraft | null {
    const block = blocks.get(`call:${id}`);
    if (block === undefined) return null;
    if (block.whole) throw new MalformedReplyError('The reply holds two tool calls with one id.');
    block.whole = true;
    if (block.content + block.held === input) return null;
    if (block.content + block.held !== '') {
      // Providers re-print streamed arguments in their own spacing; what was streamed stands if it says the same.
      if (sameJson(block.content + block.held, input)) return null;
      throw new MalformedReplyError('The arguments of a tool call changed after they were streamed.');
    }
    return callInput(id, input);
  }

  function push(part: LanguageModelV4StreamPart): EventDraft | null {
    switch (part.type) {
      case 'text-delta':
        return delta('text', part.id, part.delta);
      case 'reasoning-delta':
      case 'reasoning-end':
        note(`thinking:${part.id}`, part.providerMetadata);
        return part.type === 'reasoning-end' ? null : delta('thinking', part.id, part.delta);
      case 'reasoning-start':
        if (part.providerMetadata !== undefined) {
          open(`thinking:${part.id}`, 'thinking', { id: part.id, name: '' });
          note(`thinking:${part.id}`, part.providerMetadata);
        }
        return null;
      case 'text-end':
        note(`text:${part.id}`, part.providerMetadata);
        return null;
      case 'tool-input-start':
        return openCall(part.id, part.toolName);
      case 'tool-input-delta':
        return callInput(part.id, part.delta);
      case 'response-metadata':
        served = part.modelId ?? served;
        return null;
      case 'finish':
        finish = part.finishReason;
        usage = toUsage(part.usage);
        return null;
      case 'error':
        throw new InStreamError(part.error);
      default:
        return null;
    }
  }

  function pushCall(part: LanguageModelV4ToolCall): readonly EventDraft[] {
    const announced = blocks.has(`call:${part.toolCallId}`) ? [] : [openCall(part.toolCallId, part.toolName)];
    const rest = wholeCall(part.toolCallId, part.input);
    note(`call:${part.toolCallId}`, part.providerMetadata);
    return rest === null ? announced : [...announced, rest];
  }

  function note(key: string, metadata: unknown): void {
    const block = blocks.get(key);
    const value = metadata === undefined ? undefined : toJsonValue(metadata);
    if (block === undefined || !isJsonObject(value)) return;
    block.provider = mergeProvider(block.provider, value);
  }

  return {
    push(part) {
      if (part.type === 'tool-call') return part.providerExecuted ? none : pushCall(part);
      const event = push(part);
      return event === null ? none : [event];
    },
    get served() {
      return served;
    },
    get usage() {
      return usage;
    },
    get finished() {
      return finish !== null;
    },
    end() {
      const rest = [...blocks.values()].flatMap((block) => closeBlock(block, position));
      const calls = [...blocks.values()].filter(({ kind }) => kind === 'tool-call');
      const raw = finish?.raw ?? null;
      const excused = traits.allowMissingFinishReasonForText === true && calls.length === 0 && blocks.size > 0;
      const broken = finish?.unified === 'interrupted' || finish?.unified === 'error';
      if (finish === null || broken || (raw === null && !excused))
        throw new IncompleteStreamError('The model stream ended without the provider saying that it is complete.');
      if (calls.some(({ whole }) => !whole) && finish.unified !== 'length')
        throw new MalformedReplyError('The reply ended inside a tool call.');
      const { parts, texts } = layOut(blocks.values());
      const reply = {
        ...texts,
        parts,
        calls: calls.map(({ id, name, content }) => ({ id, name, arguments: content })),
        finishReason: stopReasonOf(finish),
        rawFinishReason: raw,
        usage,
      };
      return { reply, rest };
    },
  };
}

function takeText(block: Block, text: string): string {
  const [whole, held] = holdBackSurrogate(block.held + text);
  block.held = held;
  const wellFormed = toWellFormed(whole);
  block.content += wellFormed;
  return wellFormed;
}

function closeBlock(block: Block, { step, attempt }: { step: number; attempt: number }): readonly EventDraft[] {
  if (block.held === '') return [];
  block.held = '';
  block.content += '\ufffd';
  const place = { step, attempt, block: block.number };
  if (block.kind !== 'tool-call')
    return [{ type: block.kind === 'text' ? 'text-delta' : 'thinking-delta', data: '\ufffd', ...place }];
  return [{ type: 'tool-call-delta', data: { id: block.id, name: block.name, partialJson: '\ufffd' }, ...place }];
}

function layOut(blocks: Iterable<Block>): { parts: ReplyPart[]; texts: { text: string; thinking: string } } {
  const texts = { text: '', thinking: '' };
  const parts: ReplyPart[] = [];
  for (const block of blocks) {
    const extra = block.provider === undefined ? {} : { _provider: block.provider };
    if (block.kind === 'tool-call') {
      parts.push({ block: block.number, kind: 'tool-call', id: block.id, ...extra });
      continue;
    }
    if (block.content === '' && block.provider === undefined) continue;
    const start = texts[block.kind].length;
    texts[block.kind] += block.content;
    parts.push({ block: block.number, kind: block.kind, start, end: texts[block.kind].length, ...extra });
  }
  return { parts, texts };
}

function mergeProvider(before: JsonObject | undefined, more: JsonObject): JsonObject {
  const merged: Record<string, JsonObject[string]> = { ...before };
  for (const [provider, facts] of Object.entries(more)) {
    const known = merged[provider];
    merged[provider] = isJsonObject(known) && isJsonObject(facts) ? { ...known, ...facts } : facts;
  }
  return merged;
}

function sameJson(a: string, b: string): boolean {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
  } catch {
    return false;
  }
}

function stopReasonOf({ unified, raw }: LanguageModelV4FinishReason): StopReason {
  switch (unified) {
    case 'stop':
      return raw === 'stop_sequence' ? 'stop-sequence' : 'end-turn';
    case 'length':
      return 'max-tokens';
    case 'content-filter':
      return raw === 'refusal' ? 'refusal' : 'safety';
    case 'tool-calls':
      return 'tool-use';
    case 'error':
    case 'interrupted':
    case 'other':
      return raw === 'pause_turn' ? 'pause-turn' : 'other';
  }
}

function toUsage(usage: LanguageModelV4Usage): Usage | null {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens.total === undefined && outputTokens.total === undefined) return null;
  return {
    inputTokens: inputTokens.total ?? null,
    outputTokens: outputTokens.total ?? null,
    cacheReadInputTokens: inputTokens.cacheRead ?? null,
    cacheCreationInputTokens: inputTokens.cacheWrite ?? null,
    thinkingTokens: outputTokens.reasoning ?? null,
  };
}
