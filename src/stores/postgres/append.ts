// The hot path: what all runs of this process wrote within one window is one transaction, its rows one statement.
//
// A1. Rows are locked in one order by everybody: heads by run, then runs by number, then sessions by id, then the rest. Two
//     nodes that write the same runs, one of them fenced, wait for each other and never in a circle. `NO KEY`: a row that
//     refers to a run locks the run's key, in the order of the rows, and must not meet these locks.
// A2. Position, generation and whether the log is open are looked at under the lock of the head, in the transaction that
//     writes (E-801). What is refused is left out of the statement and touches nothing else (L3).
// A3. Batches of live events are synced as well: readers see them at once, and a crash of the database must take back nothing
//     that anybody saw, least of all when its writer is lost with it. It is one sync a window, for all runs together.

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

/** The column `open`: nothing is appended any more; its owner's to append to; parked, for facts from outside alone. */
export const openness = { ended: 0, atWork: 1, parked: 2 } as const;

interface Head {
  readonly runNo: number;
  readonly generation: number;
  lastSeq: number;
  open: number;
}

interface BatchRow {
  readonly runNo: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Whether it may hold a committed event: readers of these pass the others over. */
  readonly committed: boolean;
  readonly body: string;
}

interface Written {
  readonly head: Head;
  readonly entry: Append;
  readonly row: BatchRow;
}

export async function append(db: Database, batch: readonly Append[]): Promise<readonly AppendResult[]> {
  // Encoded before the transaction begins: a value that is no JSON fails here, with nothing locked or written.
  const entries = batch.map((entry) => ({ entry, body: encodeEvents(entry.events) }));
  return db.transaction('durable', async (tx) => {
    const heads = await lockHeads(tx, [...new Set(batch.map((entry) => entry.runId))]);
    const written: Written[] = [];
    const answers = entries.map(({ entry, body }): AppendResult => {
      const head = heads.get(entry.runId);
      if (head?.generation !== entry.generation) return { outcome: 'lease-lost' };
      // First, so that whoever was not told that its ending was stored finds it where it stands.
      if (head.lastSeq !== entry.after) return { outcome: 'wrong-position', lastSeq: head.lastSeq };
      if (head.open !== openness.atWork) return { outcome: 'lease-lost' };
      moveHead(head, entry);
      written.push({ head, entry, row: rowOf(head, entry, body) });
      return { outcome: 'stored', events: numberEvents(entry.events, entry.after) };
    });
    const rows = written.flatMap(({ row }) => (row.firstSeq > row.lastSeq ? [] : row));
    await writeRows(tx, { heads: new Set(written.map(({ head }) => head)), rows });
    await writeIndexes(tx, written);
    return answers;
  });
}

function rowOf({ runNo }: Head, { after, events }: Append, body: string): BatchRow {
  const committed = !events.every(({ type }) => isLive(type));
  return { runNo, firstSeq: after + 1, lastSeq: after + events.length, committed, body };
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
