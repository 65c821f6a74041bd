import type { JsonObject } from '../core/json.ts';
import type { UiChunk } from '../protocol/ui/chunk.ts';
import type { UiMessage, UiPart, UiToolPart } from '../protocol/ui/message.ts';

export type { UiMessage } from '../protocol/ui/message.ts';

type Mutable<T> = T extends unknown ? { -readonly [K in keyof T]: T[K] } : never;
type Part = Mutable<UiPart>;
type ToolPart = Mutable<UiToolPart>;

/** A message as a client makes it of its chunks, so that it need not be streamed again to be shown. */
export class UiMessageFold {
  #id = '';
  #metadata: JsonObject = {};
  #parts: Part[] = [];
  readonly #words = new Map<string, Extract<Part, { type: 'text' | 'reasoning' }>>();

  /** Made anew: what is folded later does not change it. */
  message(): UiMessage {
    return {
      id: this.#id,
      role: 'assistant',
      parts: this.#parts.map((part) => ({ ...part })),
      metadata: this.#metadata,
    };
  }

  push(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.#id = chunk.messageId;
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        return;
      case 'start-step':
        this.#parts.push({ type: 'step-start' });
        return;
      case 'reset-step':
        this.#words.clear();
        this.#parts.length = this.#stepStart();
        return;
      case 'text-start':
        return this.#open('text', chunk.id);
      case 'reasoning-start':
        return this.#open('reasoning', chunk.id);
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.#words.get(chunk.id);
        if (part !== undefined) part.text += chunk.delta;
        return;
      }
      case 'text-end':
      case 'reasoning-end': {
        const part = this.#words.get(chunk.id);
        if (part !== undefined) part.state = 'done';
        this.#words.delete(chunk.id);
        return;
      }
      case 'message-metadata':
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        return;
      // Who comes later sees how it ended, too: in a stream that is said by the chunk alone.
      case 'finish':
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        return;
      case 'error':
        this.#metadata = { ...this.#metadata, error: chunk.errorText };
        return;
      case 'abort':
        this.#metadata = { ...this.#metadata, stopped: true };
        return;
      case 'finish-step':
      case 'tool-input-delta':
        return;
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-input-error':
        return this.#input(chunk);
      case 'tool-approval-request':
      case 'tool-approval-response':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#tool(chunk);
      case 'data-reins-budget':
      case 'data-reins-gap':
      case 'data-reins-model':
      case 'data-reins-recovery':
      case 'data-reins-reset':
      case 'data-reins-todos':
      case 'data-reins-user-message':
      case 'data-reins-waiting':
        return this.#data(chunk);
      default:
        chunk satisfies never;
    }
  }

  #stepStart(): number {
    return this.#parts.findLastIndex(({ type }) => type === 'step-start') + 1;
  }

  #open(type: 'text' | 'reasoning', id: string): void {
    const part = { type, text: '', state: 'streaming' as const };
    this.#parts.push(part);
    this.#words.set(id, part);
  }

  #input(chunk: Extract<UiChunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>): void {
    const { toolCallId, toolName } = chunk;
    const at = this.#parts.findIndex(
      (each, index) => index >= this.#stepStart() && each.type === 'dynamic-tool' && each.toolCallId === toolCallId,
    );
    const known = this.#parts[at];
    const ran = 'providerExecuted' in chunk || (known !== undefined && 'providerExecuted' in known);
    const part: ToolPart = {
      type: 'dynamic-tool',
      toolName,
      toolCallId,
      ...stateOf(chunk),
      ...(ran ? { providerExecuted: true } : {}),
    };
    if (at === -1) this.#parts.push(part);
    else this.#parts[at] = part;
  }

  #tool(
    chunk: Extract<
      UiChunk,
      {
        type:
          | 'tool-approval-request'
          | 'tool-approval-response'
          | 'tool-output-available'
          | 'tool-output-error'
          | 'tool-output-denied';
      }
    >,
  ): void {
    const part = this.#parts.findLast(
      (each): each is ToolPart =>
        each.type === 'dynamic-tool' &&
        ('toolCallId' in chunk ? each.toolCallId === chunk.toolCallId : each.approval?.id === chunk.approvalId),
    );
    if (part === undefined) return;
    switch (chunk.type) {
      case 'tool-approval-request':
        part.state = 'approval-requested';
        part.approval = {
          id: chunk.approvalId,
          ...(chunk.reason === undefined ? {} : { requestReason: chunk.reason }),
        };
        return;
      case 'tool-approval-response':
        part.state = 'approval-responded';
        part.approval = {
          ...part.approval,
          id: chunk.approvalId,
          approved: chunk.approved,
          ...(chunk.reason === undefined ? {} : { reason: chunk.reason }),
        };
        return;
      case 'tool-output-available':
        part.state = 'output-available';
        delete part.errorText;
        part.output = chunk.output;
        return;
      case 'tool-output-error':
        part.state = 'output-error';
        delete part.output;
        part.errorText = chunk.errorText;
        return;
      case 'tool-output-denied':
        part.state = 'output-denied';
        return;
      default:
        chunk satisfies never;
    }
  }

  #data({ type, id, data, transient }: Extract<UiChunk, { readonly data: JsonObject }>): void {
    if (transient === true) return;
    const known = this.#parts.find((part) => part.type === type && id !== undefined && part.id === id);
    if (known !== undefined && 'data' in known) known.data = data;
    else this.#parts.push({ type, data, ...(id === undefined ? {} : { id }) });
  }
}

function stateOf(
  chunk: Extract<UiChunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>,
): Pick<ToolPart, 'state' | 'input' | 'errorText' | 'title'> {
  switch (chunk.type) {
    case 'tool-input-start':
      return { state: 'input-streaming', ...(chunk.title === undefined ? {} : { title: chunk.title }) };
    case 'tool-input-available':
      return { state: 'input-available', input: chunk.input };
    case 'tool-input-error':
      return { state: 'output-error', input: chunk.input, errorText: chunk.errorText };
  }
}
