// Cancel is an endpoint call, acknowledged within a second whatever the harness does (U-362); the flag is durable before
// anything else happens, so a crash in between still cancels (E-812).

import { findRun, findSession } from './find-in-scope.ts';
import { responseOf, type ResponseBody } from './read-response.ts';
import { sessionOf } from './read-sessions.ts';
import { sleep } from '../core/clock.ts';
import { takeOver } from './take-over.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/** How long an answer waits for the task to be over before it says "still stopping". */
const answerWithinMs = 700;

/** Stops one task. A task that has ended is left as it is, and that is a success (U-361). */
export async function cancelTask(services: Services, principal: string, responseId: string): Promise<ResponseBody> {
  const run = await findRun(services, principal, responseId);
  await stopRun(services, run.runId);
  const after = await services.store.run(run.runId);
  return responseOf(services, after ?? run);
}

/** Stops whatever runs in a session; nothing running is a success. `status` is that of the session then (UD-50). */
export async function cancelSession(
  services: Services,
  principal: string,
  sessionId: string,
): Promise<{ readonly id: string; readonly status: string }> {
  const session = await findSession(services, principal, sessionId);
  if (session.runningRunId !== null) await stopRun(services, session.runningRunId);
  const { id, status } = await sessionOf(services, await findSession(services, principal, sessionId));
  return { id, status };
}

/** Asks a run to stop and waits for it, but not for long. One that has ended is left as it is. */
export async function stopRun(services: Services, runId: RunId): Promise<void> {
  const run = await services.store.requestCancel(runId);
  if (run?.status !== 'running') return;
  const answered = new AbortController();
  await Promise.race([
    endRunning(services, runId, answered.signal),
    sleep(services.clock, answerWithinMs, answered.signal),
  ]);
  answered.abort();
}

/** At work here, it ends by itself; parked, or left by its owner, it is taken over to be ended. Another's hears of the flag, and is waited for. */
async function endRunning(services: Services, runId: RunId, signal: AbortSignal): Promise<void> {
  if (services.runs.stop(runId, 'cancel')) await services.runs.ended(runId);
  const run = await services.store.run(runId);
  if (run?.status !== 'running') return;
  if (run.owner !== null && (await services.ownership.living()).has(run.owner)) {
    for await (const _ of services.log.follow(runId, { after: run.lastSeq, signal }));
    return;
  }
  // Somebody here may have been quicker, and not have seen the flag.
  if (!(await takeOver(services, run))) services.runs.stop(runId, 'cancel');
  await services.runs.ended(runId);
}
