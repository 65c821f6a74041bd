// The calls of one accepted reply: prepared, asked for, dispatched, run, answered.
//
// T1. All calls are prepared before any is dispatched; while one has to be asked for, none is (E-510, E-525).
// T2. `tool-dispatched` is durable before the handler is called; `tool-call-complete` before anything else happens (E-532).
// T3. A batch runs in parallel only if all of its calls may; else in call order (E-533).
// T4. After a stop or a pause nothing is dispatched. Handlers get the signal of a stop, and one that ignores it is
//     abandoned after a while; its late result is thrown away (E-536).
// T5. A manual call whose outcome is unknown is never repeated: a person is asked, or the model is told (E-540 to E-542).
//     What a shutdown cuts short stays as it is in the log, for the next owner to judge.

import { answerCall, applyDrafts } from '../core/closing.ts';
import {
  answerFinished,
  answerStored,
  effectsOf,
  noteOnLoop,
  readableText,
  type AnswerOptions,
} from './tool-answer-events.ts';
import { callEvents } from '../core/call-events.ts';
import {
  confirmItem,
  onUnknown,
  pendingFor,
  prepareBatch,
  type BatchItem,
  type BatchOptions,
  type RunItem,
} from './prepare-batch.ts';
import { createToolNews, type ToolNews } from './tool-news.ts';
import { executeCall, timeoutMsOf, toolRetryMs, type Finished } from './execute-call.ts';
import { head } from '../core/text.ts';
import type { EventDraft, PendingTool } from '../core/run-event.ts';
import { sleep } from '../core/clock.ts';
import { StopTurn, stopOf } from '../core/stop-turn.ts';
import type { ProgressPolicy } from './policies.ts';
import type { Rule } from '../core/rule.ts';
import type { RunState } from '../core/run-state.ts';

export interface ToolRun extends Omit<BatchOptions, 'nowMs' | 'rules'>, Omit<AnswerOptions, 'nowMs'> {
  readonly pause?: AbortSignal;
  readonly progress: ProgressPolicy;
  /** Remembered decisions as they are now. */
  rules(): Promise<readonly Rule[]>;
  /** The fold of everything that was yielded so far. */
  readonly current: () => RunState;
}

type Drafts = readonly EventDraft[];

interface Runnable extends RunItem {
  readonly toolAttempt: number;
}

export async function* runTools(run: ToolRun): AsyncGenerator<Drafts> {
  yield* answerAllStored(run);
  const state = run.current();
  const items = await prepareBatch(state, await batchOptions(run));
  if (run.signal.aborted) return;
  const asking = items.filter((item) => item.kind === 'ask');
  if (asking.length > 0) return yield asking.map(({ pending }) => requestOf(state, pending));
  const answers = answerKnown(state, items, run);
  if (answers.length > 0) yield answers;
  const waiting = items.flatMap((item): Runnable[] =>
    item.kind === 'run' ? [{ ...item, toolAttempt: attemptsOf(item) + 1 }] : [],
  );
  if (waiting.length > 0) yield* runCalls(waiting, run);
}

async function batchOptions(run: ToolRun): Promise<BatchOptions> {
  return { ...run, rules: await run.rules(), nowMs: run.clock.now() };
}

/** Calls that had returned when an owner was lost: their tools are not run again (E-532). */
async function* answerAllStored(run: ToolRun): AsyncGenerator<Drafts> {
  for (const entry of run.current().open?.calls ?? []) {
    const { progress } = entry;
    if (progress.at === 'returned')
      yield [await answerStored(run.current(), { entry, progress }, { ...run, nowMs: run.clock.now() })];
  }
}

/** A person is asked, once for each approval id (E-600). */
export function requestOf({ open, step }: RunState, pending: PendingTool): EventDraft {
  const type = pending.kind === 'recovery' ? 'recovery-required' : 'approval-required';
  return { type, data: pending, step, attempt: open?.attempt ?? 0 };
}

function answerKnown(state: RunState, items: readonly BatchItem[], run: ToolRun): Drafts {
  let current = state;
  return items.flatMap((item) => {
    if (item.kind !== 'answer') return [];
    const drafts = answerCall(current, item.entry, item.answer);
    current = applyDrafts(current, drafts, run.clock.now());
    const note = noteOnLoop(current, run);
    return drafts.map((draft) =>
      draft.type === 'tool-result' ? { ...draft, data: { ...draft.data, content: draft.data.content + note } } : draft,
    );
  });
}

function attemptsOf({ entry: { progress } }: RunItem): number {
  return progress.at === 'dispatched' ? progress.toolAttempt : 0;
}

async function* runCalls(waiting: Runnable[], run: ToolRun): AsyncGenerator<Drafts> {
  const width = waiting.every(({ prepared: { tool } }) => tool.concurrent !== false) ? run.policy.maxConcurrent : 1;
  const running = new Map<string, { readonly item: Runnable; readonly ended: Promise<void> }>();
  const batch = new AbortController();
  const { signal } = batch;
  // Not `AbortSignal.any`: the run's signal would remember each batch for as long as it lives (E-847).
  const stop = () => batch.abort(run.signal.reason);
  run.signal.addEventListener('abort', stop);
  if (run.signal.aborted) stop();
  const news = createToolNews(run);
  const begin = (item: Runnable, ended: Promise<void>) => running.set(item.prepared.call.id, { item, ended });
  try {
    for (;;) {
      if (run.signal.aborted || run.pause?.aborted) waiting.length = 0;
      if (waiting.length + running.size === 0) return;
      const { allowed, asked } = yield* dispatch(waiting.splice(0, width - running.size), run);
      if (asked) waiting.length = 0;
      for (const item of allowed) begin(item, start(item, { ...run, signal }, news));
      if (running.size === 0) continue;
      await news.filled();
      const { shown, finished, due } = news.take();
      if (shown.length > 0) yield shown;
      for (const end of finished) {
        const item = takeFrom(running, end.prepared.call.id);
        const waitMs = yield* settle(item, end, run);
        if (waitMs !== null)
          begin({ ...item, toolAttempt: item.toolAttempt + 1 }, retryLater(end, waitMs, { run, signal, news }));
      }
      waiting.unshift(...due.map((id) => takeFrom(running, id)));
    }
  } finally {
    news.close();
    // The loop was left while tools ran: nobody may go on working in a session that someone else gets next (T4).
    if (running.size > 0) batch.abort(new StopTurn('shutdown'));
    await Promise.all(Array.from(running.values(), ({ ended }) => ended));
    run.signal.removeEventListener('abort', stop);
  }
}

function takeFrom(running: Map<string, { readonly item: Runnable }>, id: string): Runnable {
  const known = running.get(id);
  if (known === undefined) throw new RangeError('A call that is not running has ended.');
  running.delete(id);
  return known.item;
}

/** It keeps its place in the batch while it waits for another try (E-544). */
async function retryLater(
  { prepared }: Finished,
  waitMs: number,
  { run, signal, news }: { readonly run: ToolRun; readonly signal: AbortSignal; readonly news: ToolNews },
): Promise<void> {
  await sleep(run.clock, waitMs, run.pause === undefined ? signal : AbortSignal.any([signal, run.pause]));
  news.tryAgain(prepared.call.id);
}

/** Write-ahead of calls that are about to run; what may not run any more is answered or asked for instead (E-524). */
async function* dispatch(
  starting: readonly Runnable[],
  run: ToolRun,
): AsyncGenerator<Drafts, { readonly allowed: readonly Runnable[]; readonly asked: boolean }> {
  const none = { allowed: [], asked: false };
  if (starting.length === 0) return none;
  const state = run.current();
  const options = await batchOptions(run);
  const allowed: Runnable[] = [];
  const drafts: EventDraft[] = [];
  let asked = false;
  for (const item of starting) {
    const now = await confirmItem(state, item, options);
    if (now.kind === 'answer') drafts.push(...answerCall(state, item.entry, now.answer));
    else if (now.kind === 'ask') {
      asked = true;
      drafts.push(requestOf(state, now.pending));
    } else {
      allowed.push(item);
      drafts.push(...intents(state, { ...item, authority: now.authority }, run));
    }
  }
  if (run.signal.aborted) return none;
  if (drafts.length > 0) yield drafts;
  return run.signal.aborted ? none : { allowed, asked };
}

function intents(state: RunState, { entry, prepared, authority, toolAttempt }: Runnable, run: ToolRun): EventDraft[] {
  const { call, tool, input, argsDigest } = prepared;
  const events = callEvents(state, { id: call.id, name: tool.name, input });
  const childRunId = tool.childRunId?.(events.executionKey);
  const dispatched = events.dispatch({
    toolAttempt,
    argsDigest,
    replay: tool.replay ?? 'manual',
    timeoutMs: timeoutMsOf(prepared, run.policy),
    authority,
    ...(childRunId === undefined ? {} : { childRunId }),
  });
  return entry.progress.at !== 'written' || toolAttempt > 1 ? [dispatched] : [events.start(true), dispatched];
}

/** Resolves when the handler has ended and its end is among the news; what it shows after that is not heard. */
async function start(item: Runnable, run: ToolRun, news: ToolNews): Promise<void> {
  const { prepared, toolAttempt } = item;
  const { id } = prepared.call;
  const { name } = prepared.tool;
  const { workspace, signal, clock, policy } = run;
  const stopNotices = news.watch(name);
  let over = false;
  const show = (text: string) => (over ? undefined : news.show({ id, name, text }));
  const finished = await executeCall(run.current(), { prepared, toolAttempt, workspace, signal, clock, policy, show });
  over = true;
  stopNotices();
  news.finish(finished);
}

/** Of what a stopped call said, as much as a person reads who is asked about it. */
const mostReasonUnits = 2000;

/** What follows a handler's end: its answer, a question to a person, or another try after the returned wait. */
async function* settle(item: Runnable, finished: Finished, run: ToolRun): AsyncGenerator<Drafts, number | null> {
  const state = run.current();
  const { prepared, output, outcome } = finished;
  const entry = state.open?.calls.find(({ call }) => call.id === prepared.call.id) ?? item.entry;
  const stop = stopOf(run.signal);
  if (outcome === 'cancelled' && stop === 'shutdown') return null;
  if (output.waitsFor !== undefined) {
    if (output.waitsFor.length > 0) yield output.waitsFor.map((pending) => requestOf(state, pending));
    return null;
  }
  const waitMs = stop === undefined ? toolRetryMs(finished, run.policy) : null;
  if (waitMs !== null) return waitMs;
  const manual = (prepared.tool.replay ?? 'manual') === 'manual';
  if (outcome === 'timeout' && manual && onUnknown(state, prepared.tool, run.people) === 'park') {
    const pending = pendingFor(state, { entry, prepared, kind: 'recovery' }, { nowMs: run.clock.now() });
    const reason = head(readableText(output.content, outcome, run), mostReasonUnits);
    const spent = output.usage ? { usage: output.usage } : {};
    yield [...effectsOf(state, finished, run), requestOf(state, { ...pending, reason, ...spent })];
    return null;
  }
  const told = outcome === 'cancelled' && manual ? { ...finished, outcome: 'unknown' as const } : finished;
  yield* answerFinished(state, told, { ...run, nowMs: run.clock.now() });
  return null;
}
