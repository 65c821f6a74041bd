// Text that grows by pieces, each from one place of the output, so that what an attempt said can be taken out again.
//
// M1. Appending costs the piece, not the text: nothing here reads what was there before.
// M2. `bytes` counts UTF-8. At the cap the text ends with `…` and grows no more; the server has the whole (C-027).

import { cutToBytes, utf8Bytes } from './utf8.ts';

export const maxTextBytes = 262_144;

interface Mark {
  readonly index: number;
  /** Where its piece begins; it ends where the next one begins. */
  readonly start: number;
}

export interface MarkedText {
  readonly text: string;
  readonly marks: readonly Mark[];
  readonly bytes: number;
}

export interface Piece {
  readonly index: number;
  readonly text: string;
}

export const noText: MarkedText = { text: '', marks: [], bytes: 0 };

export function append(to: MarkedText, { index, text: piece }: Piece, cap = maxTextBytes): MarkedText {
  if (piece === '' || to.bytes > cap) return to;
  const marks = to.marks.at(-1)?.index === index ? to.marks : [...to.marks, { index, start: to.text.length }];
  const bytes = to.bytes + utf8Bytes(piece);
  if (bytes <= cap) return { text: to.text + piece, marks, bytes };
  return { text: `${to.text}${cutToBytes(piece, cap - to.bytes)}…`, marks, bytes: cap + 1 };
}

/** Without what came from `index` and higher places. The same object where nothing did. */
export function dropFrom(marked: MarkedText, index: number): MarkedText {
  if (!marked.marks.some((mark) => mark.index >= index)) return marked;
  let kept = noText;
  for (const [at, mark] of marked.marks.entries())
    if (mark.index < index)
      kept = append(
        kept,
        { index: mark.index, text: marked.text.slice(mark.start, marked.marks[at + 1]?.start) },
        Infinity,
      );
  return kept;
}

/** What one place of the output has said. */
export function saidAt(marked: MarkedText, index: number): string {
  return marked.marks
    .map((mark, at) => (mark.index === index ? marked.text.slice(mark.start, marked.marks[at + 1]?.start) : ''))
    .join('');
}

/** By place instead of by time: what is written in two places at once stands apart. */
export function inOrder({ text, marks }: MarkedText): string {
  const pieces = marks.map(({ index, start }, at) => ({ index, piece: text.slice(start, marks[at + 1]?.start) }));
  return pieces
    .toSorted((a, b) => a.index - b.index)
    .map(({ piece }) => piece)
    .join('');
}
