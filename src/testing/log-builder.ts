// Writes valid run logs from short scripts: what a harness and its host would have stored. For tests of everything that
// reads a log, without a model and without a clock.

import { costOf } from '../core/cost.ts';
import { executionKeyOf, type BudgetReached, type EventDraft, type ResetReason } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import type { ReplyPart, RunEvent, RunEventOf, TaskFacts, ToolCall, ToolOutcome } from '../core/run-event.ts';
import { harnessIds, runIds, sessionIds } from '../core/ids.ts';
import { evolve, initialRunState, type CallState, type RunState } from '../core/run-state.ts';
import type { ErrorInfo, RunResultData, StopReason } from '../core/outcome.ts';
import type { Usage } from '../core/usage.ts';

export type BlockScript =
  | { readonly kind: 'text' | 'thinking'; readonly pieces: readonly string[] }
  | {
      readonly kind: 'call';
      readonly id: string;
      /** The arguments, JSON in pieces. */
      readonly pieces: readonly string[];
      readonly outcome: ToolOutcome;
      readonly content: string;
      /** What it shows while it runs, in pieces. */
      readonly output?: readonly string[];
    };

export interface AttemptScript {
  readonly blocks: readonly BlockScript[];
  /** How many live events of it are stored before it is given up. */
  readonly shown: number;
  readonly reason: ResetReason;
}

/** One model reply and its calls. `interleave`: deltas of the blocks take turns. */
export interface StepScript {
  readonly abandoned?: readonly AttemptScript[];
  readonly blocks: readonly BlockScript[];
  readonly interleave?: boolean;
  readonly usage?: Usage | null;
  readonly finishReason?: StopReason;
  readonly degraded?: readonly string[];
}

export interface Ending {
  readonly status: 'completed' | 'cancelled' | 'failed';
  readonly stopReason: StopReason | null;
  readonly error?: ErrorInfo;
  readonly budget?: BudgetReached['budget'];
  readonly unstopped?: readonly string[];
}

export const testRunId = runIds.make('0123456789abcdef0123456789abcdef');
export const testSessionId = sessionIds.make('0123456789abcdef');
export const testTask: TaskFacts = {
  harnessId: harnessIds.make('demo'),
  createdAt: 1_786_400_000,
  metadata: { mine: true },
  ignoredFields: [],
  store: true,
  background: false,
  previousResponseId: null,
  reinsEvents: false,
  view: 1,
  inputItems: [],
};

const model = { provider: 'demo', model: 'demo' };
const limits = noBudgets;
/** Outcomes of calls that never ran. */
const notRun: ReadonlySet<ToolOutcome> = new Set<ToolOutcome>(['invalid', 'denied', 'answered', 'not-run']);

export interface LogBuilder {
  readonly events: readonly RunEvent[];
  readonly state: RunState;
  /** Appends any event; a test that breaks a law on purpose starts here. */
  add(draft: EventDraft): void;
  start(task?: TaskFacts): void;
  step(script: StepScript): void;
  /** Closes what is open the way a host does, and writes the result (E-131). */
  end(ending: Ending): void;
  /** A log that was cut off after `count` events, at the latest commit before. */
  cut(count: number): LogBuilder;
}

export function createLogBuilder(from: readonly RunEvent[] = []): LogBuilder {
  const events = [...from];
  let state = events.reduce(evolve, initialRunState(testRunId, testSessionId));
  const add = (draft: EventDraft) => {
    const seq = events.length + 1;
    const at = testTask.createdAt * 1000 + seq * 10;
    const place = { v: 1, seq, runId: testRunId, sessionId: testSessionId, at, leg: Math.max(1, state.leg) } as const;
    const event: RunEvent = { ...place, ...draft };
    events.push(event);
    state = evolve(state, event);
  };
  return {
    events,
    get state() {
      return state;
    },
    add,
    start(task = testTask) {
      const input = [{ content: [{ type: 'text' as const, text: 'Do it.' }] }];
      add({ type: 'run-started', step: 0, attempt: 0, data: { leg: 1, cause: 'submit', input, task, model, limits } });
    },
    step: (script) => writeStep(script, state, add),
    end: (ending) => writeEnd(ending, { events, add, state: () => state }),
    cut: (count) => createLogBuilder(events.slice(0, lastCommit(events, count))),
  };
}

type Add = (draft: EventDraft) => void;

interface Log {
  readonly events: readonly RunEvent[];
  readonly add: Add;
  readonly state: () => RunState;
}

function writeStep(script: StepScript, state: RunState, add: Add): void {
  const step = state.step + 1;
  const cutBefore = state.last !== null && state.last.finishReason === 'max-tokens';
  const purpose = cutBefore ? 'continuation' : 'reply';
  const degraded = script.degraded === undefined ? {} : { degraded: script.degraded };
  add({ type: 'step-started', step, attempt: 0, data: { purpose, model, replyBudget: null, ...degraded } });
  let attempt = 1;
  for (const given of script.abandoned ?? []) {
    const live = liveEvents(given.blocks, { step, attempt, interleave: false }).slice(0, given.shown);
    for (const draft of live) add(draft);
    const data = {
      step,
      attempt,
      nextAttempt: attempt + 1,
      reason: given.reason,
      shown: live.length > 0,
      retryInMs: 500,
    };
    add({ type: 'attempt-reset', step, attempt, data });
    attempt++;
  }
  for (const draft of liveEvents(script.blocks, { step, attempt, interleave: script.interleave ?? false })) add(draft);
  writeReply(script, { step, attempt, add });
}

interface Place {
  readonly step: number;
  readonly attempt: number;
}

function liveEvents(blocks: readonly BlockScript[], o: Place & { readonly interleave: boolean }): EventDraft[] {
  const queues = blocks.map((script, block) => deltasOf(script, { step: o.step, attempt: o.attempt, block }));
  if (!o.interleave) return queues.flat();
  const rounds = Math.max(0, ...queues.map((queue) => queue.length));
  return Array.from({ length: rounds }, (_, round) => queues.flatMap((queue) => queue[round] ?? [])).flat();
}

function deltasOf(script: BlockScript, place: Place & { readonly block: number }): EventDraft[] {
  if (script.kind !== 'call') {
    const type = script.kind === 'text' ? 'text-delta' : 'thinking-delta';
    return script.pieces.map((data): EventDraft => ({ ...place, type, data }));
  }
  const pieces = ['', ...script.pieces];
  return pieces.map((partialJson): EventDraft => {
    const data = { id: script.id, name: 'tool', partialJson };
    return { ...place, type: 'tool-call-delta', data };
  });
}

function writeReply(script: StepScript, { step, attempt, add }: Place & { readonly add: Add }): void {
  const whole = { text: '', thinking: '' };
  const parts = script.blocks.map((block, index): ReplyPart => {
    if (block.kind === 'call') return { block: index, kind: 'tool-call', id: block.id };
    const start = whole[block.kind].length;
    whole[block.kind] += block.pieces.join('');
    return { block: index, kind: block.kind, start, end: whole[block.kind].length };
  });
  const scripts = script.blocks.filter((block) => block.kind === 'call');
  const calls = scripts.map(({ id, pieces }): ToolCall => ({ id, name: 'tool', arguments: pieces.join('') }));
  const usage = script.usage ?? null;
  const finishReason = script.finishReason ?? (calls.length > 0 ? 'tool-use' : 'end-turn');
  const at = { step, attempt };
  if (whole.thinking !== '') add({ ...at, type: 'thinking-complete', data: whole.thinking });
  if (whole.text !== '') add({ ...at, type: 'text-complete', data: whole.text });
  const reply = { finishReason, rawFinishReason: null, served: model, usage, usageIncomplete: usage === null };
  add({ ...at, type: 'turn-complete', data: { ...reply, parts, calls } });
  for (const call of scripts) openCall(call, { step, attempt, add });
  for (const call of scripts) showOutput(call, { step, attempt, add });
  for (const call of scripts.toReversed()) closeCall(call, { step, attempt, add });
  const counts = { calls: calls.length, attempts: attempt, durationMs: 1 };
  const data = { finishReason, usage, usageIncomplete: usage === null, served: model, requested: model, ...counts };
  add({ step, attempt: 0, type: 'step-finished', data });
}

type CallScript = Extract<BlockScript, { kind: 'call' }>;

function openCall(call: CallScript, { step, attempt, add }: Place & { readonly add: Add }): void {
  const willRun = !notRun.has(call.outcome);
  const executionKey = executionKeyOf(testRunId, step, call.id);
  const { id } = call;
  add({ step, attempt, type: 'tool-call-start', data: { id, name: 'tool', input: null, executionKey, willRun } });
  if (!willRun) return;
  const data = { id, executionKey, toolAttempt: 1, argsDigest: 'd', replay: 'manual', timeoutMs: null } as const;
  add({ step, attempt, type: 'tool-dispatched', data: { ...data, authority: 'policy' } });
}

function showOutput({ id, outcome, output }: CallScript, { step, attempt, add }: Place & { readonly add: Add }): void {
  if (notRun.has(outcome)) return;
  for (const text of output ?? []) add({ step, attempt, type: 'tool-output-delta', data: { id, name: 'tool', text } });
}

function closeCall(call: CallScript, { step, attempt, add }: Place & { readonly add: Add }): void {
  const { id, outcome, content } = call;
  const executionKey = executionKeyOf(testRunId, step, id);
  const facts = { id, name: 'tool', input: null, executionKey, outcome, toolAttempt: 1, durationMs: 1, _raw: content };
  add({ step, attempt, type: 'tool-call-complete', data: facts });
  const isError = outcome !== 'ok' && outcome !== 'answered';
  add({ step, attempt, type: 'tool-result', data: { toolCallId: id, name: 'tool', content, isError } });
}

function writeEnd(ending: Ending, { events, add, state }: Log): void {
  if (ending.budget !== undefined) {
    const data = { budget: ending.budget, limit: 1, used: 1, then: 'stop' } as const;
    add({ step: state().step, attempt: 0, type: 'budget-reached', data });
  }
  const { open } = state();
  if (open !== null) {
    const place = { step: open.number, attempt: open.attempt, add };
    for (const entry of open.calls) closeCut(entry, place);
    const { usage, finishReason, served, requested } = open;
    const counts = { calls: open.calls.length, attempts: open.attempt, durationMs: 1 };
    const data = { finishReason, usage, usageIncomplete: usage === null, served, requested, ...counts };
    add({ step: open.number, attempt: 0, type: 'step-finished', data });
  }
  const at = { step: state().step, attempt: 0 };
  if (ending.error !== undefined) add({ ...at, type: 'error', data: ending.error });
  add({ ...at, type: 'run-result', data: resultOf(ending, state(), events) });
}

/** Answers a call of a step that is cut off. */
function closeCut({ call, progress }: CallState, place: Place & { readonly add: Add }): void {
  const { id } = call;
  const content = 'Stopped.';
  const script = (outcome: ToolOutcome): CallScript => ({ kind: 'call', id, pieces: [], outcome, content });
  switch (progress.at) {
    case 'written':
      openCall(script('not-run'), place);
      return closeCall(script('not-run'), place);
    case 'started':
      return closeCall(script(progress.willRun ? 'cancelled' : 'not-run'), place);
    case 'dispatched':
      return closeCall(script('unknown'), place);
    case 'returned': {
      const data = { toolCallId: id, name: 'tool', content, isError: false };
      return place.add({ step: place.step, attempt: place.attempt, type: 'tool-result', data });
    }
    case 'answered':
      return;
  }
}

function resultOf(ending: Ending, state: RunState, events: readonly RunEvent[]): RunResultData {
  const { last } = state;
  const cost = costOf(state.usage, state.limits);
  const output = last === null || last.calls > 0 || last.finishReason === null ? '' : answerOf(events);
  return {
    runId: testRunId,
    sessionId: testSessionId,
    requestId: state.requestId,
    status: ending.status,
    stopReason: ending.stopReason,
    output,
    partialOutput: state.abandonedText === '' ? null : state.abandonedText,
    usage: state.usage,
    usageIncomplete: state.usageIncomplete,
    cost: { ...cost, estimated: cost.estimated || state.usageIncomplete },
    error: ending.error ?? null,
    pending: [],
    todos: state.todos,
    steps: state.step,
    attempts: state.attempts,
    model: { requested: model, served: state.served, fallback: false, reason: null },
    undelivered: state.unread,
    unstopped: ending.unstopped ?? [],
    startedAtMs: state.startedAtMs,
    endedAtMs: (events.at(-1)?.at ?? 0) + 10,
  };
}

/** The text of the steps behind the last one that called tools, joined (E-061). */
function answerOf(events: readonly RunEvent[]): string {
  const turns = events.filter((event) => event.type === 'turn-complete');
  const from = turns.findLast((event) => event.data.calls.length > 0)?.seq ?? 0;
  const texts = events.filter((event): event is RunEventOf<'text-complete'> => event.type === 'text-complete');
  return texts.flatMap((event) => (event.seq > from ? [event.data] : [])).join('');
}

/** The largest prefix of at most `count` events that does not end inside a commit. */
function lastCommit(events: readonly RunEvent[], count: number): number {
  let end = Math.min(Math.max(count, 1), events.length);
  while (end > 1 && (events[end - 1]?.type === 'thinking-complete' || events[end - 1]?.type === 'text-complete')) end--;
  return end;
}
