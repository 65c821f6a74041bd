// One stretch of a run by a worker: it takes the run over in the store, does what the log asks for, and leaves it to the next.
//
// A1. Taking the run over is the claim: of two who were given one stretch one gets it, and the other's late words are
//     refused (E-875, E-876).
// A2. Who comes second to a stretch begins no effect. Where the outcome stands in the log it gives that; what was cut off is
//     written down as cut off, and the next stretch goes on from there.
// A3. What is done is what the log asks for by now, and nothing where that is no work of this kind (E-873).
// A4. A stretch that was broken off, by a shutdown or a fault, is no outcome: it is given to another worker.
// A5. What was asked to stop before its work could hear of it begins no effect either.

import { agentIsGone } from '../../tasks/take-over.ts';
import { configOf } from '../../tasks/config-of.ts';
import { mustWait } from '../../tasks/must-wait.ts';
import { takeHere, type Purpose } from '../../tasks/take-here.ts';
import { decide, type Command } from '../../engine/decide.ts';
import { evolve, initialRunState, type RunState } from '../../core/run-state.ts';
import { outlineOf } from '../../engine/outline.ts';
import { recover } from '../../engine/recover.ts';
import { ReinsError } from '../../core/errors.ts';
import type { Ending } from '../../core/closing.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunRecord } from '../../stores/store.ts';
import type { RunWatch } from '../watch-runs.ts';
import type { Services } from '../../tasks/services.ts';
import type { RunInput, Standing } from './contract.ts';

export type Stage = 'call-model' | 'run-tools' | 'append' | 'close';

export interface StretchOf {
  readonly runId: RunId;
  /** Of the run's owner, when the stretch was planned. */
  readonly generation: number;
  readonly stage: Stage;
  /** In place of what the log asks for. Absent: that. */
  readonly ending?: Ending;
  /** Nobody came who has the agent, for too long (E-833). */
  readonly isAgentGone?: boolean;
  /** How it shall be stopped by now; null: it goes on. Absent: nobody asks for that. */
  stopBy?(): 'cancel' | 'shutdown' | null;
}

export type WorkerServices = Services & { readonly watch: RunWatch };

/** The stretch is for another worker, or for this one later. */
export class StretchLeftError extends ReinsError {}
/** It is for a worker that has the agent. */
export class AgentAwaitedError extends StretchLeftError {}
/** It is for a worker of another database: one that is deleted stays known. */
export class UnknownRunError extends StretchLeftError {
  constructor() {
    super('The database of this worker knows no such run.');
  }
}

const failed = (type: 'HarnessError' | 'StorageError', message: string): Ending => ({
  status: 'failed',
  error: { type, message, retryable: false },
});
export const workflowFailed = failed('HarnessError', 'The agent engine met an unexpected fault.');
export const unreadable = failed('StorageError', 'The server could not read or write what this task needs.');

const mostTries = 5;

/** @throws StretchLeftError, StorageError  Nothing is known to be done; it may be asked for again. */
export async function advanceRun(services: WorkerServices, stretch: StretchOf): Promise<Standing> {
  const { runId } = stretch;
  for (let tries = 0; tries < mostTries; tries++) {
    const seen = await services.store.run(runId);
    if (seen === null) throw new UnknownRunError();
    if (seen.status !== 'running') return over;
    if (services.runs.isRunning(runId)) {
      // The same stretch, given up by who asked for it while it hung here.
      services.runs.stop(runId, 'shutdown');
      await services.runs.ended(runId);
      continue;
    }
    const leaver = createLeaver(stretch.stage);
    const plan = await planOf(services, { seen, stretch, leaver });
    if (plan.do === 'nothing') return plan.standing;
    if (plan.do === 'stretch' && plan.leg === 'same') await join(services, runId);
    const taking = takeHere(services, seen, plan);
    const stopBy = stretch.stopBy?.() ?? null;
    if (stopBy !== null) services.runs.stop(runId, stopBy);
    const isTaken = await taking;
    await services.runs.ended(runId);
    services.watch.leave(runId);
    if (!isTaken) continue; // it has changed in this moment
    const run = await services.store.run(runId);
    if (run?.status !== 'running') return over;
    const now = await stateOf(services, run);
    if (now.result === null && !leaver.hasLeft()) throw new StretchLeftError('A stretch of a run was broken off.');
    return standingOf(services, { run, state: now });
  }
  throw new StretchLeftError('A run is taken by others again and again.');
}

/** Who watches the leg hears of what it does here, though it began elsewhere. */
async function join({ store, watch }: WorkerServices, runId: RunId): Promise<void> {
  const [first] = await store.readEvents(runId, { after: 0, limit: 1 });
  if (first?.type === 'run-started') watch.join(first);
}

/**
 * How the run stands. What is cut off and was begun by nobody whom its workflow knows of is told as begun by somebody else (A2).
 * @param generation  Of the owner that the workflow knows of; absent: of none.
 * @throws UnknownRunError  This store never had it.
 */
export async function loadRun(services: Services, { runId, generation }: RunInput): Promise<Standing> {
  const run = await services.store.run(runId);
  if (run === null) throw new UnknownRunError();
  if (run.status !== 'running') return over;
  const state = await stateOf(services, run);
  const standing = await standingOf(services, { run, state });
  const isKnown = standing.at !== 'open' || run.generation === generation;
  return isKnown || !(await isCut(services, run, state)) ? standing : { ...standing, generation: run.generation - 1 };
}

export const over: Standing = { v: 1, at: 'over' };

interface Leaver {
  readonly leaveBefore: (state: RunState) => boolean;
  readonly leaveAtOnce: () => boolean;
  readonly hasLeft: () => boolean;
}

const ownCommands: Readonly<Record<Stage, readonly Command['do'][]>> = {
  'call-model': ['open-step', 'call-model'],
  'run-tools': ['run-tools', 'collect-tools'],
  append: ['refuse-calls', 'collect-tools', 'park'],
  close: ['finish'],
};

/** Leaves before what is no work of the stage; a model is called once (A3). */
function createLeaver(stage: Stage): Leaver {
  let hasCalled = false;
  let hasLeft = false;
  return {
    leaveBefore(state) {
      const next = decide(state).do;
      hasLeft = hasCalled || !ownCommands[stage].includes(next);
      hasCalled = next === 'call-model';
      return hasLeft;
    },
    leaveAtOnce: () => (hasLeft = true),
    hasLeft: () => hasLeft,
  };
}

type Plan = Purpose | { readonly do: 'nothing'; readonly standing: Standing };

interface Judged {
  readonly seen: RunRecord;
  readonly stretch: StretchOf;
  readonly leaver: Leaver;
}

async function planOf(services: Services, { seen, stretch, leaver }: Judged): Promise<Plan> {
  if (stretch.ending !== undefined) return { do: 'end', ending: stretch.ending };
  const state = await stateOf(services, seen);
  const isParked = state.result !== null;
  const isFirst = seen.generation === stretch.generation;
  const isSettled = isParked
    ? !(await isReady(services, seen))
    : !isFirst && seen.owner === null && seen.control !== 'cancel' && !(await isCut(services, seen, state));
  if (isSettled) return { do: 'nothing', standing: await standingOf(services, { run: seen, state }) };
  if (seen.control !== 'cancel' && !(await hasAgent(services, seen.runId))) {
    if (stretch.isAgentGone === true) return { do: 'end', ending: agentIsGone };
    throw new AgentAwaitedError('The run waits for a worker that has its agent.');
  }
  // A leg begins, or what was cut off is written down; what follows is another stretch (A2).
  if (isParked || !isFirst) return { do: 'stretch', leg: 'next', leaveBefore: leaver.leaveAtOnce };
  return { do: 'stretch', leg: 'same', leaveBefore: leaver.leaveBefore };
}

/** Whether something was begun whose outcome the log does not have. */
async function isCut(services: Services, run: RunRecord, state: RunState): Promise<boolean> {
  if (state.open === null) return false;
  if (state.open.calls.some(({ progress }) => progress.at === 'dispatched')) return true;
  // Of a retry only what it has shown may tell that it was begun.
  const known = state.open.stage.at === 'backoff' ? await stateOf(services, run, {}) : state;
  return recover(known, services.clock.now(), 'worker-lost').length > 0;
}

async function isReady({ store }: Services, { runId, principal, phase, control }: RunRecord): Promise<boolean> {
  const open = phase === 'waiting' ? await store.approvals({ principal, runId, status: 'open', limit: 1 }) : [];
  return !mustWait({ phase, control, openApprovals: open.length });
}

async function hasAgent(services: Services, runId: RunId): Promise<boolean> {
  const base = (await configOf(services, runId))?.base;
  return base === undefined || services.harnesses.adapter(base) !== undefined;
}

async function stateOf(
  { log }: Services,
  { runId, sessionId }: RunRecord,
  read: { readonly committedOnly?: true } = { committedOnly: true },
): Promise<RunState> {
  let state = initialRunState(runId, sessionId);
  for await (const events of log.readAll(runId, read)) state = events.reduce(evolve, state);
  return state;
}

async function standingOf(
  services: Services,
  { run, state }: { readonly run: RunRecord; readonly state: RunState },
): Promise<Standing> {
  const { generation, control } = run;
  if (state.result !== null)
    return (await isReady(services, run)) ? { v: 1, at: 'ready', generation } : { v: 1, at: 'parked' };
  return { v: 1, at: 'open', generation, outline: outlineOf(state), isFlagged: control !== 'none' };
}
