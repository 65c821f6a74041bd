import { encodeEvents } from '../event-codec.ts';
import { numberEvents } from '../event-shape.ts';
import type { AppendFactsResult, FactFromOutside } from '../store.ts';
import { insertBatch } from './append.ts';
import { findApproval } from './approvals.ts';
import type { Database, Reads } from './database.ts';
import { indexEvents } from './index-events.ts';
import { putRule } from './rules.ts';
import { closeStretch, openStretch } from './stretches.ts';
import { integer, text } from '../rows/columns.ts';
import { contentHash } from '../rows/people-records.ts';

type Fact = FactFromOutside['event'];

/**
 * Where the log ends now, whoever owns the run: in one transaction with the run's head, so that of a fact and an end that
 * race one comes first (E-661).
 */
export function appendFact(db: Database, { event, rule }: FactFromOutside): AppendFactsResult {
  const body = encodeEvents([event]);
  return db.transaction('durable', (tx) => {
    const head = tx.get(
      'SELECT run_no, last_seq, open FROM runs JOIN heads USING (run_no) WHERE run_id = ?',
      event.runId,
    );
    if (head === undefined) return { outcome: 'ended' };
    const [runNo, lastSeq] = [integer(head, 'run_no'), integer(head, 'last_seq')];
    const before = event.type === 'user-message' ? saidBefore(tx, runNo, event) : decidedBefore(tx, event);
    if (before !== null) return before;
    const open = integer(head, 'open');
    if (open === 0) return { outcome: 'ended' };
    tx.run('UPDATE heads SET last_seq = last_seq + 1 WHERE run_no = ?', runNo);
    openStretch(tx, runNo);
    tx.run(insertBatch, runNo, lastSeq + 1, lastSeq + 1, body, 1);
    if (open === 2) closeStretch(tx, runNo);
    indexEvents(tx, runNo, [event]);
    if (rule !== undefined) putRule(tx, rule);
    return { outcome: 'stored', events: numberEvents([event], lastSeq) };
  });
}

function saidBefore(
  tx: Reads,
  runNo: number,
  event: Extract<Fact, { type: 'user-message' }>,
): AppendFactsResult | null {
  const sql = 'SELECT content_hash FROM messages WHERE run_no = ? AND message_id = ?';
  const said = tx.get(sql, runNo, event.data.messageId);
  if (said === undefined) return null;
  return { outcome: text(said, 'content_hash') === contentHash(event) ? 'known' : 'conflict' };
}

function decidedBefore(
  tx: Reads,
  { runId, data }: Extract<Fact, { type: 'approval-decided' }>,
): AppendFactsResult | null {
  const approval = findApproval(tx, data.approvalId);
  if (approval === null || approval.runId !== runId) return { outcome: 'ended' };
  return approval.decided === null ? null : { outcome: 'decided', approval };
}
