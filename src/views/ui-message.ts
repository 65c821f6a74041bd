import type { JsonObject } from '../core/json.ts';
import type { UiChunk } from '../protocol/ui/chunk.ts';
import type { UiMessage, UiPart, UiToolPart } from '../protocol/ui/message.ts';

export type { UiMessage } from '../protocol/ui/message.ts';

type Mutable<T> = T extends unknown ? { -readonly [K in keyof T]: T[K] } : never;
type Part = Mutable<UiPart>;
type ToolPart = Mutable<UiToolPart>;
type WordPart = Extract<Part, { type: 'text' | 'reasoning' }>;
type InputChunk = Extract<UiChunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>;

/**
 * A message as a client makes it of its chunks, so that it need not be streamed again to be shown. What a chunk is about is found by
 * its name, never by a search: a step may have thousands of calls.
 */
export class UiMessageFold {
  #id = '';
  #metadata: JsonObject = {};
  #parts: Part[] = [];
  #stepStart = 0;
  /** Places of calls, approvals and data by their ids; of calls of one id the newest. */
  readonly #places = new Map<string, number>();
  /** Joined at the end only: a string that grows piece by piece keeps a node for each of them alive. */
  readonly #words = new Map<string, { readonly part: WordPart; readonly pieces: string[] }>();

  /** Made anew: what is folded later does not change it. */
  message(): UiMessage {
    for (const { part, pieces } of this.#words.values()) part.text = pieces.join('');
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
        return this.#describe(chunk.messageMetadata);
      case 'start-step':
        this.#stepStart = this.#parts.push({ type: 'step-start' });
        return;
      case 'reset-step':
        return this.#reset();
      case 'text-start':
        return this.#open('text', chunk.id);
      case 'reasoning-start':
        return this.#open('reasoning', chunk.id);
      case 'text-delta':
      case 'reasoning-delta':
        return void this.#words.get(chunk.id)?.pieces.push(chunk.delta);
      case 'text-end':
      case 'reasoning-end':
        return this.#close(chunk.id);
      case 'message-metadata':
      // Who comes later sees how it ended, too: in a stream that is said by the chunk alone.
      case 'finish':
        return this.#describe(chunk.messageMetadata);
      case 'error':
        return this.#describe({ error: chunk.errorText });
      case 'abort':
        return this.#describe({ stopped: true });
      case 'finish-step':
      case 'tool-input-delta':
        return;
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-input-error':
        return this.#input(chunk);
      case 'tool-approval-request': {
        const { approvalId: id, reason, toolCallId } = chunk;
        const place = this.#places.get(toolCallId);
        if (place !== undefined) this.#places.set(id, place);
        const requestReason = reason === undefined ? {} : { requestReason: reason };
        return this.#tool(toolCallId, { state: 'approval-requested', approval: { id, ...requestReason } });
      }
      case 'tool-approval-response': {
        const { approvalId: id, approved, reason } = chunk;
        const said = { id, approved, ...(reason === undefined ? {} : { reason }) };
        return this.#tool(id, { state: 'approval-responded', approval: said });
      }
      case 'tool-output-available':
        return this.#tool(chunk.toolCallId, { state: 'output-available', output: chunk.output }, 'errorText');
      case 'tool-output-error':
        return this.#tool(chunk.toolCallId, { state: 'output-error', errorText: chunk.errorText }, 'output');
      case 'tool-output-denied':
        return this.#tool(chunk.toolCallId, { state: 'output-denied' });
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

  #describe(metadata: JsonObject = {}): void {
    this.#metadata = { ...this.#metadata, ...metadata };
  }

  #reset(): void {
    this.#words.clear();
    this.#parts.length = this.#stepStart;
    this.#places.clear();
    for (const [place, part] of this.#parts.entries())
      if ('toolCallId' in part) {
        this.#places.set(part.toolCallId, place);
        if (part.approval !== undefined) this.#places.set(part.approval.id, place);
      } else if ('data' in part && part.id !== undefined) this.#places.set(`${part.type} ${part.id}`, place);
  }

  #open(type: WordPart['type'], id: string): void {
    const part: WordPart = { type, text: '', state: 'streaming' };
    this.#parts.push(part);
    this.#words.set(id, { part, pieces: [] });
  }

  #close(id: string): void {
    const words = this.#words.get(id);
    if (words === undefined) return;
    words.part.text = words.pieces.join('');
    words.part.state = 'done';
    this.#words.delete(id);
  }

  #input(chunk: InputChunk): void {
    const { toolCallId, toolName } = chunk;
    const place = this.#places.get(toolCallId) ?? -1;
    // In a later step it is another call.
    const known = place < this.#stepStart ? undefined : this.#parts[place];
    const ran = 'providerExecuted' in chunk || (known !== undefined && 'providerExecuted' in known);
    const part: ToolPart = {
      type: 'dynamic-tool',
      toolName,
      toolCallId,
      ...stateOf(chunk),
      ...(ran ? { providerExecuted: true } : {}),
    };
    if (known === undefined) this.#places.set(toolCallId, this.#parts.push(part) - 1);
    else this.#parts[place] = part;
  }

  /** @param id  Of the call, or of what was asked about it. @param instead  What it does not say any more. */
  #tool(id: string, said: Partial<ToolPart>, instead?: 'output' | 'errorText'): void {
    const part = this.#parts[this.#places.get(id) ?? -1];
    if (part?.type !== 'dynamic-tool') return;
    if (instead !== undefined) delete part[instead];
    const approval = said.approval === undefined ? {} : { approval: { ...part.approval, ...said.approval } };
    Object.assign(part, said, approval);
  }

  #data({ type, id, data, transient }: Extract<UiChunk, { readonly data: JsonObject }>): void {
    if (transient === true) return;
    const name = id === undefined ? null : `${type} ${id}`;
    const known = name === null ? undefined : this.#parts[this.#places.get(name) ?? -1];
    if (known !== undefined && 'data' in known) return void (known.data = data);
    const place = this.#parts.push({ type, data, ...(id === undefined ? {} : { id }) }) - 1;
    if (name !== null) this.#places.set(name, place);
  }
}

function stateOf(chunk: InputChunk): Pick<ToolPart, 'state' | 'input' | 'errorText' | 'title'> {
  switch (chunk.type) {
    case 'tool-input-start':
      return { state: 'input-streaming', ...(chunk.title === undefined ? {} : { title: chunk.title }) };
    case 'tool-input-available':
      return { state: 'input-available', input: chunk.input };
    case 'tool-input-error':
      return { state: 'output-error', input: chunk.input, errorText: chunk.errorText };
  }
}
