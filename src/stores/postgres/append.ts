// The hot path: what all runs of this process wrote within one window is one transaction, its rows one statement.
//
// A1. Rows are locked in one order by everybody: heads by run, then runs by number, then sessions by id, then the rest. Two
//     nodes that write the same runs, one of them fenced, wait for each other and never in a circle. `NO KEY`: a row that
//     refers to a run locks the run's key, in the order of the rows, and must not meet these locks.
// A2. Position, generation and whether the log is open are looked at under the lock of the head, in the transaction that
//     writes (E-801). What is refused is left out of the statement and touches nothing else (L3).
// A3. A log that ends before a position which this process was told of has lost what was not synced: `unsynced.ts` has it.

import { isLive } from '../../core/run-event.ts';
import type { RunId } from '../../core/ids.ts';
import { encodeEvents } from '../event-codec.ts';
import { numberEvents } from '../event-shape.ts';
import { integer } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';
import type { Append, AppendResult } from '../store.ts';
import type { Database, Transaction } from './database.ts';
import { endRuns, lockRuns } from './end-runs.ts';
import { indexEvents, parkedAs } from './index-events.ts';
import type { BatchRow, Unsynced } from './unsynced.ts';

/** The column `open`: nothing is appended any more; its owner's to append to; parked, for facts from outside alone. */
export const openness = { ended: 0, atWork: 1, parked: 2 } as const;

interface Head {
  readonly runNo: number;
  readonly generation: number;
  lastSeq: number;
  open: number;
}

interface Written {
  readonly head: Head;
  readonly entry: Append;
  readonly row: BatchRow;
}

export interface Appender {
  readonly db: Database;
  readonly unsynced: Unsynced;
}

export async function append(
  { db, unsynced }: Appender,
  batch: readonly Append[],
  sync: 'durable' | 'fast',
): Promise<readonly AppendResult[]> {
  // Encoded before the transaction begins: a value that is no JSON fails here, with nothing locked or written.
  const entries = batch.map((entry) => ({ entry, body: encodeEvents(entry.events) }));
  const forget = unsynced.mark();
  const { results, rows } = await db.transaction(sync, async (tx) => {
    const heads = await lockHeads(tx, [...new Set(batch.map((entry) => entry.runId))]);
    const lost: BatchRow[] = [];
    const written: Written[] = [];
    const answers = entries.map(({ entry, body }): AppendResult => {
      const head = heads.get(entry.runId);
      if (head?.generation !== entry.generation || head.open !== openness.atWork) return { outcome: 'lease-lost' };
      const before = head.lastSeq < entry.after ? unsynced.between(head, head.lastSeq, entry.after) : [];
      if (before === null || (before.length === 0 && head.lastSeq !== entry.after))
        return { outcome: 'wrong-position', lastSeq: head.lastSeq };
      lost.push(...before);
      moveHead(head, entry);
      written.push({ head, entry, row: rowOf(head, entry, body) });
      return { outcome: 'stored', events: numberEvents(entry.events, entry.after) };
    });
    const own = written.flatMap(({ row }) => (row.firstSeq > row.lastSeq ? [] : row));
    await writeRows(tx, { heads: new Set(written.map(({ head }) => head)), rows: [...lost, ...own] });
    await writeIndexes(tx, written);
    return { results: answers, rows: [...lost, ...own] };
  });
  if (sync === 'durable') forget();
  else unsynced.add(rows.filter(({ committed }) => !committed));
  return results;
}

function rowOf({ runNo, generation }: Head, { after, events }: Append, body: string): BatchRow {
  const committed = !events.every(({ type }) => isLive(type));
  return { runNo, generation, firstSeq: after + 1, lastSeq: after + events.length, committed, body };
}

const selectHeads = `
  SELECT run_id, heads.* FROM runs JOIN heads USING (run_no)
  WHERE run_id = ANY($1::text[]) ORDER BY run_no FOR NO KEY UPDATE OF heads`;

async function lockHeads(tx: Transaction, runs: readonly RunId[]): Promise<ReadonlyMap<RunId, Head>> {
  const rows = await tx.all(selectHeads, runs);
  return new Map(
    rows.map((row) => {
      const [runNo, generation] = [integer(row, 'run_no'), integer(row, 'generation')];
      return [
        runId(row, 'run_id'),
        { runNo, generation, lastSeq: integer(row, 'last_seq'), open: integer(row, 'open') },
      ];
    }),
  );
}

function moveHead(head: Head, { after, events, end }: Append): void {
  head.lastSeq = after + events.length;
  if (end !== undefined) head.open = openness.ended;
  else if (events.some((event) => parkedAs(event) !== null)) head.open = openness.parked;
}

const insertBatches = `
  WITH moved AS (
    UPDATE heads SET last_seq = new.last_seq, open = new.open
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[]) AS new (run_no, last_seq, open)
    WHERE heads.run_no = new.run_no)
  INSERT INTO event_batches (run_no, first_seq, last_seq, committed, body)
  SELECT * FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[], $8::text[])`;

async function writeRows(
  tx: Transaction,
  { heads, rows }: { readonly heads: ReadonlySet<Head>; readonly rows: readonly BatchRow[] },
): Promise<void> {
  if (rows.length === 0) return;
  const moved = [...heads];
  await tx.run(
    insertBatches,
    moved.map(({ runNo }) => runNo),
    moved.map(({ lastSeq }) => lastSeq),
    moved.map(({ open }) => open),
    rows.map(({ runNo }) => runNo),
    rows.map(({ firstSeq }) => firstSeq),
    rows.map(({ lastSeq }) => lastSeq),
    rows.map(({ committed }) => committed),
    rows.map(({ body }) => body),
  );
}

/** What follows from the events, in the order in which everybody locks (A1). */
async function writeIndexes(tx: Transaction, written: readonly Written[]): Promise<void> {
  const committed = written.filter(({ row }) => row.committed);
  const changed = committed.filter(({ head }) => head.open !== openness.atWork).map(({ head }) => head.runNo);
  if (changed.length > 0) await lockRuns(tx, changed);
  for (const { head, entry } of committed) await indexEvents(tx, head.runNo, entry.events);
  const ends = written.flatMap(({ head, entry }) =>
    entry.end === undefined ? [] : { runNo: head.runNo, end: entry.end },
  );
  if (ends.length > 0) await endRuns(tx, ends);
}
