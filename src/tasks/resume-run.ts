import { findRun } from './find-in-scope.ts';
import { takeOver } from './take-over.ts';
import type { Services } from './services.ts';

/**
 * Goes on with a task that was paused. False for one that is at work or over, and for one that waits for a person: that
 * changes nothing (E-053).
 */
export async function resumeRun(services: Services, principal: string, responseId: string): Promise<boolean> {
  const { runId, phase, control } = await findRun(services, principal, responseId);
  if (phase === 'active' || (phase === 'waiting' && control !== 'pause')) return false;
  // The leg that parked is stored and may still be leaving.
  await services.runs.ended(runId);
  return takeOver(services, { runId, owner: null, phase, control });
}
