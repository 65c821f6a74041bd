import { beginningOf } from './beginning-of.ts';
import { answersText } from '../core/questions.ts';
import { stopRun } from './cancel-task.ts';
import { storeDecision } from './decide-approval.ts';
import { wakeRun } from './wake-run.ts';
import type { ApprovalRecord } from '../stores/store.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/** Closes what nobody decided in time, by the policy of its task (E-606). One that fails hinders no other. */
export async function expireApprovals(services: Services): Promise<void> {
  for (const approval of await services.store.dueApprovals(services.clock.now())) {
    const { approvalId, runId } = approval;
    try {
      await expire(services, approval);
    } catch (cause) {
      services.logger.error('An approval cannot be closed.', { approvalId, runId }, cause);
    }
  }
}

/** A question counts as declined; a denial and an unknown outcome that is given up are what `expired` means to the engine. */
async function expire(services: Services, approval: ApprovalRecord): Promise<void> {
  const { runId, pending } = approval;
  const declined = { content: answersText(pending.questions ?? [], 'declined'), isError: false };
  const output = pending.kind === 'question' ? { output: declined } : {};
  const stored = await storeDecision(services, approval, { said: { decision: 'expired', by: 'engine', ...output } });
  if (stored.outcome !== 'stored') return;
  if ((await policyOf(services, runId)) === 'cancel-run') await stopRun(services, runId);
  else await wakeRun(services, runId);
}

async function policyOf(services: Services, runId: RunId): Promise<'deny' | 'cancel-run'> {
  return (await beginningOf(services, runId))?.data._config?.permissions?.onExpiry ?? 'deny';
}
