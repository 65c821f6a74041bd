import { findRun } from './find-in-scope.ts';
import type { Services } from './services.ts';

/** Removes the stored response; a running task goes on and its session keeps the conversation (U-256, UD-08). */
export async function deleteResponse(services: Services, principal: string, responseId: string): Promise<void> {
  const run = await findRun(services, principal, responseId);
  await services.store.deleteResponse(run.runId);
}
