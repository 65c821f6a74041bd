// The calls of one accepted reply: prepared, asked for, dispatched, run, answered.
//
// T1. All calls are prepared before any is dispatched; while one has to be asked for, none is (E-510, E-525).
// T2. `tool-dispatched` is durable before the handler is called; `tool-call-complete` before anything else happens (E-532).
// T3. A batch runs in parallel only if all of its calls may; else in call order (E-533).
// T4. After a stop nothing is dispatched. Handlers get their signal, and one that ignores it is abandoned after a while;
//     its late result is thrown away (E-536).
// T5. A manual call whose outcome is unknown is never repeated: a person is asked, or the model is told (E-540 to E-542).

import { answerCall, applyDrafts } from '../core/closing.ts';
import { answerFinished, type AnswerOptions } from './tool-answer-events.ts';
import { executeCall, timeoutMsOf, toolRetryMs, type Finished } from './execute-call.ts';
import { createToolNews, type ToolNews } from './tool-news.ts';
import {
  digestOf,
  judgeCall,
  onUnknown,
  pendingFor,
  prepareBatch,
  type BatchItem,
  type BatchOptions,
} from './prepare-batch.ts';
import { executionKeyOf, type EventDraft, type PendingTool } from '../core/run-event.ts';
import { sleep, type Clock } from '../core/clock.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { ProgressPolicy } from './policies.ts';
import type { RunState } from '../core/run-state.ts';

export interface ToolRun extends Omit<BatchOptions, 'nowMs'>, Omit<AnswerOptions, 'nowMs'> {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly progress: ProgressPolicy;
  /** The fold of everything that was yielded so far. */
  current(): RunState;
}

type Runnable = Extract<BatchItem, { kind: 'run' }> & { readonly toolAttempt: number; readonly waitMs: number };

export async function* runTools(run: ToolRun): AsyncGenerator<readonly EventDraft[]> {
  const state = run.current();
  const items = await prepareBatch(state, { ...run, nowMs: run.clock.now() });
  const asking = items.filter((item) => item.kind === 'ask');
  if (asking.length > 0) return yield asking.map(({ pending }) => requestOf(state, pending));
  const answers = answerKnown(state, items, run);
  if (answers.length > 0) yield answers;
  const waiting = items.flatMap((item): Runnable[] =>
    item.kind === 'run' ? [{ ...item, toolAttempt: attemptsOf(item) + 1, waitMs: 0 }] : [],
  );
  if (waiting.length > 0) yield* runCalls(waiting, run);
}

/** A person is asked, once for each approval id (E-600). */
export function requestOf({ open, step }: RunState, pending: PendingTool): EventDraft {
  const type = pending.kind === 'recovery' ? 'recovery-required' : 'approval-required';
  return { type, data: pending, step, attempt: open?.attempt ?? 0 };
}

function answerKnown(state: RunState, items: readonly BatchItem[], { clock }: ToolRun): readonly EventDraft[] {
  let current = state;
  return items.flatMap((item) => {
    if (item.kind !== 'answer') return [];
    const drafts = answerCall(current, item.entry, item.answer);
    current = applyDrafts(current, drafts, clock.now());
    return drafts;
  });
}

function attemptsOf({ entry: { progress } }: Extract<BatchItem, { kind: 'run' }>): number {
  return progress.at === 'dispatched' ? progress.toolAttempt : 0;
}

async function* runCalls(waiting: Runnable[], run: ToolRun): AsyncGenerator<readonly EventDraft[]> {
  const parallel = waiting.every(({ prepared: { tool } }) => tool.concurrent !== false);
  const width = parallel ? run.policy.maxConcurrent : 1;
  const running = new Map<string, Promise<void>>();
  const left = new AbortController();
  const signal = AbortSignal.any([run.signal, left.signal]);
  const news = createToolNews(run);
  try {
    while (waiting.length + running.size > 0) {
      const starting = run.signal.aborted ? [] : waiting.splice(0, width - running.size);
      if (starting.length === 0 && running.size === 0) return;
      const allowed = yield* dispatch(starting, run);
      for (const item of allowed) running.set(item.prepared.call.id, start(item, { ...run, signal }, news));
      if (running.size === 0) continue;
      await news.filled();
      const { shown, finished } = news.take();
      if (shown.length > 0) yield shown;
      for (const each of finished) {
        running.delete(each.prepared.call.id);
        const again = yield* settle(each, run);
        if (again !== null) waiting.push(again);
      }
    }
  } finally {
    news.close();
    // The loop was left while tools ran: nobody may go on working in a session that someone else gets next (T4).
    left.abort(new StopTurn('shutdown'));
    await Promise.all(running.values());
  }
}

/** Write-ahead of calls that are about to run. One that a rule has come to forbid meanwhile is answered instead (E-524). */
async function* dispatch(
  starting: readonly Runnable[],
  run: ToolRun,
): AsyncGenerator<readonly EventDraft[], readonly Runnable[]> {
  const state = run.current();
  const allowed: Runnable[] = [];
  const drafts: EventDraft[] = [];
  for (const item of starting) {
    if (item.waitMs > 0) await sleep(run.clock, item.waitMs, run.signal);
    const { level } = await judgeCall(state, item.prepared, run);
    if (level === 'deny') {
      const content = 'Not run. The permissions of this agent do not allow this call any more.';
      drafts.push(...answerCall(state, item.entry, { outcome: 'denied', content }));
    } else {
      allowed.push(item);
      drafts.push(...intents(state, item, run));
    }
  }
  if (drafts.length > 0) yield drafts;
  return allowed;
}

function intents(state: RunState, { entry, prepared, authority, toolAttempt }: Runnable, run: ToolRun): EventDraft[] {
  const { call, tool, input } = prepared;
  const position = { step: state.step, attempt: state.open?.attempt ?? 0 };
  const executionKey = executionKeyOf(state.runId, position.step, call.id);
  const childRunId = tool.childRunId?.(executionKey);
  const dispatched: EventDraft = {
    type: 'tool-dispatched',
    data: {
      id: call.id,
      executionKey,
      toolAttempt,
      argsDigest: digestOf(prepared),
      replay: tool.replay ?? 'manual',
      timeoutMs: timeoutMsOf(prepared, run.policy),
      authority,
      ...(childRunId === undefined ? {} : { childRunId }),
    },
    ...position,
  };
  if (entry.progress.at !== 'written' || toolAttempt > 1) return [dispatched];
  const data = { id: call.id, name: tool.name, input, executionKey, willRun: true };
  return [{ type: 'tool-call-start', data, ...position }, dispatched];
}

/** Resolves when the handler has ended and its end is among the news. */
async function start(item: Runnable, run: ToolRun, news: ToolNews): Promise<void> {
  const { prepared, toolAttempt } = item;
  const { id } = prepared.call;
  const name = prepared.tool.name;
  const { workspace, signal, clock, policy } = run;
  const stopNotices = news.watch(name);
  const show = (text: string) => news.show({ id, name, text });
  const finished = await executeCall(run.current(), { prepared, toolAttempt, workspace, signal, clock, policy, show });
  stopNotices();
  news.finish(finished);
}

/** What follows a handler's end: its answer, another try, or a question to a person. */
async function* settle(finished: Finished, run: ToolRun): AsyncGenerator<readonly EventDraft[], Runnable | null> {
  const state = run.current();
  const { prepared, output } = finished;
  const entry = state.open?.calls.find(({ call }) => call.id === prepared.call.id);
  if (entry === undefined) return null;
  if (output.waitsFor !== undefined && output.waitsFor.length > 0) {
    yield output.waitsFor.map((pending) => requestOf(state, pending));
    return null;
  }
  const waitMs = run.signal.aborted ? null : toolRetryMs(finished, run.policy);
  if (waitMs !== null)
    return { kind: 'run', entry, prepared, authority: 'policy', toolAttempt: finished.toolAttempt + 1, waitMs };
  const manual = (prepared.tool.replay ?? 'manual') === 'manual';
  if (finished.outcome === 'timeout' && manual && onUnknown(state, prepared.tool, run.people) === 'park') {
    const nowMs = run.clock.now();
    yield [requestOf(state, pendingFor(state, { entry, prepared, kind: 'recovery' }, { nowMs }))];
    return null;
  }
  yield* answerFinished(state, finished, { ...run, nowMs: run.clock.now() });
  return null;
}
