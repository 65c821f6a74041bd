// What was committed without a sync, and may be lost again when the database crashes while this process lives on (E-803). Its
// readers have seen it, so it is put back where it stood, with the next append of its run. Kept until a synced commit of this
// process came after it, or the database has had time to sync by itself.

import type { Clock } from '../../core/clock.ts';

/** A row as it was written. */
export interface BatchRow {
  readonly runNo: number;
  readonly generation: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Whether it may hold a committed event: readers of these pass the others over. */
  readonly committed: boolean;
  readonly body: string;
}

export interface Unsynced {
  add(rows: readonly BatchRow[]): void;
  /** To be called before a synced transaction; what that gives is to be called after it. */
  mark(): () => void;
  /** The rows of a run that fill the place between two positions exactly; null: they are not here. */
  between(run: Pick<BatchRow, 'runNo' | 'generation'>, after: number, through: number): readonly BatchRow[] | null;
}

/** The WAL writer syncs each 200 ms unless it is told otherwise, and at most three times that late. */
const syncedWithinMs = 10_000;
const mostUnits = 16_777_216;

interface Commit {
  readonly rows: readonly BatchRow[];
  readonly units: number;
  readonly atMs: number;
}

export function createUnsynced(clock: Clock): Unsynced {
  let kept: readonly Commit[] = [];

  return {
    add(rows) {
      const atMs = clock.now();
      const units = rows.reduce((sum, { body }) => sum + body.length, 0);
      let room = mostUnits;
      // From the newest on, as many as there is room for.
      const all = [...kept, { rows, units, atMs }];
      const from = all.findLastIndex((each) => {
        room -= each.units;
        return room < 0 || atMs - each.atMs >= syncedWithinMs;
      });
      kept = all.slice(from + 1);
    },
    mark() {
      const last = kept.at(-1);
      return () => void (kept = last === undefined ? kept : kept.slice(kept.indexOf(last) + 1));
    },
    between({ runNo, generation }, after, through) {
      const rows = kept
        .flatMap((commit) => commit.rows)
        .filter((row) => row.runNo === runNo && row.generation === generation)
        .filter((row) => row.firstSeq > after && row.lastSeq <= through);
      let next = after + 1;
      for (const row of rows) {
        if (row.firstSeq !== next) return null;
        next = row.lastSeq + 1;
      }
      return next === through + 1 ? rows : null;
    },
  };
}
