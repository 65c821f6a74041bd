import { encodeEvents } from '../event-codec.ts';
import { numberEvents } from '../event-shape.ts';
import { integer, text } from '../rows/columns.ts';
import { contentHash } from '../rows/people-records.ts';
import type { AppendFactsResult, FactFromOutside } from '../store.ts';
import { openness } from './append.ts';
import { findApproval } from './approvals.ts';
import { keyOf, type Database, type Reads } from './database.ts';
import { indexEvents } from './index-events.ts';
import { putRule } from './rules.ts';

type Fact = FactFromOutside['event'];

const selectHead = `
  SELECT run_no, last_seq, open FROM runs JOIN heads USING (run_no) WHERE run_id = $1 FOR NO KEY UPDATE OF heads`;
const insertFact = `
  WITH moved AS (UPDATE heads SET last_seq = $2 WHERE run_no = $1)
  INSERT INTO event_batches (run_no, first_seq, last_seq, committed, body) VALUES ($1, $2, $2, true, $3)`;

/**
 * Where the log ends now, whoever owns the run: under the lock of the run's head, so that of a fact and an end that race one
 * comes first (E-661).
 */
export async function appendFact(db: Database, { event, rule }: FactFromOutside): Promise<AppendFactsResult> {
  const body = encodeEvents([event]);
  return db.transaction('durable', async (tx) => {
    const head = await tx.get(selectHead, event.runId);
    if (head === undefined) return { outcome: 'ended' };
    const [runNo, lastSeq] = [integer(head, 'run_no'), integer(head, 'last_seq')];
    const before = event.type === 'user-message' ? await saidBefore(tx, runNo, event) : await decidedBefore(tx, event);
    if (before !== null) return before;
    if (integer(head, 'open') === openness.ended) return { outcome: 'ended' };
    await tx.run(insertFact, runNo, lastSeq + 1, body);
    await indexEvents(tx, runNo, [event]);
    if (rule !== undefined) await putRule(tx, rule);
    return { outcome: 'stored', events: numberEvents([event], lastSeq) };
  });
}

async function saidBefore(
  tx: Reads,
  runNo: number,
  event: Extract<Fact, { type: 'user-message' }>,
): Promise<AppendFactsResult | null> {
  const sql = 'SELECT content_hash FROM messages WHERE run_no = $1 AND message_key = $2';
  const said = await tx.get(sql, runNo, keyOf(event.data.messageId));
  if (said === undefined) return null;
  return { outcome: text(said, 'content_hash') === contentHash(event) ? 'known' : 'conflict' };
}

async function decidedBefore(
  tx: Reads,
  { runId, data }: Extract<Fact, { type: 'approval-decided' }>,
): Promise<AppendFactsResult | null> {
  const approval = await findApproval(tx, data.approvalId);
  if (approval === null || approval.runId !== runId) return { outcome: 'ended' };
  return approval.decided === null ? null : { outcome: 'decided', approval };
}
