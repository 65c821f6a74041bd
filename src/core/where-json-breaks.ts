/** From 1, as editors count. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** The first character at which `source` stops being JSON, without a word of what stands there. Null: it is JSON, or nobody can say. */
export function whereJsonBreaks(source: string): TextPlace | null {
  const at = breakOf(source);
  if (at === null) return null;
  const before = source.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

function breakOf(source: string): number | null {
  const said = complaint(source);
  if (said === null) return null;
  const told = /at position (\d+)/.exec(said)?.[1];
  if (told !== undefined) return Number(told);
  if (!isStray(said)) return source.length;
  // Of a stray character V8 tells no position. A beginning of the text has that complaint as soon as it holds the character.
  let [clean, broken] = [0, source.length];
  while (broken - clean > 1) {
    const middle = Math.floor((clean + broken) / 2);
    if (isStray(complaint(source.slice(0, middle)) ?? '')) broken = middle;
    else clean = middle;
  }
  return clean;
}

const isStray = (said: string) => said.startsWith('Unexpected token');

function complaint(source: string): string | null {
  try {
    JSON.parse(source);
    return null;
  } catch (cause) {
    return cause instanceof Error ? cause.message : '';
  }
}
