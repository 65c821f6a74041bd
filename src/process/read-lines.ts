import { decodeText } from './decode-text.ts';
import { ReinsError } from '../core/errors.ts';

/** A line longer than the reader would keep. */
export class OversizedLineError extends ReinsError {}

export interface Line {
  readonly text: string;
  /** `false`: the stream ended within the line, so it is damage and no record (B138). */
  readonly complete: boolean;
}

/**
 * Lines of a child's output, without their ends. Split at LF only, one CR before it is dropped: `readline` would also
 * split at U+2028, which is legal inside a JSON string (H-120).
 * @param onPart  Told the UTF-16 units so far of a line whose end has not come.
 * @throws OversizedLineError  A line has more than `maxUnits` UTF-16 units (H-121).
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxUnits = 16 * 2 ** 20,
  onPart?: (units: number) => void,
): AsyncGenerator<Line> {
  // Joined once per line: prefix + chunk per chunk is O(N²) for one long line.
  let pieces: string[] = [];
  let units = 0;
  const keep = (piece: string) => {
    units += piece.length;
    if (units > maxUnits) throw new OversizedLineError(`A line of output is longer than ${maxUnits} characters.`);
    pieces.push(piece);
  };
  for await (const text of decodeText(chunks)) {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      keep(text.slice(from, end));
      yield { text: pieces.join('').replace(/\r$/, ''), complete: true };
      pieces = [];
      units = 0;
      from = end + 1;
    }
    if (from === text.length) continue;
    keep(text.slice(from));
    onPart?.(units);
  }
  if (units > 0) yield { text: pieces.join(''), complete: false };
}
