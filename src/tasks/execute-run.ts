// One run, from its first event to its last: the host of a harness.
//
// X1. A run ends exactly once, whatever the harness does: throws, hangs at any stage, stops without a result, goes on after it.
// X2. Committed groups are durable before the harness is asked for more (harness A1); live ones are not waited for.
// X3. A harness that was told to stop, by a person, its budget or a shutdown, has a bounded time to end; then the run ends
//     without it and says so (E-816).
// X4. A shutdown leaves the run unended, and without an owner, for the next start; a lost lease leaves it to who has it.
//     So does who was asked to do one effect only (`leaveBefore`).
// X5. A run's harness is opened when it has a place (UD-59). Until then it can be stopped like any other, and its time runs.
// X6. A store that is away ends no run: who takes the run over once it is back goes on from its log, not for ever (E-826, E-832).

import { AdapterProtocolError, ConfigurationError, isOutage, LeaseLostError, StorageError } from '../core/errors.ts';
import { applyDrafts } from '../core/closing.ts';
import { createRunRecorder, finalStatus } from './run-recorder.ts';
import { deadlineOf, evolve, type RunState } from '../core/run-state.ts';
import { foldLog } from './fold-log.ts';
import { endParked } from './end-parked.ts';
import { nextLeg } from './next-leg.ts';
import { parkFolder } from './settle-folder.ts';
import { runTurn, type RunningTurn } from './run-turn.ts';
import { startDeadline, type TurnDeadline } from './turn-deadline.ts';
import { stopOf } from '../core/stop-turn.ts';
import type { Ending } from '../core/closing.ts';
import type { LeftBy } from '../core/run-event.ts';
import type { RunErrorType } from '../core/outcome.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunSignals } from './background-runs.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';

export interface Execution extends RunSignals {
  readonly run: RunRecord;
  /** The run was begun before: by an owner that is gone, or it was parked. */
  readonly continues: boolean;
  /** What became of an owner before; absent: a crash. */
  readonly leftBy?: LeftBy;
  /** Its place among those at work, given back here; null: it needs none. */
  readonly slot: RunSlot | null;
  /** True: the harness is left there, between two effects, and the run without an owner. Absent: it works to the end. */
  leaveBefore?(state: RunState): boolean;
}

export async function executeRun(services: Services, execution: Execution): Promise<void> {
  const { run, signal, pause, compactions, continues, leftBy = 'crash' } = execution;
  using slot = execution.slot;
  const folded = await foldLog(services, run);
  const { state, damage } = folded;
  if (state.result !== null && finalStatus(state.result.status) !== null) return;
  const leg = continues ? state.leg + 1 : state.leg;
  const recorder = createRunRecorder(services, run, { ...folded, leg });
  const start = continues ? nextLeg(state) : null;
  const begun = start === null ? state : applyDrafts(state, [start], services.clock.now());
  using deadline = startDeadline(services.clock, { signal, dueAtMs: deadlineOf(begun) });
  let isLeft = false;
  const leaveBefore = (now: RunState) => (isLeft = execution.leaveBefore?.(now) ?? false);
  try {
    if (damage !== null) throw damage;
    const cause = start?.data.cause ?? 'submit';
    const taken = start === null ? [] : ((await recorder.write([start]))?.taken ?? []);
    const current = start === null ? state : taken.reduce(evolve, state);
    if (!(await mayBegin(slot, deadline)))
      return await endWaiting(services, { run, recorder, deadline, state: current, continues });
    const options = { cause, leftBy, pause, compactions, leaveBefore };
    const turn = runTurn(services, { run, recorder, deadline, state: current, ...options });
    const outcome = await Promise.race([turn, deadline.over]);
    if (outcome === 'over') return;
    if (outcome === 'stopped' && isLeft) return await leave(services, { run, recorder, state: current });
    await endUnfinished(services, { run, recorder, deadline, state: current });
  } catch (cause) {
    await endAfterFault(services, { run, recorder, deadline, state: begun, cause });
  } finally {
    recorder.close();
  }
}

async function mayBegin(slot: RunSlot | null, { signal }: TurnDeadline): Promise<boolean> {
  await slot?.free(signal).catch(() => undefined);
  return slot === null || !signal.aborted;
}

/** Nothing was begun that would have to be stopped, but for what was kept for a run that was parked. */
async function endWaiting(
  services: Services,
  { run, recorder, deadline: { signal }, state, continues }: EndingTurn & Pick<Execution, 'continues'>,
): Promise<void> {
  const how = stopOf(signal);
  if (how === 'shutdown') return leave(services, { run, recorder, state });
  const ending: Ending = how === 'cancel' ? { status: 'cancelled' } : unfinished(state, signal);
  await recorder.end(continues ? await endParked(services, { run, config: state.config, ending }) : ending);
}

/** How a run ends whose harness stopped without a word, or did not stop. */
function unfinished({ limits }: RunState, signal: AbortSignal): Ending {
  switch (stopOf(signal)) {
    case 'cancel':
      return { status: 'cancelled', unstopped: ['The agent did not confirm that it stopped.'] };
    case 'time': {
      const limit = limits.maxSeconds ?? 0;
      const budget = { budget: 'time', limit, used: limit, then: 'stop' } as const;
      return { status: 'completed', stopReason: 'max-time', budget };
    }
    case 'shutdown':
    case undefined:
      return failed('AdapterProtocolError', 'The agent stopped without giving a result.');
  }
}

type EndingTurn = Pick<RunningTurn, 'run' | 'recorder' | 'deadline' | 'state'>;

async function endUnfinished(services: Services, { run, recorder, deadline, state }: EndingTurn): Promise<void> {
  if (stopOf(deadline.signal) === 'shutdown') return leave(services, { run, recorder, state });
  await recorder.end(unfinished(state, deadline.signal));
}

/** To its next owner (X4); nobody will wait for one that is attached to a call of this process. */
async function leave(
  services: Services,
  { run, recorder, state }: Pick<EndingTurn, 'run' | 'recorder' | 'state'>,
): Promise<void> {
  if (state.config?.attached === undefined) {
    await parkFolder(services, run);
    return services.store.release(run.runId, services.owner);
  }
  await recorder.end({ status: 'cancelled' });
}

async function endAfterFault(
  services: Services,
  { cause, ...turn }: EndingTurn & { readonly cause: unknown },
): Promise<void> {
  const { logger } = services;
  const { run, recorder, deadline } = turn;
  const { runId } = run;
  if (cause instanceof LeaseLostError) return logger.warn('Another owner has this run.', { runId });
  // The run is left as it is (X6).
  if (isOutage(cause)) throw cause;
  // Many a harness throws because it was told to stop: that is no fault of the task (B097).
  if (stopOf(deadline.signal) !== undefined && !(cause instanceof StorageError)) {
    logger.warn('A harness failed while it was stopped.', { runId, cause: String(cause) });
    return endUnfinished(services, turn);
  }
  logger.error('A run failed in its host.', { runId }, cause);
  await recorder.end(endingOf(cause));
}

function endingOf(cause: unknown): Ending {
  if (cause instanceof StorageError)
    return failed('StorageError', 'The server could not read or write what this task needs.');
  if (cause instanceof ConfigurationError) return failed('AgentUnavailableError', cause.message);
  if (cause instanceof AdapterProtocolError) return failed('AdapterProtocolError', cause.message);
  return failed('HarnessError', 'The agent met an unexpected fault and was stopped.');
}

function failed(type: RunErrorType, message: string): Ending {
  return { status: 'failed', error: { type, message, retryable: false } };
}
