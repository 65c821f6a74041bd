import type { RunId } from '../../core/ids.ts';
import type { Reads } from './database.ts';
import { integer } from '../rows/columns.ts';

export interface RunNumbers {
  /** The row number of a run, which never changes; undefined for an unknown id. */
  of(runId: RunId): number | undefined;
  forget(runId: RunId): void;
}

const most = 10_000;

/** Numbers of runs that are being written: finding one by its text costs more than writing its row. */
export function createRunNumbers(db: Reads): RunNumbers {
  const known = new Map<RunId, number>();
  return {
    of(runId) {
      const number = known.get(runId);
      if (number !== undefined) return number;
      const row = db.get('SELECT run_no FROM runs WHERE run_id = ?', runId);
      if (row === undefined) return undefined;
      if (known.size >= most) known.clear();
      known.set(runId, integer(row, 'run_no'));
      return known.get(runId);
    },
    forget: (runId) => void known.delete(runId),
  };
}
