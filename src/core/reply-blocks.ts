// The blocks of a reply that is arriving: text, thinking and tool calls, in the order in which they began.
//
// Y1. Deltas joined by block equal the complete texts and arguments, byte for byte (E-125).
// Y2. No event holds a lone surrogate: a trailing half waits for its partner and becomes U+FFFD only at the end of its
//     block (E-106).
// Y3. A call announced twice, fed without being announced, or contradicted by its whole form makes the reply malformed (E-307).

import { holdBackSurrogate, toWellFormed } from './text.ts';
import { isJsonObject, toJsonValue, type JsonObject } from './json.ts';
import { MalformedReplyError } from './errors.ts';
import type { EventDraft, ReplyPart, ToolCall } from './run-event.ts';

type TextKind = 'text' | 'thinking';

interface Block {
  readonly number: number;
  readonly kind: TextKind | 'tool-call';
  /** What the provider's client calls it. */
  readonly key: string;
  /** Of a call: the provider's, or one of ours where it gave none (E-307). */
  readonly id: string;
  readonly name: string;
  /** Joined at the end only: a string that grows piece by piece keeps a node for each of them alive. */
  readonly pieces: string[];
  /** Half a surrogate pair that waits for the other half. */
  held: string;
  /** For a call: the provider said that it is complete. */
  whole: boolean;
  provider: JsonObject | undefined;
}

export class ReplyBlocks {
  readonly #position: { readonly step: number; readonly attempt: number };
  readonly #blocks = new Map<string, Block>();
  /** The block of the piece before: nearly always that of the next one, too. */
  #newest: Block | null = null;
  #shown = false;

  constructor({ step, attempt }: { readonly step: number; readonly attempt: number }) {
    this.#position = { step, attempt };
  }

  /** Whether any event came out of it. */
  get shown(): boolean {
    return this.#shown;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** A piece of text or thinking; the first one opens the block. */
  addText(kind: TextKind, id: string, text: string): EventDraft | null {
    const block = this.#find(kind, id) ?? this.#open(kind, id, '');
    return this.#show(block, takeText(block, text));
  }

  /** What a block says, where its pieces were not that; nothing is shown again (H-023). */
  replaceText(kind: TextKind, id: string, whole: string): void {
    const block = this.#find(kind, id);
    if (block === undefined) return;
    block.held = '';
    block.pieces.splice(0, Infinity, toWellFormed(whole));
  }

  /** The name of a call is known: the event with empty arguments (E-112). */
  beginCall(id: string, name: string): EventDraft {
    if (this.hasCall(id)) throw new MalformedReplyError('The reply holds two tool calls with one id.');
    return this.#callEvent(this.#open('tool-call', id, name), '');
  }

  hasCall(id: string): boolean {
    return this.#find('tool-call', id) !== undefined;
  }

  addArguments(id: string, piece: string): EventDraft | null {
    const block = this.#find('tool-call', id);
    if (block === undefined) throw new MalformedReplyError('The reply holds arguments for a tool call it never began.');
    return this.#show(block, takeText(block, piece));
  }

  /** The call as a whole: the end of one that streamed, or all of one that did not. */
  completeCall(id: string, whole: string): EventDraft | null {
    const block = this.#find('tool-call', id);
    if (block === undefined || block.whole)
      throw new MalformedReplyError('The reply holds two tool calls with one id.');
    block.whole = true;
    const streamed = contentOf(block) + block.held;
    if (streamed === '') return this.addArguments(id, whole);
    // Clients may re-print streamed arguments in their own spacing; what was streamed stands if it says the same.
    if (streamed === whole || sameJson(streamed, whole)) return null;
    throw new MalformedReplyError('The arguments of a tool call changed after they were streamed.');
  }

  /** What the provider wants back with a block, such as a signature; a block may consist of nothing else. */
  keepForProvider(kind: Block['kind'], id: string, metadata: unknown): void {
    const facts = metadata === undefined ? undefined : toJsonValue(metadata);
    if (!isJsonObject(facts)) return;
    const block = this.#find(kind, id) ?? this.#open(kind, id, '');
    block.provider = mergeFacts(block.provider, facts);
  }

  /** Ends all blocks: what was still held back becomes U+FFFD (Y2). */
  close(): readonly EventDraft[] {
    return [...this.#blocks.values()].flatMap((block) => {
      if (block.held === '') return [];
      block.held = '';
      block.pieces.push('\uFFFD');
      return this.#show(block, '\uFFFD') ?? [];
    });
  }

  get calls(): readonly (ToolCall & { readonly whole: boolean })[] {
    const calls = [...this.#blocks.values()].filter(({ kind }) => kind === 'tool-call');
    return calls.map((call) => ({ id: call.id, name: call.name, arguments: contentOf(call), whole: call.whole }));
  }

  /** The blocks as parts of the complete texts. */
  layOut(): { readonly parts: readonly ReplyPart[]; readonly text: string; readonly thinking: string } {
    const texts = { text: '', thinking: '' };
    const parts: ReplyPart[] = [];
    for (const each of this.#blocks.values()) {
      const { kind, number: block, id, provider } = each;
      const content = contentOf(each);
      const extra = provider === undefined ? {} : { _provider: provider };
      if (kind === 'tool-call') parts.push({ block, kind, id, ...extra });
      else if (content !== '' || provider !== undefined) {
        const start = texts[kind].length;
        texts[kind] += content;
        parts.push({ block, kind, start, end: start + content.length, ...extra });
      }
    }
    return { parts, ...texts };
  }

  #find(kind: Block['kind'], key: string): Block | undefined {
    if (this.#newest?.kind === kind && this.#newest.key === key) return this.#newest;
    const block = this.#blocks.get(`${kind}:${key}`);
    if (block !== undefined) this.#newest = block;
    return block;
  }

  #open(kind: Block['kind'], key: string, name: string): Block {
    const number = this.#blocks.size;
    const id = kind === 'tool-call' && key === '' ? `call_${this.#position.step}_${number}` : key;
    const block: Block = { number, kind, key, id, name, pieces: [], held: '', whole: false, provider: undefined };
    this.#blocks.set(`${kind}:${key}`, block);
    this.#newest = block;
    return block;
  }

  #show(block: Block, text: string): EventDraft | null {
    if (text === '') return null;
    if (block.kind === 'tool-call') return this.#callEvent(block, text);
    this.#shown = true;
    const type = block.kind === 'text' ? 'text-delta' : 'thinking-delta';
    const { step, attempt } = this.#position;
    return { type, data: text, step, attempt, block: block.number };
  }

  #callEvent({ id, name, number: block }: Block, partialJson: string): EventDraft {
    this.#shown = true;
    const { step, attempt } = this.#position;
    return { type: 'tool-call-delta', data: { id, name, partialJson }, step, attempt, block };
  }
}

function takeText(block: Block, text: string): string {
  const [whole, held] = holdBackSurrogate(block.held + text);
  block.held = held;
  const wellFormed = toWellFormed(whole);
  block.pieces.push(wellFormed);
  return wellFormed;
}

function contentOf({ pieces }: Block): string {
  return pieces.join('');
}

function mergeFacts(before: JsonObject | undefined, more: JsonObject): JsonObject {
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
