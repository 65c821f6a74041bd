import type { RunStatus } from '../../core/outcome.ts';
import type { UnnumberedEvent } from '../store.ts';
import { closeApproval, openApproval } from './approvals.ts';
import type { Transaction } from './database.ts';
import { closeStretch } from './stretches.ts';
import { indexFile } from './files.ts';
import { noteForWebhooks } from './webhooks.ts';
import { requestOccasion } from '../rows/webhook-occasion.ts';
import { contentHash } from '../rows/people-records.ts';

/** What the events say of people and of the run's phase, in the transaction that appends them (L6). */
export function indexEvents(tx: Transaction, runNo: number, events: readonly UnnumberedEvent[]): void {
  for (const event of events) {
    if (event.type === 'approval-required' || event.type === 'recovery-required') {
      openApproval(tx, runNo, event);
      noteForWebhooks(tx, requestOccasion(runNo, event));
    }
    if (event.type === 'approval-decided') closeApproval(tx, event);
    else if (event.agentPath !== undefined && event.agentPath.length > 0) continue;
    else if (event.type === 'user-message') rememberMessage(tx, runNo, event);
    else if (event.type === 'file-changed') indexFile(tx, runNo, event);
    else if (event.type === 'run-result') park(tx, runNo, event.data.status);
  }
}

type UserMessageEvent = Extract<UnnumberedEvent, { type: 'user-message' }>;

function rememberMessage(tx: Transaction, runNo: number, event: UserMessageEvent): void {
  const sql = 'INSERT OR IGNORE INTO messages (run_no, message_id, content_hash) VALUES (?, ?, ?)';
  tx.run(sql, runNo, event.data.messageId, contentHash(event));
}

/** Nobody owns a run that waits: its log takes facts from outside only, until it is taken over. */
function park(tx: Transaction, runNo: number, status: RunStatus): void {
  if (status !== 'awaiting-input' && status !== 'paused') return;
  const phase = status === 'paused' ? 'paused' : 'waiting';
  tx.run('UPDATE heads SET open = 2 WHERE run_no = ?', runNo);
  tx.run('UPDATE runs SET phase = ?, owner = NULL WHERE run_no = ?', phase, runNo);
  closeStretch(tx, runNo);
}
