// Whether a run that was left goes on here, or with who schedules it, or waits for who has what it needs.
//
// V3. A run whose agent, or whose working directory, is not here is left to who has it, and fails only when nobody came for
//     long (E-833).
// V7. What a scheduler starts is not started by who finds it: the scheduler hears of it, and nobody waits for that (E-870).
//     To be ended it needs no scheduler (E-813).

import { configOf } from './config-of.ts';
import { folderElsewhere } from './settle-folder.ts';
import { givenUp, takeHere, type SeenRun } from './take-here.ts';
import type { Ending } from '../core/closing.ts';
import type { RunId } from '../core/ids.ts';
import type { RunScheduler } from './run-scheduler.ts';
import type { Services } from './services.ts';

export const agentIsGone: Ending = givenUp(
  'AgentUnavailableError',
  'The agent of this task is not here any more, and nobody came who has it.',
);

/**
 * Makes the run this process's and starts it, or has who schedules it go on; false when it is at work here, over, not any
 * more as it was seen, or when its agent is not here.
 */
export async function takeOver(services: Services, seen: SeenRun): Promise<boolean> {
  const { scheduler } = services;
  const isScheduled = scheduler?.takes(await configOf(services, seen.runId)) === true;
  if (isScheduled && seen.control !== 'cancel') return handOver(services, scheduler, seen);
  const judged = seen.control === 'cancel' ? 'here' : await judge(services, seen.runId);
  if (judged === 'awaited') return seen.phase === 'paused' && letGoOn(services, seen);
  const isTaken = await takeHere(services, seen, judged === 'here' ? { do: 'work' } : { do: 'end', ending: judged });
  if (isScheduled) services.runs.cleanUp(seen.runId, () => tellEnded(services, scheduler, seen.runId));
  return isTaken;
}

/** Who schedules the run may wait for word of it. */
async function tellEnded({ runs }: Services, scheduler: RunScheduler, runId: RunId): Promise<void> {
  await runs.ended(runId);
  await scheduler.wake(runId);
}

const isHeld = ({ phase, control }: SeenRun) => phase === 'paused' || control === 'pause';

/** What is paused goes on because somebody says so: that is stored, for whoever works on it to find. */
async function letGoOn({ store, ownership, owner }: Services, { runId, ...seen }: SeenRun): Promise<boolean> {
  await ownership.present();
  if ((await store.takeOver(runId, owner, seen)) === null) return false;
  await store.release(runId, owner);
  return true;
}

async function handOver(services: Services, scheduler: RunScheduler, seen: SeenRun): Promise<boolean> {
  if (isHeld(seen) && !(await letGoOn(services, seen))) return false;
  services.runs.cleanUp(seen.runId, () => scheduler.wake(seen.runId));
  return true;
}

/** Whether a run can go on here; if not, whether it can be waited for who has what it needs, or how it ends (V3). */
async function judge(services: Services, runId: RunId): Promise<'here' | 'awaited' | Ending> {
  const { clock, harnesses, logger, ownership } = services;
  const { agentless, policy } = ownership;
  const base = (await configOf(services, runId))?.base ?? null;
  const isAgentHere = base === null || harnesses.adapter(base) !== undefined;
  const away = isAgentHere ? await folderElsewhere(services, runId) : null;
  if (isAgentHere && away === null) return 'here';
  const sinceMs = agentless.get(runId);
  if (sinceMs === undefined) {
    agentless.set(runId, clock.now());
    const needs = away === null ? base : 'its working directory';
    logger.warn('A run waits for a process that has what it needs.', {
      runId,
      needs,
      failsAfterMs: policy.agentWaitMs,
    });
  }
  if (sinceMs === undefined || clock.now() - sinceMs < policy.agentWaitMs) return 'awaited';
  return away === null ? agentIsGone : givenUp('StorageError', away.message);
}
