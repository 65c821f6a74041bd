import { findRun } from './find-in-scope.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * Parks a task: what runs is let end, then nothing more happens until it is resumed (E-819). Says how it stands; a task that
 * has ended is left as it is. The flag is durable first, so it holds whoever works on the run (E-812).
 */
export async function pauseRun(services: Services, principal: string, responseId: string): Promise<RunRecord> {
  const run = await findRun(services, principal, responseId);
  const asked = await services.store.requestPause(run.runId);
  services.runs.pause(run.runId);
  return asked ?? run;
}
