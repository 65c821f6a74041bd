// One run, from its first event to its last: the host of a harness.
//
// X1. A run ends exactly once, whatever the harness does: throws, stops without a result, goes on after it, never ends.
// X2. Committed groups are durable before the harness is asked for more (harness A1); live ones are not waited for.
// X3. The stored response is the fold of the very events that the log holds, stored with the last of them (UD-21).
// X4. A cancel is bounded: a harness that does not end within its time is left behind, and the run says so (E-816).
// X5. A shutdown leaves the run unended for the next owner; a lost lease leaves it to the one who has it.

import { closeRun, type Ending } from '../core/closing.ts';
import { createUhpView, type UhpView } from '../views/uhp-view.ts';
import { evolve, initialRunState, type RunState } from '../core/run-state.ts';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import { LeaseLostError } from '../core/errors.ts';
import { readHistory } from './read-history.ts';
import { stopOf } from '../core/stop-turn.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { FinalStatus, RunErrorType, RunStatus } from '../core/outcome.ts';
import type { HarnessSession } from '../harnesses/harness.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunWriter } from '../stores/run-log.ts';
import type { Services } from './services.ts';

export interface Execution {
  readonly run: RunRecord;
  readonly signal: AbortSignal;
  /** The log was begun by an owner that is gone. */
  readonly recovering: boolean;
}

/** How long a cancelled harness may take to end by itself (E-816). */
const cancelPatienceMs = 9_000;

export async function executeRun(services: Services, execution: Execution): Promise<void> {
  const { run } = execution;
  const { state, view } = await foldLog(services, run);
  if (state.result !== null) return;
  const leg = execution.recovering ? state.leg + 1 : state.leg;
  const writer = services.log.writer({ ...run, leg });
  const host = { services, writer, view, execution, run };
  try {
    if (execution.recovering) await writeGroup(host, [recoveryLeg(state)]);
    const ended = await runTurn(host, { ...state, leg });
    if (ended || stopOf(execution.signal) === 'shutdown') return;
    await endByHost(host, unfinished(execution.signal));
  } catch (cause) {
    if (cause instanceof LeaseLostError)
      return services.logger.warn('Another owner has this run.', { runId: run.runId });
    services.logger.error('A run failed in its host.', { runId: run.runId }, cause);
    await endByHost(host, failed('HarnessError', 'The agent met an unexpected fault and was stopped.'));
  } finally {
    writer.close();
  }
}

interface Desk {
  readonly services: Services;
  readonly writer: RunWriter;
  readonly view: UhpView;
  readonly run: RunRecord;
}

interface Host extends Desk {
  readonly execution: Execution;
}

/** Ends a run that no harness works on, by the closing rule and nothing else. */
export async function endRun(services: Services, run: RunRecord, ending: Ending): Promise<void> {
  const { state, view } = await foldLog(services, run);
  if (state.result !== null) return;
  const writer = services.log.writer({ ...run, leg: state.leg + 1 });
  const host = { services, writer, view, run };
  try {
    await writeGroup(host, [recoveryLeg(state)]);
    await endByHost(host, ending);
  } finally {
    writer.close();
  }
}

/** State and response so far; for a new run that is its `run-started`. */
export async function foldLog(
  { log }: Services,
  { runId, sessionId }: RunRecord,
): Promise<{ state: RunState; view: UhpView }> {
  let state = initialRunState(runId, sessionId);
  const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: false });
  for await (const events of log.readAll(runId))
    for (const event of events) {
      state = evolve(state, event);
      view.push(event);
    }
  return { state, view };
}

/** Drives the harness to its `run-result`. False: it ended, or was left, without one. */
async function runTurn(host: Host, state: RunState): Promise<boolean> {
  const { services, execution, run } = host;
  const adapter = services.harnesses.adapter(state.config?.base ?? '');
  if (adapter === undefined) {
    await endByHost(host, failed('AgentUnavailableError', 'The harness of this task is not installed any more.'));
    return true;
  }
  await using session = await adapter.openSession({
    sessionId: run.sessionId,
    workspace: await services.workspaces.ensure(run.sessionId),
    history: await readHistory(services, run),
    clock: services.clock,
  });
  const events = openTurn(session, state, execution);
  if (events === null) {
    await endByHost(
      host,
      failed('AgentUnavailableError', 'The server stopped while this task ran, and its agent cannot go on.'),
    );
    return true;
  }
  return pumpTurn(host, events[Symbol.asyncIterator]());
}

function openTurn(session: HarnessSession, state: RunState, { signal, recovering }: Execution) {
  if (!recovering) return session.prompt(state, { signal });
  return session.attach === undefined ? null : session.attach(state, { signal });
}

async function pumpTurn(host: Host, groups: AsyncIterator<readonly EventDraft[]>): Promise<boolean> {
  const patience = startPatience(host);
  try {
    // One race a turn: one an event would cost as much as writing it.
    return await Promise.race([writeGroups(host, groups, patience), patience.over]);
  } finally {
    patience.stop();
    // A harness that hangs cannot be waited for; its late events are thrown away with its iterator (X4).
    groups
      .return?.()
      .then(undefined, (cause: unknown) =>
        host.services.logger.warn('A harness failed to stop.', { cause: String(cause) }),
      );
  }
}

/** Writes what the harness yields, to the run's end (true) or to where it stopped or was given up (false). */
async function writeGroups(
  host: Desk,
  groups: AsyncIterator<readonly EventDraft[]>,
  patience: Patience,
): Promise<boolean> {
  while (!patience.spent) {
    const next = await groups.next();
    if (patience.spent || next.done) return false;
    const stored = writeGroup(host, next.value);
    if (stored !== undefined && (await stored)) return true;
  }
  return false;
}

/** Writes one group. Undefined: there is nothing to wait for. True: it held the run's end, and the run has ended. */
function writeGroup(
  { writer, view }: Pick<Desk, 'writer' | 'view'>,
  drafts: readonly EventDraft[],
): Promise<boolean> | undefined {
  const end = drafts.findIndex(({ type }) => type === 'run-result');
  const kept = end === -1 ? drafts : drafts.slice(0, end + 1);
  for (const draft of kept) view.push(draft);
  const last = kept.at(-1);
  if (last?.type !== 'run-result') return writer.write(kept)?.then(() => false);
  const response = toJsonValue(view.response());
  const status = finalStatus(last.data.status);
  return writer
    .end(kept, { status, response: isJsonObject(response) ? response : null, atMs: last.data.endedAtMs })
    .then(() => true);
}

function finalStatus(status: RunStatus): FinalStatus {
  return status === 'cancelled' || status === 'completed' ? status : 'failed';
}

/** Ends the run from the fold of what is stored: the harness did not (X1). */
async function endByHost(host: Desk, ending: Ending): Promise<void> {
  const { services, run } = host;
  await host.writer.flush();
  const { state, view } = await foldLog(services, run);
  if (state.result !== null) return;
  await writeGroup({ ...host, view }, closeRun(state, ending, services.clock.now()));
}

function recoveryLeg(state: RunState): EventDraft {
  const data = { leg: state.leg + 1, cause: 'recovery', model: state.requested, limits: state.limits } as const;
  return { type: 'run-started', data, step: state.step, attempt: 0 };
}

/** How a run ends whose harness stopped without a word. */
function unfinished(signal: AbortSignal): Ending {
  if (stopOf(signal) !== 'cancel') return failed('AdapterProtocolError', 'The agent stopped without giving a result.');
  return { status: 'cancelled', unstopped: ['The agent did not confirm that it stopped.'] };
}

function failed(type: RunErrorType, message: string): Ending {
  return { status: 'failed', error: { type, message, retryable: false } };
}

/** Bounds the wait for a harness that was told to cancel. */
interface Patience {
  readonly spent: boolean;
  /** Resolves when it is spent, if ever; a turn that ends before leaves it to the garbage collector. */
  readonly over: Promise<false>;
  stop(): void;
}

function startPatience({ services, execution: { signal } }: Host): Patience {
  const over = Promise.withResolvers<false>();
  let spent = false;
  let cancelTimer = () => {};
  const onAbort = () => {
    cancelTimer = services.clock.timer(cancelPatienceMs, () => {
      spent = true;
      over.resolve(false);
    });
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return {
    get spent() {
      return spent;
    },
    over: over.promise,
    stop() {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
    },
  };
}
