import { expect, test } from 'vitest';
import type { TextPiece } from '../views/text-view.ts';
import type { Output } from './output.ts';
import { createPieceWriter } from './show-pieces.ts';

const pieces: readonly TextPiece[] = [
  { kind: 'text', text: 'I look' },
  { kind: 'note', text: 'Waiting.' },
  { kind: 'text', text: ' first.' },
  { kind: 'tool', text: 'read_file a.md' },
  { kind: 'text', text: 'Done\u001B[2J.' },
];

function shown(isTerminal: boolean): string {
  let stdout = '';
  const output = (write: (text: string) => void): Output => ({
    isTerminal,
    write,
    flush: async () => {},
    failure: null,
    left: new AbortController().signal,
  });
  const writer = createPieceWriter({ out: output((text) => (stdout += text)), err: output(() => {}) });
  pieces.forEach(writer.write);
  writer.end();
  return stdout;
}

test('through a pipe a note leaves the text whole, a tool ends its line, and nothing of the text is changed', () => {
  expect(shown(false)).toBe('I look first.\nDone\u001B[2J.\n');
});

test('on a terminal nothing starts inside a line, and a control sequence of the model does not reach it', () => {
  expect(shown(true)).toBe('I look\n first.\nDone[2J.\n');
});
