import { takeOver } from './take-over.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/**
 * Starts a run that has waited, once nothing of it is open. If this comes to nothing, the scan of all runs finds it (E-601):
 * what was said is stored, and that is what its caller is told. A pause that was asked for meanwhile holds.
 */
export async function wakeRun(services: Services, runId: RunId): Promise<void> {
  try {
    await wake(services, runId);
  } catch (cause) {
    services.logger.error('A run that has waited cannot be started.', { runId }, cause);
  }
}

async function wake(services: Services, runId: RunId): Promise<void> {
  const { store, runs } = services;
  const run = await store.run(runId);
  if (run === null || run.phase !== 'waiting' || run.control === 'pause') return;
  const { principal, phase, control } = run;
  const open = await store.approvals({ principal, runId, status: 'open', limit: 1 });
  if (open.length > 0) return;
  // The leg that parked is stored and may still be leaving.
  await runs.ended(runId);
  await takeOver(services, { runId, owner: null, phase, control });
}
