// From a provider's stream parts to live events and, at the end, the whole reply. Pure: no clock, no I/O.
//
// Z1. A stream without the provider's own finish reason is no reply, whatever the client library made up at its end (E-306).
// Z2. A call that did not come to its end is no call: the reply is malformed, unless it was cut at its token limit (E-403).
// Z3. Arguments with a second JSON value behind the first are two calls melted into one: malformed (E-307, B077).

import { IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';
import { ReplyBlocks } from '../core/reply-blocks.ts';
import type { EventDraft } from '../core/run-event.ts';
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { ModelReply } from './model-outcome.ts';
import type { ModelTraits } from './model.ts';
import type { StopReason } from '../core/outcome.ts';
import { asCount, type Usage } from '../core/usage.ts';

/** An error that the provider reported inside its stream (E-206). */
export class InStreamError extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    super('The provider reported an error inside its stream.');
    this.error = error;
  }
}

export class ReplyReader {
  readonly #blocks: ReplyBlocks;
  readonly #traits: ModelTraits;
  #finish: LanguageModelV4FinishReason | null = null;
  #usage: Usage | null = null;
  #served: string | null = null;

  constructor(position: { readonly step: number; readonly attempt: number }, traits: ModelTraits = {}) {
    this.#blocks = new ReplyBlocks(position);
    this.#traits = traits;
  }

  /** What the provider calls the model that answers, once it said so. */
  get served(): string | null {
    return this.#served;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** Whether any event came out of it. */
  get shown(): boolean {
    return this.#blocks.shown;
  }

  /** Adds the live events of one part, none for parts that show nothing. An `error` part throws an `InStreamError`. */
  push(part: LanguageModelV4StreamPart, into: EventDraft[]): void {
    if (part.type === 'tool-call') return part.providerExecuted ? undefined : this.#pushCall(part, into);
    const event = this.#pushPart(part);
    if (event !== null) into.push(event);
  }

  /**
   * The whole reply, and the live events of what was still held back.
   * @throws IncompleteStreamError  Z1. @throws MalformedReplyError  Z2, Z3.
   */
  end(): { readonly reply: Omit<ModelReply, 'served'>; readonly rest: readonly EventDraft[] } {
    const rest = this.#blocks.close();
    const ended = this.#requireEnd();
    const calls = this.#blocks.calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    const finishReason = stopReasonOf(ended);
    const rawFinishReason = ended.raw ?? null;
    return { reply: { ...this.#blocks.layOut(), calls, finishReason, rawFinishReason, usage: this.#usage }, rest };
  }

  #pushPart(part: LanguageModelV4StreamPart): EventDraft | null {
    switch (part.type) {
      case 'text-delta':
        if (part.providerMetadata !== undefined) this.#blocks.keepForProvider('text', part.id, part.providerMetadata);
        return this.#blocks.addText('text', part.id, part.delta);
      case 'reasoning-delta':
        this.#blocks.keepForProvider('thinking', part.id, part.providerMetadata);
        return this.#blocks.addText('thinking', part.id, part.delta);
      case 'reasoning-start':
      case 'reasoning-end':
        this.#blocks.keepForProvider('thinking', part.id, part.providerMetadata);
        return null;
      case 'text-start':
      case 'text-end':
        this.#blocks.keepForProvider('text', part.id, part.providerMetadata);
        return null;
      case 'tool-input-start':
        return part.providerExecuted ? null : this.#blocks.beginCall(part.id, part.toolName);
      case 'tool-input-delta':
        return this.#blocks.addArguments(part.id, part.delta);
      case 'response-metadata':
        this.#served = part.modelId ?? this.#served;
        return null;
      case 'finish':
        this.#finish = part.finishReason;
        this.#usage = toUsage(part.usage);
        return null;
      case 'error':
        if (!saysNoReason(part.error) || !this.#mayLackReason()) throw new InStreamError(part.error);
        return null;
      case 'tool-call': // Gives two events: `pushCall`.
      case 'tool-input-end':
      case 'stream-start':
      case 'ping':
      case 'raw':
      case 'custom':
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'tool-approval-request':
      case 'tool-result':
        return null;
      default:
        part satisfies never;
        return null;
    }
  }

  #pushCall(call: LanguageModelV4ToolCall, into: EventDraft[]): void {
    const { toolCallId: id, toolName, input, providerMetadata } = call;
    if (!this.#blocks.hasCall(id)) into.push(this.#blocks.beginCall(id, toolName));
    const rest = this.#blocks.completeCall(id, input);
    this.#blocks.keepForProvider('tool-call', id, providerMetadata);
    if (rest !== null) into.push(rest);
  }

  /** Never covers calls (E-306). */
  #mayLackReason(): boolean {
    return (
      this.#traits.allowMissingFinishReasonForText === true && this.#blocks.calls.length === 0 && this.#blocks.size > 0
    );
  }

  #requireEnd(): LanguageModelV4FinishReason {
    const { calls } = this.#blocks;
    const finish = this.#finish;
    if (finish?.raw === undefined && this.#mayLackReason()) return { unified: 'stop', raw: undefined };
    if (finish === null || finish.raw === undefined || isBroken(finish))
      throw new IncompleteStreamError(
        'incomplete',
        'The model stream ended without the provider saying that it is complete.',
      );
    if (calls.some((call) => isGlued(call.arguments)))
      throw new MalformedReplyError('The reply holds two tool calls in one.');
    if (calls.some(({ whole }) => !whole) && finish.unified !== 'length')
      throw new MalformedReplyError('The reply ended inside a tool call.');
    return finish;
  }
}

/** How the client of compatible servers says that no reason came. */
export function saysNoReason(error: unknown): boolean {
  return error instanceof Error && error.message.includes('without a finish reason');
}

function isGlued(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    const at = /after JSON at position (\d+)/.exec(String(error))?.[1];
    return at !== undefined && /^[[{"]/.test(text.slice(Number(at)));
  }
}

function isBroken({ unified }: LanguageModelV4FinishReason): boolean {
  return unified === 'interrupted' || unified === 'error';
}

function stopReasonOf({ unified, raw }: LanguageModelV4FinishReason): StopReason {
  if (raw === 'pause_turn') return 'pause-turn';
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
      return 'other';
  }
}

function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage | null {
  const [input, output] = [asCount(inputTokens.total), asCount(outputTokens.total)];
  if (input === null && output === null) return null;
  // Some clients give 0 for what the provider did not mention (U-005).
  const told = raw === undefined ? inputTokens : { ...inputTokens, ...(mentionsCache(raw) ? {} : unknownCache) };
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadInputTokens: asCount(told.cacheRead),
    cacheCreationInputTokens: asCount(told.cacheWrite),
    thinkingTokens: asCount(outputTokens.reasoning),
  };
}

const unknownCache = { cacheRead: undefined, cacheWrite: undefined };

function mentionsCache(raw: object): boolean {
  return JSON.stringify(raw).toLowerCase().includes('cache');
}
