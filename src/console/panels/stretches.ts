import type { Row } from '../state/row.ts';

/** Rows that are drawn, and left out of sight, together: most of a long transcript costs the browser nothing (B148). */
export interface Stretch {
  readonly key: number;
  readonly rows: readonly Row[];
}

const rowsTogether = 24;

/** A row stays in its stretch whatever comes before or after it; a stretch of which no row changed is the same object. */
export function intoStretches(rows: readonly Row[], before: readonly Stretch[]): readonly Stretch[] {
  const homes = new Map(before.flatMap((stretch) => stretch.rows.map(({ id }) => [id, stretch])));
  let free = 1 + before.reduce((most, { key }) => Math.max(most, key), 0);
  const made = new Map<number, Row[]>();
  let [key, last] = [0, new Array<Row>()];
  for (const row of rows) {
    const home = homes.get(row.id)?.key;
    const stays = made.has(key) && (home === undefined ? last.length < rowsTogether : home === key);
    if (!stays) {
      key = home === undefined || made.has(home) ? free++ : home;
      last = [];
      made.set(key, last);
    }
    last.push(row);
  }
  const known = new Map(before.map((stretch) => [stretch.key, stretch]));
  return [...made].map(([each, own]) => {
    const old = known.get(each);
    const isSame = old?.rows.length === own.length && own.every((row, at) => row === old.rows[at]);
    return old !== undefined && isSame ? old : { key: each, rows: own };
  });
}

/** Rows that follow each other in one turn. */
export function turnsOf(rows: readonly Row[]): readonly (readonly Row[])[] {
  const turns: Row[][] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    if (last?.[0]?.turn === row.turn) last.push(row);
    else turns.push([row]);
  }
  return turns;
}
