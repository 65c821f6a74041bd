import { takeOver } from './recover-runs.ts';
import { taskOf } from './read-approvals.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/**
 * Starts the task of a run that has waited, once nothing of it is open. If this comes to nothing, the scan of all runs
 * finds it (E-601). A pause that was asked for meanwhile holds.
 */
export async function wakeRun(services: Services, runId: RunId): Promise<void> {
  const run = await taskOf(services, runId);
  if (run === null || run.phase !== 'waiting' || run.control === 'pause') return;
  const { principal, phase } = run;
  const open = await services.store.approvals({ principal, runId: run.runId, status: 'open', limit: 1 });
  if (open.length > 0) return;
  // The leg that parked is stored and may still be leaving.
  await services.runs.ended(run.runId);
  await takeOver(services, { runId: run.runId, owner: null, phase });
}
