// Nothing stays in progress by mistake: runs that no living owner works on are taken over, and go on from their logs or end
// with an honest error (UD-60, E-830).
//
// V1. What is at work here is reserved before it is taken: a process never takes the same run twice.
// V2. It is taken as it was seen: of many who find it left one gets it (E-825).
// V3. A run whose agent is not here is left to who has it, and fails only when nobody came for long (E-833).
// V4. What was taken from this process is left at once: its calls are aborted, its late words refused (E-827).
// V5. A run that was attached to a call of its owner is ended: who waited for it is gone.
// V6. What a harness kept for a run that waited is gone before the run ends, or named in its result (H-060).
// V7. What a scheduler starts is not started by who finds it: the scheduler hears of it, and nobody waits for that (E-870).
//     To be ended it needs no scheduler (E-813).
// V8. Work that a fault broke off is not taken up again at once, and ever later.

import { beginningOf } from './beginning-of.ts';
import { executeRun } from './execute-run.ts';
import { DamageError } from '../core/errors.ts';
import { endParked } from './end-parked.ts';
import { endRun } from './end-run.ts';
import { folderElsewhere } from './settle-folder.ts';
import type { Ending } from '../core/closing.ts';
import type { RunErrorType } from '../core/outcome.ts';
import type { RunConfig } from '../core/run-config.ts';
import type { RunState } from '../core/run-state.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord, UnfinishedRun } from '../stores/store.ts';
import type { RunScheduler } from './run-scheduler.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';

/** A run as it was seen; without `control` it is none that shall be cancelled. */
type SeenRun = Pick<UnfinishedRun, 'runId' | 'owner' | 'phase'> &
  Partial<Pick<UnfinishedRun, 'control' | 'generation'>>;

/** A run that this process admitted and that is not at work after so long was left by a failure of the store. */
const leftBehindAfterMs = 5_000;
export const agentIsGone: Ending = givenUp(
  'AgentUnavailableError',
  'The agent of this task is not here any more, and nobody came who has it.',
);
const takeoverWindowMs = 3_600_000;
const maxTakeovers = 10;

/**
 * Takes over what has no owner and starts it. Called before the port opens, and each second after. One run that cannot be
 * taken over hinders no other. Gives the number of runs taken over.
 */
export async function recoverRuns(services: Services): Promise<number> {
  const { runs, store, log, ownership } = services;
  const open = await store.unfinishedRuns();
  // Asked after: who admits a run has said before that it lives.
  const living = await ownership.living();
  await leaveLost(services, open);
  const left = new Set<RunId>();
  for (const run of open) {
    // What was asked for elsewhere, or in the instant of admission, has set the flag and found nobody to tell.
    if (run.control === 'cancel') runs.stop(run.runId, 'cancel');
    if (runs.isRunning(run.runId)) log.meet(run.runId, run.lastSeq);
    if (run.control === 'pause') await pauseHere(services, run.runId);
  }
  const isAlone = (run: UnfinishedRun) => !isAtWork(services, run, living) && !mustWait(run) && !runs.rests(run.runId);
  const alone = runs.isLeaving ? [] : open.filter(isAlone);
  const elsewhere = await services.scheduler?.tend(alone.filter(({ control }) => control !== 'cancel'));
  let taken = 0;
  for (const run of alone) {
    if (elsewhere?.has(run.runId) === true || runs.isLeaving || runs.isRunning(run.runId)) continue;
    left.add(run.runId);
    try {
      if (!(await takeOver(services, run))) continue;
      taken += 1;
      if (run.control === 'pause') await pauseAgain(services, run.runId);
    } catch (cause) {
      services.logger.error('A run cannot be taken over.', { runId: run.runId }, cause);
    }
  }
  for (const runId of ownership.agentless.keys()) if (!left.has(runId)) ownership.agentless.delete(runId);
  return taken;
}

/** Of now: since it was seen, the run may have parked and been resumed. */
async function pauseHere({ runs, store, owner }: Services, runId: RunId): Promise<void> {
  if (!runs.isRunning(runId)) return;
  const run = await store.run(runId);
  if (run?.control === 'pause' && run.phase === 'active' && run.owner === owner) runs.pause(runId);
}

/** Stops what goes on here and is another's by now, or was ended by another (V4). */
async function leaveLost({ runs, store, owner, logger }: Services, open: readonly UnfinishedRun[]): Promise<void> {
  const mine = new Set(open.flatMap((run) => (run.owner === owner ? [run.runId] : [])));
  for (const runId of runs.running()) {
    if (mine.has(runId)) continue;
    const run = await store.run(runId);
    if (run === null || run.owner === owner || (run.owner === null && run.status === 'running')) continue;
    if (run.owner !== null) logger.warn('Another process has taken over a run of this one.', { runId });
    runs.stop(runId, 'shutdown');
  }
}

function isAtWork({ runs, owner, clock }: Services, run: UnfinishedRun, living: ReadonlySet<string>): boolean {
  if (runs.isRunning(run.runId)) return true;
  if (run.owner === owner) return clock.now() - run.createdAtMs < leftBehindAfterMs;
  return run.owner !== null && living.has(run.owner);
}

/** A parked run goes on once nothing is open any more and no pause holds it, or to be cancelled (E-601). */
export function mustWait({
  phase,
  control,
  openApprovals,
}: Pick<UnfinishedRun, 'phase' | 'control' | 'openApprovals'>): boolean {
  if (control === 'cancel') return false;
  return phase === 'paused' || (phase === 'waiting' && (openApprovals > 0 || control === 'pause'));
}

/** Who takes a run over means to work on it; here somebody had asked for a pause that its last owner did not come to. */
async function pauseAgain({ store, runs }: Services, runId: RunId): Promise<void> {
  await store.requestPause(runId);
  runs.pause(runId);
}

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

/** What a run is taken for: all that is left to do, one stretch of it by somebody who schedules it, or its end. */
export type Purpose =
  | { readonly do: 'work' }
  | { readonly do: 'stretch'; readonly leg: 'same' | 'next'; leaveBefore(state: RunState): boolean }
  | { readonly do: 'end'; readonly ending: Ending };

/**
 * Makes the run this process's and starts it, whoever schedules it; false when it is at work here, over, or not any more as it
 * was seen.
 */
export async function takeHere(services: Services, seen: SeenRun, purpose: Purpose): Promise<boolean> {
  const taken = Promise.withResolvers<boolean>();
  const started = services.runs.start(seen.runId, async (signals) => {
    const claim = await claimRun(services, seen, purpose).catch((cause: unknown) => {
      taken.reject(cause);
      return null;
    });
    taken.resolve(claim !== null);
    if (claim === null) return;
    const { run, ending } = claim;
    if (ending !== null)
      return endRun(
        services,
        run,
        await endParked(services, { run, config: await configOf(services, run.runId), ending }),
      );
    // Who was stopped in order has let go of it (E-834); a worker that is lost is seen to be by its scheduler (E-876).
    const leftBy = seen.owner === null || purpose.do === 'stretch' ? 'worker-lost' : 'crash';
    if (purpose.do !== 'stretch')
      return executeRun(services, { run, continues: true, leftBy, slot: slotOf(services, run), ...signals });
    if (seen.control === 'pause') await pauseAgain(services, run.runId);
    if (seen.control === 'cancel') services.runs.stop(run.runId, 'cancel');
    const stretch = { leaveBefore: (state: RunState) => purpose.leaveBefore(state), slot: null };
    await executeRun(services, { run, continues: purpose.leg === 'next', leftBy, ...stretch, ...signals });
  });
  return started && taken.promise;
}

/** Nobody waits for a place who is waited for. */
function slotOf({ runs }: Services, { parentRunId }: RunRecord): RunSlot | null {
  return parentRunId === null ? runs.slots.takeAgain() : null;
}

interface Claim {
  readonly run: RunRecord;
  /** Null: it goes on. */
  readonly ending: Ending | null;
}

async function claimRun(services: Services, { runId, ...seen }: SeenRun, purpose: Purpose): Promise<Claim | null> {
  const { store, clock, logger, ownership } = services;
  await ownership.present();
  const run = await store.takeOver(runId, services.owner, seen);
  if (run === null) return null;
  const goesOn = purpose.do === 'stretch' && purpose.leg === 'same';
  if (goesOn) return { run, ending: null };
  const nowMs = clock.now();
  // An owner that was shut down in order has let go of its runs, and so has one that parked: no sign of a run that brings
  // servers down.
  const since = { nowMs, sinceMs: nowMs - takeoverWindowMs };
  const takeovers = seen.owner === null ? 0 : await store.countTakeover(runId, since);
  if (seen.owner === null) logger.info('A run goes on.', { runId });
  else logger.info('A run is taken over.', { runId, takeovers });
  const isOrphan = (await configOf(services, runId))?.attached !== undefined;
  return { run, ending: isOrphan ? { status: 'cancelled' } : endingAtOnce(run, purpose, takeovers) };
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

/**
 * Null for a log that is damaged, or names none: who takes the run ends it.
 * @throws StorageError  The store cannot be read now.
 */
export async function configOf({ store }: Pick<Services, 'store'>, runId: RunId): Promise<RunConfig | null> {
  const begin = await beginningOf({ store }, runId).catch((cause: unknown) => {
    if (cause instanceof DamageError) return null;
    throw cause;
  });
  return begin?.data._config ?? null;
}

/** A cancel that was accepted stands; a run that brings its process down again and again is given up (E-832). */
function endingAtOnce({ control }: RunRecord, purpose: Purpose, takeovers: number): Ending | null {
  if (control === 'cancel') return { status: 'cancelled' };
  if (purpose.do === 'end') return purpose.ending;
  if (takeovers <= maxTakeovers) return null;
  return givenUp('RecoveryExhaustedError', 'The work on this task was broken off too often; it was given up.');
}

function givenUp(type: RunErrorType, message: string): Ending {
  return { status: 'failed', error: { type, message, retryable: false } };
}
