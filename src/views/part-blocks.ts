// Blocks of text, reasoning and tool input that are open in a stream of parts (P-063). Of one attempt.
//
// B1. A block of words closes at its complete, at a reset, with its reply, and at the first delta of a later block. One that
//     goes on after that goes on under a new id.
// B2. An input closes with its reply, or at a reset: its id is the call's, and there is no other one for it.

import type { StreamPart } from '../protocol/parts/stream-part.ts';

export type WordKind = 'text' | 'reasoning';

interface WordBlock {
  readonly kind: WordKind;
  readonly number: number;
  /** How often it was opened. */
  times: number;
  isOpen: boolean;
  /** Joined at the end only: a string that grows piece by piece keeps a node for each of them alive. */
  readonly pieces: string[];
}

export class PartBlocks {
  readonly #place: string;
  readonly #words = new Map<string, WordBlock>();
  readonly #inputs = new Set<string>();
  /** The block of the delta before: nearly always that of the next one, too. */
  #newest: { readonly block: WordBlock; readonly id: string } | null = null;
  #last = -1;

  constructor({ step, attempt }: { readonly step: number; readonly attempt: number }) {
    this.#place = `${step}-${attempt}`;
  }

  addWords(kind: WordKind, number: number, delta: string): readonly StreamPart[] {
    const newest = this.#newest;
    if (newest?.block.number === number && newest.block.kind === kind && newest.block.isOpen) {
      newest.block.pieces.push(delta);
      return [{ type: `${kind}-delta`, id: newest.id, delta }];
    }
    const before = this.#passTo(number);
    const block = this.#words.get(`${kind}-${number}`) ?? { kind, number, times: 0, isOpen: false, pieces: [] };
    const wasOpen = block.isOpen;
    if (!wasOpen) block.times++;
    block.isOpen = true;
    block.pieces.push(delta);
    this.#words.set(`${kind}-${number}`, block);
    const id = this.#idOf(block);
    this.#newest = { block, id };
    const start: readonly StreamPart[] = wasOpen ? [] : [{ type: `${kind}-start`, id }];
    return [...before, ...start, { type: `${kind}-delta`, id, delta }];
  }

  /** Parts before the first piece of an input; null: it is open. */
  beginInput(id: string, number: number): readonly StreamPart[] | null {
    if (this.#inputs.has(id)) return null;
    this.#inputs.add(id);
    return this.#passTo(number);
  }

  /** What was shown of a kind, blocks in their order. */
  shown(kind: WordKind): string {
    const blocks = [...this.#words.values()].filter((block) => block.kind === kind);
    return blocks
      .toSorted((a, b) => a.number - b.number)
      .map(({ pieces }) => pieces.join(''))
      .join('');
  }

  endWords(kind: WordKind): readonly StreamPart[] {
    return this.#end((block) => block.kind === kind);
  }

  endAll(): readonly StreamPart[] {
    const inputs = [...this.#inputs].map((id): StreamPart => ({ type: 'tool-input-end', id }));
    this.#inputs.clear();
    return [...this.#end(() => true), ...inputs];
  }

  /** B1. */
  #passTo(number: number): readonly StreamPart[] {
    if (number <= this.#last) return [];
    this.#last = number;
    return this.#end((block) => block.number < number);
  }

  #end(which: (block: WordBlock) => boolean): readonly StreamPart[] {
    const ending = [...this.#words.values()].filter((block) => block.isOpen && which(block));
    return ending.map((block): StreamPart => {
      block.isOpen = false;
      return { type: `${block.kind}-end`, id: this.#idOf(block) };
    });
  }

  #idOf({ kind, number, times }: WordBlock): string {
    return `${kind === 'text' ? 't' : 'r'}-${this.#place}-${number}${times > 1 ? `-${times}` : ''}`;
  }
}
