import type { Row, TurnId } from '../state/row.ts';

export interface TurnGroup {
  /** Stays while rows leave the window at its beginning. */
  readonly key: string;
  readonly turn: TurnId;
  readonly rows: readonly Row[];
}

/** Rows by turn. A turn of which no row changed is the same object as before, so that only the turn at work is drawn anew. */
export function groupByTurn(rows: readonly Row[], before: readonly TurnGroup[]): readonly TurnGroup[] {
  const known = new Map(before.map((group) => [group.key, group]));
  const groups = new Map<string, TurnGroup>();
  for (let start = 0; start < rows.length;) {
    const turn = rows[start]?.turn ?? '';
    let end = start + 1;
    while (rows[end]?.turn === turn) end++;
    const key = groups.has(turn) ? `${turn} ${rows[start]?.id}` : turn;
    const old = known.get(key);
    const same = old !== undefined && old.rows.length === end - start && isPart(old.rows, rows, start);
    groups.set(key, same ? old : { key, turn, rows: rows.slice(start, end) });
    start = end;
  }
  return [...groups.values()];
}

function isPart(part: readonly Row[], rows: readonly Row[], start: number): boolean {
  return part.every((row, at) => row === rows[start + at]);
}
