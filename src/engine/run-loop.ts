// The driver of the engine: asks the pure core what to do, does it, and yields the facts. It holds no state of its own but
// the fold of what it yielded (E-004).
//
// D1. A group that holds a committed event is durable before the loop goes on: the consumer asks for more only then (E-532).
// D2. A cancel or a spent time budget ends the run here, by the closing rule; a shutdown ends the loop without an ending,
//     and the next owner goes on from the log.
// D3. Whatever throws below becomes the run's failure: the loop yields exactly one `run-result` or was shut down (E-310).

import { acceptReply, endByTime, reactToFailure } from './react.ts';
import { answerCall, applyDrafts, closeRun, finishStep } from '../core/closing.ts';
import { buildPrompt } from './build-prompt.ts';
import { callModel } from './call-model.ts';
import { ConfigurationError } from '../core/errors.ts';
import { createToolbox, type Toolbox } from './prepare-call.ts';
import { decide, outputTokensLeft, type Command, type RefusalReason } from './decide.ts';
import { recover } from './recover.ts';
import { runTools } from './run-tools.ts';
import { sleep, type Clock } from '../core/clock.ts';
import { StopTurn, stopOf } from '../core/stop-turn.ts';
import type { EnginePolicies } from './policies.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Logger } from '../core/logger.ts';
import type { Message } from '../core/transcript.ts';
import type { ErrorInfo, ModelRef } from '../core/outcome.ts';
import type { OpenedModel } from './model.ts';
import type { Random } from '../core/random.ts';
import type { RunState } from '../core/run-state.ts';
import type { Tool } from './tool.ts';

export interface EngineParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policies: EnginePolicies;
  readonly tools: readonly Tool[];
  openModel(ref: ModelRef): Promise<OpenedModel>;
}

export interface RunLoopOptions {
  /** The fold of the run's log so far. */
  readonly state: RunState;
  /** The conversation before this run. */
  readonly history: readonly Message[];
  readonly workspace: string;
  readonly signal: AbortSignal;
  /** The log has events of an owner that is gone: write what recovery asks for first. */
  readonly recovering: boolean;
}

export async function* runLoop(parts: EngineParts, options: RunLoopOptions): AsyncGenerator<readonly EventDraft[]> {
  using turn = startTurn(parts.clock, options);
  let state = options.state;
  const take = (drafts: readonly EventDraft[]) => {
    state = applyDrafts(state, drafts, parts.clock.now());
    return drafts;
  };
  try {
    if (options.recovering) {
      const drafts = recover(state, parts.clock.now());
      if (drafts.length > 0) yield take(drafts);
    }
    const context = { ...(await prepareTurn(parts, options)), signal: turn.signal, current: () => state };
    while (state.result === null) {
      const stop = stopOf(turn.signal);
      if (stop === 'shutdown') return;
      if (stop !== undefined) return yield take(endOfStop(state, stop, parts.clock.now()));
      for await (const drafts of perform(decide(state), context)) yield take(drafts);
    }
  } catch (cause) {
    parts.logger.error('The engine failed.', { runId: state.runId }, cause);
    if (state.result === null) yield closeRun(state, { status: 'failed', error: faultOf(cause) }, parts.clock.now());
  }
}

function faultOf(cause: unknown): ErrorInfo {
  if (cause instanceof ConfigurationError)
    return {
      type: 'AgentUnavailableError',
      message: 'The model of this task cannot be used any more.',
      retryable: false,
    };
  return { type: 'HarnessError', message: 'The agent engine met an unexpected fault.', retryable: false };
}

function endOfStop(state: RunState, stop: 'cancel' | 'time', nowMs: number): readonly EventDraft[] {
  return stop === 'cancel' ? closeRun(state, { status: 'cancelled' }, nowMs) : endByTime(state, nowMs);
}

/** The turn's own signal: the caller's, or the run's time budget, whichever comes first. */
function startTurn(clock: Clock, { signal, state }: RunLoopOptions): Disposable & { readonly signal: AbortSignal } {
  const turn = new AbortController();
  const follow = () => turn.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow);
  const { maxSeconds } = state.limits;
  const leftMs = maxSeconds === null ? null : state.startedAtMs + maxSeconds * 1000 - clock.now();
  const cancel = leftMs === null ? () => {} : clock.timer(leftMs, () => turn.abort(new StopTurn('time')));
  return {
    signal: turn.signal,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', follow);
      cancel();
      // The loop is left: whatever still works for it has nobody to report to.
      turn.abort(new StopTurn('shutdown'));
    },
  };
}

interface TurnContext {
  readonly parts: EngineParts;
  readonly options: RunLoopOptions;
  readonly signal: AbortSignal;
  readonly toolbox: Toolbox;
  readonly opened: OpenedModel;
  /** The fold of everything yielded so far. */
  current(): RunState;
}

async function prepareTurn(
  parts: EngineParts,
  options: RunLoopOptions,
): Promise<Omit<TurnContext, 'signal' | 'current'>> {
  const disabled = new Set(options.state.config?.disabledTools);
  const toolbox = await createToolbox(parts.tools.filter(({ name }) => !disabled.has(name)));
  return { parts, options, toolbox, opened: await parts.openModel(options.state.requested) };
}

type Effects = AsyncGenerator<readonly EventDraft[]>;

/** The effects. Each yields live facts while it works and, at the end, the committed ones that the core makes of its outcome. */
async function* perform(command: Command, context: TurnContext): Effects {
  const state = context.current();
  const nowMs = context.parts.clock.now();
  switch (command.do) {
    case 'open-step':
      return yield openStep(command, state, context);
    case 'call-model':
      return yield* performModelCall(command, context);
    case 'refuse-calls':
      return yield refuseCalls(command, state);
    case 'dispatch-tools': {
      const { parts, options, signal, toolbox } = context;
      const { clock, policies } = parts;
      return yield* runTools(state, { toolbox, workspace: options.workspace, signal, clock, policy: policies.tools });
    }
    case 'collect-tools':
      if (state.open !== null) yield [finishStep(state, state.open, nowMs)];
      return;
    case 'finish':
      return yield closeRun(state, command.ending, nowMs);
    case 'none':
      return;
  }
}

/** Write-ahead: the step is in the log before its first request is sent. */
function openStep(
  { purpose, budget }: Extract<Command, { do: 'open-step' }>,
  state: RunState,
  context: TurnContext,
): readonly EventDraft[] {
  const before = { step: state.step, attempt: 0 };
  const step = state.step + 1;
  const drafts: EventDraft[] = budget === null ? [] : [{ type: 'budget-reached', data: budget, ...before }];
  if (purpose === 'final-answer') {
    const content = [{ type: 'text', text: 'You have no tool calls left. Answer now with what you know.' }] as const;
    const messageId = `${state.runId}:${step}:final-answer`;
    drafts.push({ type: 'user-message', data: { messageId, content, mode: 'engine', purpose }, ...before });
  }
  const data = { purpose, model: state.requested, replyBudget: replyBudget(state, context.opened) };
  return [...drafts, { type: 'step-started', data, step, attempt: 0 }];
}

function replyBudget(state: RunState, { maxOutputTokens }: OpenedModel): number | null {
  const left = outputTokensLeft(state);
  const own = maxOutputTokens === null ? null : Math.min(maxOutputTokens, 32_000);
  return left === null || own === null ? (left ?? own) : Math.min(left, own);
}

async function* performModelCall(
  { attempt, notBeforeMs }: Extract<Command, { do: 'call-model' }>,
  context: TurnContext,
): Effects {
  const state = context.current();
  const { parts, options, signal, toolbox, opened } = context;
  if (notBeforeMs !== null) yield* waitForRetry(notBeforeMs, state, context);
  if (signal.aborted) return;
  const budget = replyBudget(state, opened);
  const tools = state.open?.purpose === 'final-answer' ? [] : toolbox.tools;
  const outcome = yield* callModel({
    step: state.step,
    attempt,
    requested: state.requested,
    opened,
    signal,
    clock: parts.clock,
    policies: parts.policies,
    request: {
      prompt: buildPrompt(state, options.history),
      ...(budget === null ? {} : { maxOutputTokens: budget }),
      ...(tools.length === 0 ? {} : { tools: tools.map(offer) }),
      ...(opened.providerOptions === undefined ? {} : { providerOptions: opened.providerOptions }),
    },
  });
  if (outcome.type === 'stopped') return;
  const nowMs = parts.clock.now();
  // The state as it is after the attempt's own events: whether anything was shown decides what a reset says.
  const after = context.current();
  if (outcome.type === 'reply') return yield acceptReply(after, outcome.reply, nowMs);
  const { error, detail } = outcome.failure;
  parts.logger.warn('A model call failed.', { runId: after.runId, step: after.step, attempt, ...error, cause: detail });
  const env = { nowMs, fraction: parts.random.fraction(), retry: parts.policies.retry };
  yield reactToFailure(after, outcome.failure, env);
}

/** Waits until the stored moment, with notices where the wait is long enough for one (E-216, E-331). */
async function* waitForRetry(untilMs: number, state: RunState, { parts, signal }: TurnContext): Effects {
  const { clock } = parts;
  const { firstAfterSeconds, repeatEverySeconds } = parts.policies.progress;
  const fromMs = clock.now();
  let noticeMs = firstAfterSeconds === null ? Infinity : fromMs + firstAfterSeconds * 1000;
  while (!signal.aborted && clock.now() < untilMs) {
    await sleep(clock, Math.min(noticeMs, untilMs) - clock.now(), signal);
    if (signal.aborted || clock.now() >= untilMs || clock.now() < noticeMs) continue;
    const seconds = Math.round((clock.now() - fromMs) / 100) / 10;
    yield [{ type: 'waiting', data: { on: 'retry', seconds }, step: state.step, attempt: state.open?.attempt ?? 0 }];
    noticeMs += repeatEverySeconds * 1000;
  }
}

const refusals: Record<RefusalReason, string> = {
  'max-tokens': 'Not executed: the reply was cut at its token limit before it was complete.',
  refusal: 'Not executed: the model declined or a filter stopped the reply.',
  'tool-rounds': 'Not executed: the run has used all its tool rounds.',
  'final-answer': 'Not executed: no tool calls are left.',
};

/** Calls that must not run are answered, so that the session stays usable (E-425, E-565). */
function refuseCalls(
  { why, budget }: Extract<Command, { do: 'refuse-calls' }>,
  state: RunState,
): readonly EventDraft[] {
  const entries = state.open?.calls ?? [];
  const answers = entries.flatMap((entry) => answerCall(state, entry, { outcome: 'not-run', content: refusals[why] }));
  const position = { step: state.step, attempt: 0 };
  return budget === null ? answers : [{ type: 'budget-reached', data: budget, ...position }, ...answers];
}

function offer({ name, description, inputSchema }: Tool) {
  return { type: 'function' as const, name, description, inputSchema };
}
