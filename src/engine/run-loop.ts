// The driver of the engine: asks the pure core what to do, does it, and yields the facts. It holds no state of its own but
// the fold of what the log took in (E-004).
//
// D1. A group that holds a committed event is durable before the loop goes on: the consumer asks for more only then, and
//     answers with what the log has taken in since, facts from outside included, in the log's order (E-532, E-801).
//     A consumer that answers nothing took the group as it is.
// D2. An ending that the log did not take, because somebody spoke before it, is no ending: the loop goes on (E-661).
// D3. A cancel or a spent time budget ends the run here, by the closing rule, and not later than 8 s after it, whatever
//     hangs; a pause parks it between two effects; a shutdown ends the loop without an ending, and the next owner goes on
//     from the log.
// D4. Whatever throws below becomes the run's failure: the loop yields exactly one `run-result`, or was shut down or left.
// D5. Who wants a run back between two effects gets it without an ending, unless it is stopped (E-871).

import { applyDrafts, closeRun, notCalling, parkRun } from '../core/closing.ts';
import { ConfigurationError, isOutage, StorageError } from '../core/errors.ts';
import { decide } from './decide.ts';
import { endByTime } from './react.ts';
import { MiddlewareError } from './middleware-error.ts';
import { evolve, evolveLive, type RunState } from '../core/run-state.ts';
import { isLive, type EventDraft, type LeftBy, type RunEvent, type Todo } from '../core/run-event.ts';
import { perform } from './perform.ts';
import { prepareTurn, type SharedTurn } from './turn-context.ts';
import { recover } from './recover.ts';
import { NotQuiet, startTurn } from './running-turn.ts';
import { stopOf } from '../core/stop-turn.ts';
import type { EngineParts } from './engine-parts.ts';
import type { ErrorInfo } from '../core/outcome.ts';
import type { Message } from '../core/transcript.ts';
import type { People } from './prepare-batch.ts';
import type { Rule } from '../core/rule.ts';

export interface RunLoopOptions {
  /** The fold of the run's log so far. */
  readonly state: RunState;
  /** The conversation before this run, and the task list that it left. */
  readonly history: readonly Message[];
  readonly todos?: readonly Todo[] | null;
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** Aborts when the run shall be parked: what runs is let end first (E-819). */
  readonly pause?: AbortSignal;
  /** The log has events of an owner that is gone: write what recovery asks for first. */
  readonly recovering: boolean;
  /** What became of that owner; absent: a crash. */
  readonly leftBy?: LeftBy;
  /** Absent: nobody can approve anything. */
  readonly people?: People;
  /** Remembered decisions as they are now; absent: none. */
  rules?(): Promise<readonly Rule[]>;
  /** Requests of people to shorten the conversation before the next step (E-440); absent: none come. */
  readonly compactions?: { take(): { readonly instructions?: string } | null };
  /** Calls go in circles (E-560). */
  onRepetition?(note: string): void;
  /** Asked before each command; true: the loop ends there, and whoever comes next goes on from the log. Absent: never. */
  leaveBefore?(state: RunState): boolean;
  /** Whether there is a log that somebody goes on from: a store that is away is thrown then. Absent: it fails the run. */
  readonly leavesOutages?: boolean;
  /** Told of each state that the log has made of the run. */
  onState?(state: RunState): void;
}

/** Committed events that the log has taken in since it was told so last; undefined: the group, as it was. */
export type Taken = readonly RunEvent[] | undefined;

export async function* runLoop(
  parts: EngineParts,
  options: RunLoopOptions,
): AsyncGenerator<readonly EventDraft[], void, Taken> {
  using turn = startTurn(parts.clock, options);
  let state = options.state;
  const take = (drafts: readonly EventDraft[], taken: Taken) => {
    state = fold(state, drafts, { taken, nowMs: parts.clock.now() });
    options.onState?.(state);
  };
  const unstopped: string[] = [];
  // What is remembered of a conversation as it is read goes with this array: a run that parks keeps nothing of it.
  const history = [...options.history];
  // The attempt at which the model was last called here: of another one nothing has been used (E-062).
  let called = '';
  const shared = { current: () => state, unstopped, noteCall: () => void (called = attemptOf(state)) };
  const work = workOn(parts, { ...options, history, signal: turn.signal }, shared);
  let fault: ErrorInfo | null = null;
  try {
    let step = await turn.wait(work.next());
    for (; step.done !== true; step = await turn.wait(work.next())) take(step.value, yield step.value);
    if (step.value === 'left' && !turn.signal.aborted) return;
  } catch (cause) {
    if (options.leavesOutages === true && isOutage(cause)) throw cause;
    if (cause instanceof NotQuiet) unstopped.push(cause.message);
    else parts.logger.error('The engine failed.', { runId: state.runId }, cause);
    fault = faultOf(cause);
  } finally {
    // What does not come to rest is not waited for, nor heard of again.
    const left = work.return('ended');
    if (turn.isQuiet) await left;
    else left.catch(() => undefined);
  }
  while (state.result === null) {
    const stop = stopOf(turn.signal);
    if (stop === 'shutdown') return;
    const nowMs = parts.clock.now();
    const known = called === attemptOf(state) ? state : notCalling(state, nowMs);
    const drafts = closing(known, { stop, fault, unstopped }, nowMs);
    take(drafts, yield drafts);
  }
}

/** All effects of the turn, until the run is over, parked, or stopped (D3). */
async function* workOn(
  parts: EngineParts,
  options: RunLoopOptions,
  shared: SharedTurn,
): AsyncGenerator<readonly EventDraft[], 'left' | 'ended'> {
  const { recovering, leftBy = 'crash', signal, pause } = options;
  const { current } = shared;
  if (recovering) {
    const drafts = recover(current(), parts.clock.now(), leftBy);
    if (drafts.length > 0) yield drafts;
  }
  if (signal.aborted) return 'ended';
  const context = await prepareTurn(parts, options, shared);
  while (current().result === null && !signal.aborted) {
    if (pause?.aborted) {
      yield parkRun(current(), { status: 'paused' }, parts.clock.now());
      continue;
    }
    if (options.leaveBefore?.(current()) === true) return 'left';
    yield* perform(decide(current()), context);
  }
  return 'ended';
}

/** A stop beats whatever else came of the turn (E-814). */
function closing(
  state: RunState,
  o: { readonly stop: 'cancel' | 'time' | undefined; readonly fault: ErrorInfo | null; readonly unstopped: string[] },
  nowMs: number,
): readonly EventDraft[] {
  if (o.stop === 'cancel') return closeRun(state, { status: 'cancelled', unstopped: o.unstopped }, nowMs);
  if (o.stop === 'time') return endByTime(state, nowMs);
  return closeRun(state, { status: 'failed', error: o.fault ?? faultOf(null) }, nowMs);
}

/** The state after a group: its live events, then what the log took in (D1). */
function fold(
  state: RunState,
  drafts: readonly EventDraft[],
  { taken, nowMs }: { readonly taken: Taken; readonly nowMs: number },
): RunState {
  if (drafts.every(({ type }) => isLive(type))) return evolveLive(state, drafts);
  if (taken === undefined) return applyDrafts(state, drafts, nowMs);
  return taken.reduce(evolve, evolveLive(state, drafts));
}

function attemptOf({ step, open }: RunState): string {
  return `${step}:${open?.attempt}`;
}

function faultOf(cause: unknown): ErrorInfo {
  if (cause instanceof ConfigurationError)
    return { type: 'AgentUnavailableError', message: cause.message, retryable: false };
  if (cause instanceof StorageError) {
    const message = 'The store could not read or write what this run needs.';
    return { type: 'StorageError', message, retryable: false };
  }
  if (cause instanceof MiddlewareError) return { type: 'HarnessError', message: cause.message, retryable: false };
  return { type: 'HarnessError', message: 'The agent engine met an unexpected fault.', retryable: false };
}
