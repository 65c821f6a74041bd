// Takes a directory out of text, for display: `<dir>/x` becomes `x`, the bare directory `.` (P-042, P-043).
//
// S1. A match stands between borders, both of the text as it came in.
// S2. All slashes behind a match belong to it. What follows them says whether anything of the path is left; if not: `.`.
// S3. With more to come, what may still become a match is held back, and nothing else; of slashes one stands for all.

export interface Strip {
  /** As `directoryOf` gives it. */
  readonly dir: string;
  /** The character before the text; empty: none. */
  readonly before: string;
  /** Whether nothing follows the text. */
  readonly final: boolean;
}

export interface Stripped {
  readonly output: string;
  /** Goes before the next piece. */
  readonly held: string;
  /** The character before what is held. */
  readonly before: string;
}

const opens = /^[\s"'`=]?$/;
const closes = /^[\s"'`;|&<>()]?$/;

/** Without the slashes at its end; empty: nothing is to be taken out. */
export function directoryOf(path: string): string {
  return path.replace(/\/+$/, '');
}

export function stripText(text: string, { dir, before, final }: Strip): Stripped {
  const charBefore = (at: number) => (at === 0 ? before : text.charAt(at - 1));
  let output = '';
  let done = 0;
  for (let at = text.indexOf(dir.charAt(0)); at !== -1; at = text.indexOf(dir.charAt(0), Math.max(at + 1, done))) {
    if (!opens.test(charBefore(at))) continue;
    const end = at + dir.length;
    if (!text.startsWith(dir, at)) {
      if (final || end < text.length || !dir.startsWith(text.slice(at))) continue;
      return { output: output + text.slice(done, at), held: text.slice(at), before: charBefore(at) };
    }
    const next = afterSlashes(text, end);
    if (next === text.length && !final)
      return { output: output + text.slice(done, at), held: dir + (next > end ? '/' : ''), before: charBefore(at) };
    const isBare = closes.test(text.charAt(next));
    if (next === end && !isBare) continue;
    output += text.slice(done, at) + (isBare ? '.' : '');
    done = next;
  }
  return { output: output + text.slice(done), held: '', before: charBefore(text.length) };
}

function afterSlashes(text: string, from: number): number {
  let at = from;
  while (text.charAt(at) === '/') at += 1;
  return at;
}
