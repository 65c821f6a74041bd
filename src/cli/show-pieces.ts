import { printable } from './output.ts';
import { styleText } from 'node:util';
import type { TextPiece } from '../views/text-view.ts';
import type { Terminal } from './verb.ts';

export interface PieceWriter {
  readonly write: (piece: TextPiece) => void;
  readonly note: (text: string) => void;
  /** Ends an unfinished line. */
  readonly end: () => void;
}

/**
 * Shows a run: its text on the answer's output, all else beside it. On a terminal both share the screen, so a tool or a
 * note never starts inside a line of text; through a pipe a mere note leaves the text untouched. Colours only where the
 * other side is a terminal that wants them.
 */
export function createPieceWriter({ out, err }: Terminal): PieceWriter {
  let atLineStart = true;
  const endLine = () => {
    if (!atLineStart) out.write('\n');
    atLineStart = true;
  };
  const aside = (text: string) => {
    if (out.isTerminal) endLine();
    err.write(`${err.isTerminal ? styleText('dim', printable(text), { stream: process.stderr }) : text}\n`);
  };
  return {
    write(piece) {
      switch (piece.kind) {
        case 'text':
          if (piece.text === '') return;
          out.write(out.isTerminal ? printable(piece.text) : piece.text);
          atLineStart = piece.text.endsWith('\n');
          return;
        case 'tool':
          endLine();
          return aside(piece.text);
        case 'note':
          return aside(piece.text);
      }
    },
    note: aside,
    end: endLine,
  };
}
