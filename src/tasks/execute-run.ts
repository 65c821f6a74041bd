// One run, from its first event to its last: the host of a harness.
//
// X1. A run ends exactly once, whatever the harness does: throws, hangs at any stage, stops without a result, goes on after it.
// X2. Committed groups are durable before the harness is asked for more (harness A1); live ones are not waited for.
// X3. A harness that was told to stop, by a person, its budget or a shutdown, has a bounded time to end; then the run ends
//     without it and says so (E-816).
// X4. A shutdown leaves the run unended, and without an owner, for the next start; a lost lease leaves it to who has it.

import { AdapterProtocolError, ConfigurationError, LeaseLostError, StorageError } from '../core/errors.ts';
import { createRunRecorder, type RunRecorder } from './run-recorder.ts';
import { foldLog } from './fold-log.ts';
import { readHistory } from './read-history.ts';
import { startDeadline, type TurnDeadline } from './turn-deadline.ts';
import { stopOf } from '../core/stop-turn.ts';
import type { Ending } from '../core/closing.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { HarnessSession } from '../harnesses/harness.ts';
import type { RunErrorType } from '../core/outcome.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunState } from '../core/run-state.ts';
import type { Services } from './services.ts';

export interface Execution {
  readonly run: RunRecord;
  readonly signal: AbortSignal;
  /** The log was begun by an owner that is gone. */
  readonly recovering: boolean;
}

export async function executeRun(services: Services, { run, signal, recovering }: Execution): Promise<void> {
  const folded = await foldLog(services, run);
  const { state, damage } = folded;
  if (state.result !== null) return;
  const leg = recovering ? state.leg + 1 : state.leg;
  const recorder = createRunRecorder(services, run, { ...folded, leg });
  const { maxSeconds } = state.limits;
  const dueAtMs = maxSeconds === null ? null : state.startedAtMs + maxSeconds * 1000;
  using deadline = startDeadline(services.clock, { signal, dueAtMs });
  try {
    if (damage !== null) throw damage;
    if (recovering) await recorder.write([recoveryLeg(state)]);
    const turn = runTurn(services, { run, recorder, deadline, state: { ...state, leg }, recovering });
    const outcome = await Promise.race([turn, deadline.over]);
    if (outcome === 'ended') return;
    if (stopOf(deadline.signal) === 'shutdown') return await services.store.release(run.runId, services.owner);
    await recorder.end(unfinished(state, deadline.signal));
  } catch (cause) {
    await endAfterFault(services, { run, recorder, cause });
  } finally {
    recorder.close();
  }
}

/** Ends a run that no harness works on, by the closing rule and nothing else. */
export async function endRun(services: Services, run: RunRecord, ending: Ending): Promise<void> {
  const folded = await foldLog(services, run);
  const { state } = folded;
  if (state.result !== null) return;
  const recorder = createRunRecorder(services, run, { ...folded, leg: state.leg + 1 });
  try {
    await recorder.write([recoveryLeg(state)]);
    await recorder.end(ending);
  } finally {
    recorder.close();
  }
}

interface Turn {
  readonly run: RunRecord;
  readonly recorder: RunRecorder;
  readonly deadline: TurnDeadline;
  readonly state: RunState;
  readonly recovering: boolean;
}

/** Drives the harness to its `run-result`; `stopped`: it ended without one. May hang as long as the harness does. */
async function runTurn(services: Services, turn: Turn): Promise<'ended' | 'stopped'> {
  const { run, recorder, deadline, state, recovering } = turn;
  const adapter = services.harnesses.adapter(state.config?.base ?? '');
  if (adapter === undefined) throw new ConfigurationError('The harness of this task is not installed any more.');
  const session = await adapter.openSession({
    sessionId: run.sessionId,
    workspace: await services.workspaces.ensure(run.sessionId),
    history: await readHistory(services, run),
    clock: services.clock,
  });
  try {
    const groups = openTurn(session, { state, recovering, signal: deadline.signal });
    return await recordGroups(services, { groups: groups[Symbol.asyncIterator](), recorder, deadline });
  } finally {
    // The run does not wait for its harness to clean up; a shutdown does, within the grace period.
    services.runs.cleanUp(run.runId, async () => session[Symbol.asyncDispose]());
  }
}

function openTurn(
  session: HarnessSession,
  { state, recovering, signal }: Pick<Turn, 'state' | 'recovering'> & { readonly signal: AbortSignal },
): AsyncIterable<readonly EventDraft[]> {
  if (!recovering) return session.prompt(state, { signal });
  if (session.attach === undefined)
    throw new ConfigurationError('The server stopped while this task ran, and its agent cannot go on.');
  return session.attach(state, { signal });
}

async function recordGroups(
  services: Services,
  o: { readonly groups: AsyncIterator<readonly EventDraft[]> } & Pick<Turn, 'recorder' | 'deadline'>,
): Promise<'ended' | 'stopped'> {
  const { groups, recorder, deadline } = o;
  try {
    while (!deadline.isOver) {
      const next = await groups.next();
      if (deadline.isOver || next.done) return 'stopped';
      if (next.value.some(({ type }) => type === 'run-started'))
        throw new AdapterProtocolError('The harness wrote what only its host may write.');
      const stored = recorder.write(next.value);
      if (stored !== undefined && (await stored)) return 'ended';
    }
    return 'stopped';
  } finally {
    // A harness that hangs cannot be waited for; its late events are thrown away with its iterator (X3).
    groups
      .return?.()
      .then(undefined, (cause: unknown) => services.logger.warn('A harness failed to stop.', { cause: String(cause) }));
  }
}

function recoveryLeg(state: RunState): EventDraft {
  const data = { leg: state.leg + 1, cause: 'recovery', model: state.requested, limits: state.limits } as const;
  return { type: 'run-started', data, step: state.step, attempt: 0 };
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

async function endAfterFault(
  { logger }: Services,
  { run, recorder, cause }: Pick<Turn, 'run' | 'recorder'> & { readonly cause: unknown },
): Promise<void> {
  const { runId } = run;
  if (cause instanceof LeaseLostError) return logger.warn('Another owner has this run.', { runId });
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
