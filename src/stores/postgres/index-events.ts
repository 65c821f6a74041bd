import type { UnnumberedEvent } from '../store.ts';
import { contentHash } from '../rows/people-records.ts';
import { requestOccasion } from '../rows/webhook-occasion.ts';
import { closeApproval, openApproval } from './approvals.ts';
import { keyOf, type Transaction } from './database.ts';
import { indexFile } from './files.ts';
import { noteForWebhooks } from './webhooks.ts';

const rememberMessage = `
  INSERT INTO messages (run_no, message_key, content_hash) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
const park = 'UPDATE runs SET phase = $2, owner = NULL WHERE run_no = $1';

/** What the events say of people and of the run's phase, in the transaction that appends them (L6). */
export async function indexEvents(tx: Transaction, runNo: number, events: readonly UnnumberedEvent[]): Promise<void> {
  for (const event of events) {
    if (event.type === 'approval-required' || event.type === 'recovery-required') {
      await openApproval(tx, runNo, event);
      await noteForWebhooks(tx, [requestOccasion(runNo, event)]);
    }
    if (event.type === 'approval-decided') await closeApproval(tx, event);
    else if (event.agentPath !== undefined && event.agentPath.length > 0) continue;
    else if (event.type === 'user-message')
      await tx.run(rememberMessage, runNo, keyOf(event.data.messageId), contentHash(event));
    else if (event.type === 'file-changed') await indexFile(tx, runNo, event);
    else if (event.type === 'run-result') {
      const phase = parkedAs(event);
      if (phase !== null) await tx.run(park, runNo, phase);
    }
  }
}

/** The phase of a run that the event parks: nobody owns it, its log takes facts from outside only, until it is taken over. */
export function parkedAs({ type, data, agentPath = [] }: UnnumberedEvent): 'waiting' | 'paused' | null {
  if (type !== 'run-result' || agentPath.length > 0) return null;
  if (data.status === 'paused') return 'paused';
  return data.status === 'awaiting-input' ? 'waiting' : null;
}
