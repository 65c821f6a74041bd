import { integer, text } from '../rows/columns.ts';
import { batchesOf } from '../rows/ended-batches.ts';
import { NotKeptError } from '../not-kept-error.ts';
import type { EndedRun } from '../store.ts';
import { nextTurn, takeSession } from './admit.ts';
import { lockName, type Database, type Transaction } from './database.ts';

const insertRun = `
  INSERT INTO runs
    (run_id, session_id, harness_id, principal, turn, previous_run_id, store, created_at, ended_at, status, response, pruned)
  VALUES ($1, $2, $3, $4, $5, $6, true, $7, $8, $9, $10, $11) RETURNING run_no`;
const insertBatches = `
  WITH head AS (INSERT INTO heads (run_no, generation, last_seq, open) VALUES ($1, 1, $2, 0))
  INSERT INTO event_batches (run_no, first_seq, last_seq, committed, body)
  SELECT $1, * FROM unnest($3::bigint[], $4::bigint[], $5::boolean[], $6::text[])`;

/** Nothing is indexed: no approval of it is open, no file of it is here, and no webhook hears of it. */
export function keepEnded(db: Database, runs: readonly EndedRun[]): Promise<readonly boolean[]> {
  const encoded = runs.map((run) => [run, batchesOf(run)] as const);
  return db.transaction(
    'durable',
    async (tx) => {
      const isNew: boolean[] = [];
      for (const [run, batches] of encoded) isNew.push(await keep(tx, run, batches));
      return isNew;
    },
    'long',
  );
}

async function keep(tx: Transaction, run: EndedRun, batches: ReturnType<typeof batchesOf>): Promise<boolean> {
  const { runId, title, previousRunId, principal, sessionId, atMs, events } = run;
  await lockName(tx, 'run', runId);
  const known = await tx.get('SELECT principal FROM runs WHERE run_id = $1', runId);
  if (known !== undefined && text(known, 'principal') === principal) return false;
  const refusal =
    known === undefined
      ? await takeSession(tx, { ...run, ...(previousRunId === null ? { newSession: { title } } : {}) })
      : ({ outcome: 'no-session' } as const);
  if (refusal !== null) throw new NotKeptError(run, refusal);
  await tx.run(
    insertBatches,
    await insert(tx, run),
    events.at(-1)?.seq ?? 0,
    batches.map(({ firstSeq }) => firstSeq),
    batches.map(({ lastSeq }) => lastSeq),
    batches.map(({ committed }) => committed === 1),
    batches.map(({ body }) => body),
  );
  await tx.run('UPDATE sessions SET updated_at = greatest(updated_at, $1) WHERE session_id = $2', atMs, sessionId);
  return true;
}

async function insert(tx: Transaction, run: EndedRun): Promise<number | null> {
  const { runId, sessionId, harnessId, principal, previousRunId, atMs, status, response, events } = run;
  const times = [events[0]?.at ?? atMs, atMs];
  const facts = [
    runId,
    sessionId,
    harnessId,
    principal,
    await nextTurn(tx, sessionId),
    previousRunId,
    ...times,
    status,
  ];
  const pruned = events.at(-1)?.seq === events.length ? 0 : 1;
  const row = await tx.get(insertRun, ...facts, response === null ? null : JSON.stringify(response), pruned);
  return row === undefined ? null : integer(row, 'run_no');
}
