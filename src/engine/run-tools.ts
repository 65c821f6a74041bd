// The calls of one accepted reply: announced, dispatched, run, answered.
//
// T1. All calls are prepared before any is dispatched (E-510).
// T2. `tool-dispatched` is durable before the handler is called; `tool-call-complete` before anything else happens (E-532).
// T3. A batch runs in parallel only if all of its calls may; else in call order (E-533).
// T4. After a stop nothing is dispatched. Handlers get their signal, and one that ignores it is abandoned after a while;
//     its late result is thrown away (E-536).

import { answerCall, applyDrafts } from '../core/closing.ts';
import { canonicalJson, toJsonValue, type JsonObject } from '../core/json.ts';
import { toolAnswer } from '../core/tool-answer.ts';
import { head, toWellFormed } from '../core/text.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { executionKeyOf, type EventDraft, type ToolOutcome } from '../core/run-event.ts';
import { sleep, type Clock } from '../core/clock.ts';
import { createHash } from 'node:crypto';
import type { CallState, RunState } from '../core/run-state.ts';
import type { PreparedCall, Toolbox } from './prepare-call.ts';
import type { ToolOutput } from './tool.ts';
import type { ToolPolicy } from './policies.ts';

export interface ToolRun {
  readonly toolbox: Toolbox;
  readonly workspace: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policy: ToolPolicy;
}

type RunnableCall = Extract<PreparedCall, { verdict: 'run' }>;

interface Finished {
  readonly prepared: RunnableCall;
  readonly toolAttempt: number;
  readonly outcome: ToolOutcome;
  readonly output: ToolOutput;
  readonly durationMs: number;
}

export async function* runTools(state: RunState, run: ToolRun): AsyncGenerator<readonly EventDraft[]> {
  const entries = (state.open?.calls ?? []).filter(({ progress }) => progress.at !== 'answered');
  const prepared = entries.map((entry) => ({ entry, prepared: run.toolbox.prepare(entry.call) }));
  const runnable: { entry: CallState; prepared: RunnableCall }[] = [];
  let current = state;
  for (const item of prepared) {
    if (item.prepared.verdict === 'run') {
      runnable.push({ entry: item.entry, prepared: item.prepared });
      continue;
    }
    const answers = answerCall(current, item.entry, item.prepared);
    current = applyDrafts(current, answers, run.clock.now());
    yield answers;
  }
  const parallel = runnable.every(({ prepared: { tool } }) => tool.concurrent !== false);
  const width = parallel ? run.policy.maxConcurrent : 1;
  const running = new Map<string, Promise<Finished>>();
  const left = new AbortController();
  const stoppable = { ...run, signal: AbortSignal.any([run.signal, left.signal]) };
  try {
    while (runnable.length + running.size > 0) {
      const starting = run.signal.aborted ? [] : runnable.splice(0, width - running.size);
      if (starting.length === 0 && running.size === 0) return;
      if (starting.length > 0)
        yield starting.flatMap(({ entry, prepared: call }) => intents(state, entry, { call, run }));
      for (const { entry, prepared: call } of starting)
        running.set(call.call.id, executeCall(state, { prepared: call, toolAttempt: nextAttempt(entry) }, stoppable));
      const finished = await Promise.race(running.values());
      running.delete(finished.prepared.call.id);
      yield completion(state, finished);
    }
  } finally {
    // The loop was left while tools ran: nobody may go on working in a session that someone else gets next (T4).
    left.abort(new StopTurn('shutdown'));
    await Promise.all(running.values());
  }
}

function nextAttempt({ progress }: CallState): number {
  return progress.at === 'dispatched' ? progress.toolAttempt + 1 : 1;
}

function intents(
  state: RunState,
  entry: CallState,
  { call: prepared, run }: { readonly call: RunnableCall; readonly run: ToolRun },
): readonly EventDraft[] {
  const { call, tool, input } = prepared;
  const position = positionOf(state);
  const executionKey = executionKeyOf(state.runId, position.step, call.id);
  const dispatched: EventDraft = {
    type: 'tool-dispatched',
    data: {
      id: call.id,
      executionKey,
      toolAttempt: nextAttempt(entry),
      argsDigest: digest({ name: tool.name, input }),
      replay: tool.replay ?? 'manual',
      timeoutMs: timeoutMs(prepared, run.policy),
      authority: 'policy',
    },
    ...position,
  };
  if (entry.progress.at !== 'written') return [dispatched];
  const start = { id: call.id, name: tool.name, input, executionKey, willRun: true };
  return [{ type: 'tool-call-start', data: start, ...position }, dispatched];
}

/** Runs the handler under its timeout and the turn's signal. Never rejects. */
async function executeCall(
  state: RunState,
  { prepared, toolAttempt }: { readonly prepared: RunnableCall; readonly toolAttempt: number },
  run: ToolRun,
): Promise<Finished> {
  const { tool, call, input } = prepared;
  const startedAtMs = run.clock.now();
  const handler = new AbortController();
  const stop = () => handler.abort(run.signal.reason);
  run.signal.addEventListener('abort', stop);
  if (run.signal.aborted) stop();
  let timedOut = false;
  const cancelTimer = run.clock.timer(timeoutMs(prepared, run.policy), () => {
    timedOut = true;
    handler.abort(new Error('The tool took too long.'));
  });
  const executionKey = executionKeyOf(state.runId, state.step, call.id);
  const settledEarly = new AbortController();
  const context = { executionKey, toolAttempt, signal: handler.signal, workspace: run.workspace };
  try {
    // A handler may throw before it returns its promise; both are its failure.
    const returned = Promise.resolve().then(() => tool.run(input, context));
    const output = await Promise.race([settled(returned), abandoned(handler.signal, settledEarly.signal, run)]);
    const outcome = timedOut ? 'timeout' : run.signal.aborted ? 'cancelled' : output.isError ? 'error' : 'ok';
    const explained = timedOut
      ? withNote(output, 'The tool was stopped at its time limit; it may have partly run.')
      : output;
    return { prepared, toolAttempt, outcome, output: explained, durationMs: run.clock.now() - startedAtMs };
  } finally {
    settledEarly.abort();
    cancelTimer();
    run.signal.removeEventListener('abort', stop);
  }
}

async function settled(running: Promise<ToolOutput>): Promise<ToolOutput> {
  try {
    const output = await running;
    if (typeof output?.content !== 'string') return { content: JSON.stringify(toJsonValue(output)), isError: false };
    return output;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { content: `The tool failed: ${head(toWellFormed(reason), 2000)}`, isError: true };
  }
}

/** The handler was told to stop and did not within its time. Resolves unheard, at once, when it has settled. */
async function abandoned(
  told: AbortSignal,
  settledEarly: AbortSignal,
  { clock, policy }: ToolRun,
): Promise<ToolOutput> {
  await aborted(told, settledEarly);
  await sleep(clock, policy.abandonAfterSeconds * 1000, settledEarly);
  return { content: 'The tool did not stop when asked and was abandoned; it may still be running.', isError: true };
}

/** Resolves when either signal aborts; leaves no listener behind. */
function aborted(one: AbortSignal, other: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const either = () => {
      one.removeEventListener('abort', either);
      other.removeEventListener('abort', either);
      resolve();
    };
    if (one.aborted || other.aborted) return either();
    one.addEventListener('abort', either);
    other.addEventListener('abort', either);
  });
}

function withNote(output: ToolOutput, note: string): ToolOutput {
  return { ...output, content: output.content === '' ? note : `${output.content}\n${note}`, isError: true };
}

function completion(state: RunState, finished: Finished): readonly EventDraft[] {
  const { prepared, outcome, output, toolAttempt, durationMs } = finished;
  const { call, tool, input } = prepared;
  const position = positionOf(state);
  const executionKey = executionKeyOf(state.runId, position.step, call.id);
  const _raw = toWellFormed(output.content);
  const files = (output.files ?? []).map((data): EventDraft => ({
    type: 'file-changed',
    data: { ...data, executionKey },
    ...position,
  }));
  return [
    ...files,
    {
      type: 'tool-call-complete',
      data: { id: call.id, name: tool.name, input, executionKey, outcome, toolAttempt, durationMs, _raw },
      ...position,
    },
    {
      type: 'tool-result',
      data: {
        toolCallId: call.id,
        name: tool.name,
        content: toolAnswer(_raw, state.limits.maxResultChars),
        isError: outcome !== 'ok',
      },
      ...position,
    },
  ];
}

function timeoutMs({ tool }: RunnableCall, policy: ToolPolicy): number {
  return (tool.timeoutSeconds ?? policy.defaultTimeoutSeconds) * 1000;
}

function positionOf(state: RunState): { step: number; attempt: number } {
  return { step: state.step, attempt: state.open?.attempt ?? 0 };
}

function digest(value: JsonObject): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
