// One handler under its timeout and the turn's signal. Never rejects: whatever it does is an outcome.
//
// C1. A handler hears of a stop in the next tick: one that ended in the tick of the stop was not stopped, and its outcome is
//     its own (E-541).

import { describeFailure } from './describe-failure.ts';
import { head, toWellFormed } from '../core/text.ts';
import { executionKeyOf, type ToolOutcome } from '../core/run-event.ts';
import type { Clock } from '../core/clock.ts';
import { toJsonValue } from '../core/json.ts';
import { TransientToolError } from '../core/errors.ts';
import type { RunnableCall } from './prepare-batch.ts';
import type { RunState } from '../core/run-state.ts';
import type { ToolOutput, ToolRetry } from './tool.ts';
import type { ToolPolicy } from './policies.ts';

export interface CallExecution {
  readonly prepared: RunnableCall;
  readonly toolAttempt: number;
  readonly workspace: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policy: ToolPolicy;
  show(text: string): void;
}

export interface Finished {
  readonly prepared: RunnableCall;
  readonly toolAttempt: number;
  readonly outcome: ToolOutcome;
  readonly output: ToolOutput;
  /** A failure that may pass, of a tool that may be run again (E-544). */
  readonly transient: boolean;
  readonly durationMs: number;
}

export async function executeCall(state: RunState, execution: CallExecution): Promise<Finished> {
  const { prepared, toolAttempt, clock, policy, signal, workspace } = execution;
  const { tool, call, input } = prepared;
  const startedAtMs = clock.now();
  const handler = new AbortController();
  let cancelStop = () => {};
  const stop = () => {
    cancelStop = clock.timer(0, () => handler.abort(signal.reason));
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) handler.abort(signal.reason);
  let timedOut = false;
  const limitMs = timeoutMsOf(prepared, policy);
  const onTimeout = () => {
    timedOut = true;
    handler.abort(new Error('The tool took too long.'));
  };
  const cancelTimer = limitMs === null ? () => {} : clock.timer(limitMs, onTimeout);
  using late = abandoned(handler.signal, execution);
  const executionKey = executionKeyOf(state.runId, state.step, call.id);
  const asked = state.pending.findLast((each) => each.executionKey === executionKey);
  const note = asked?.argsDigest === prepared.argsDigest ? asked.decided?.note : undefined;
  const context = {
    runId: state.runId,
    sessionId: state.sessionId,
    executionKey,
    toolAttempt,
    signal: handler.signal,
    workspace,
    ...(state.config?.directory === undefined ? {} : { directory: state.config.directory }),
    ...(note === undefined ? {} : { approvalNote: note }),
    show: (text: string) => execution.show(toWellFormed(text)),
  };
  try {
    // A handler may throw before it returns its promise; both are its failure.
    const returned = Promise.resolve().then(() => tool.run(input, context));
    const { output, transient } = await Promise.race([settled(returned), late.waited]);
    const outcome = timedOut ? 'timeout' : handler.signal.aborted ? 'cancelled' : output.isError ? 'error' : 'ok';
    const explained = timedOut
      ? withNote(output, 'The tool was stopped at its time limit; it may have partly run.')
      : output;
    return {
      prepared,
      toolAttempt,
      outcome,
      output: explained,
      transient: transient && outcome === 'error',
      durationMs: clock.now() - startedAtMs,
    };
  } finally {
    cancelTimer();
    cancelStop();
    signal.removeEventListener('abort', stop);
  }
}

/** null = no limit. */
export function timeoutMsOf({ tool }: RunnableCall, policy: ToolPolicy): number | null {
  const seconds = tool.timeoutSeconds === undefined ? policy.defaultTimeoutSeconds : tool.timeoutSeconds;
  return seconds === null ? null : seconds * 1000;
}

/** The wait before a call is run once more; null: its failure stands (E-544). */
export function toolRetryMs(
  { prepared, toolAttempt, outcome, output, transient }: Finished,
  policy: ToolPolicy,
): number | null {
  const { tool } = prepared;
  const retry: ToolRetry | null = tool.retry ?? policy.retry;
  if (retry === null || outcome !== 'error' || (tool.replay !== 'safe' && tool.replay !== 'idempotent')) return null;
  const may = transient || (retry.retryErrorResults && looksTransient(output.content));
  if (!may || toolAttempt >= retry.attempts) return null;
  return Math.min(retry.backoffSeconds * 2 ** (toolAttempt - 1), retry.maxBackoffSeconds) * 1000;
}

function looksTransient(content: string): boolean {
  return /rate limit|overloaded|unavailable|timed? ?out|too many requests|connection reset|try again/i.test(content);
}

interface Settled {
  readonly output: ToolOutput;
  readonly transient: boolean;
}

async function settled(running: Promise<ToolOutput>): Promise<Settled> {
  try {
    const output = await running;
    if (typeof output?.content === 'string') return { output, transient: false };
    return { output: { content: JSON.stringify(toJsonValue(output)), isError: false }, transient: false };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const content = `The tool failed: ${head(toWellFormed(reason), 2000)}`;
    return { output: { content, isError: true }, transient: isTransient(error) };
  }
}

/** Said by the tool's author, or a fault that passes by itself, such as a lost connection (E-544). */
function isTransient(error: unknown): boolean {
  if (error instanceof TransientToolError) return true;
  return describeFailure(error, { model: { provider: '', model: '' }, nowMs: 0 }).class === 'transient';
}

/** Settles where the handler was told to stop and did not within its time. Let go, it leaves nothing behind (E-847). */
function abandoned(
  told: AbortSignal,
  { clock, policy, prepared: { tool } }: CallExecution,
): Disposable & { readonly waited: Promise<Settled> } {
  const { promise: waited, resolve } = Promise.withResolvers<Settled>();
  const unstopped = 'A tool did not stop when asked and was abandoned; it may still be running.';
  const output = { content: unstopped, isError: true, unstopped: [unstopped] };
  const seconds = Math.max(policy.abandonAfterSeconds, tool.stopsWithinSeconds ?? 0);
  let cancelTimer = () => {};
  const onTold = () => {
    cancelTimer = clock.timer(seconds * 1000, () => resolve({ output, transient: false }));
  };
  told.addEventListener('abort', onTold);
  if (told.aborted) onTold();
  return {
    waited,
    [Symbol.dispose]() {
      told.removeEventListener('abort', onTold);
      cancelTimer();
    },
  };
}

function withNote(output: ToolOutput, note: string): ToolOutput {
  return { ...output, content: output.content === '' ? note : `${output.content}\n${note}`, isError: true };
}
