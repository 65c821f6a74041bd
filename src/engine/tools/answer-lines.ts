import { maxAnswerUnits } from './file-tool.ts';

/** Lines of an answer, up to a bound. `add` is false for a line that found no room. */
export interface AnswerLines {
  add(line: string): boolean;
  readonly count: number;
  /** All lines, then the notes in brackets. */
  text(notes: readonly string[]): string;
}

export function createAnswerLines(maxLines: number): AnswerLines {
  const lines: string[] = [];
  let units = 0;
  return {
    add(line) {
      if (lines.length === maxLines || units + line.length > maxAnswerUnits) return false;
      units += line.length + 1;
      return lines.push(line) > 0;
    },
    get count() {
      return lines.length;
    },
    text: (notes) => [...lines, ...notes.map((note) => `[${note}]`)].join('\n'),
  };
}

/** A path on one line: names with control characters are written as JSON text (B121). */
export function printablePath(path: string): string {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(path) ? JSON.stringify(path) : path;
}
