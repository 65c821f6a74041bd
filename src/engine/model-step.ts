// A step from its beginning to its accepted reply: its first event, the calls to its models, their retries and the shortening
// of what they read.

import { acceptReply, reactToFailure, resetAttempt } from './react.ts';
import { applyDrafts } from '../core/closing.ts';
import { buildPrompt } from './build-prompt.ts';
import { callChain } from './call-chain.ts';
import { chainOf } from './engine-parts.ts';
import { addUsage, type Usage } from '../core/usage.ts';
import { compactContext, type SummaryReply } from './compaction.ts';
import { readContext } from './context-view.ts';
import { engineWords } from './engine-words.ts';
import { minOf, mostByDefault, replyBudget, tokensOf } from './reply-budget.ts';
import { sleep } from '../core/clock.ts';
import type { Command } from './decide.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { ModelFailure, ModelOutcome } from './model-outcome.ts';
import type { ModelRequest, OpenedModel } from './model.ts';
import type { RunState } from '../core/run-state.ts';
import type { Tool } from './tool.ts';
import type { TurnContext } from './turn-context.ts';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

type Effects = AsyncGenerator<readonly EventDraft[]>;

/** Write-ahead: the step is in the log before its first request is sent. A context that is too long is shortened before. */
export async function* openStep(
  { purpose, say, budget }: Extract<Command, { do: 'open-step' }>,
  context: TurnContext,
): Effects {
  const toolbox = await context.toolbox();
  const toolTokens = purpose === 'final-answer' ? 0 : tokensOf(toolbox.tools);
  const asked = context.options.compactions?.take() ?? null;
  yield* shorten(
    context,
    asked === null ? { trigger: 'auto', toolTokens } : { trigger: 'manual', toolTokens, ...asked },
  );
  if (context.signal.aborted) return;
  const state = context.current();
  const before = { step: state.step, attempt: 0 };
  const step = state.step + 1;
  const drafts: EventDraft[] = budget === null ? [] : [{ type: 'budget-reached', data: budget, ...before }];
  if (say !== null) {
    const content = [{ type: 'text', text: engineWords[say] }] as const;
    const data = { messageId: `${state.runId}:${step}:${say}`, content, mode: 'engine', purpose: say } as const;
    drafts.push({ type: 'user-message', data, ...before });
  }
  const data = {
    purpose,
    ...(purpose === 'continuation' ? { continues: state.step } : {}),
    model: state.requested,
    replyBudget: null,
    ...(toolbox.degraded.length === 0 ? {} : { degraded: toolbox.degraded }),
  };
  const started = { type: 'step-started', data, step, attempt: 0 } as const;
  // As the step will find it: the engine's own word is read, and a cut reply has raised the budget.
  const open = applyDrafts(state, [...drafts, started], context.parts.clock.now());
  const sizes = {
    replyBudget: replyBudget(open, context.opened, { toolTokens, context }),
    tokensEstimated: readContext(open, context.options.history).tokens + toolTokens,
  };
  yield [...drafts, { ...started, data: { ...data, ...sizes } }];
}

async function* shorten(
  context: TurnContext,
  o: {
    readonly trigger: 'auto' | 'overflow' | 'manual';
    readonly toolTokens: number;
    readonly instructions?: string;
  },
): AsyncGenerator<readonly EventDraft[], 'not-due' | 'shortened' | 'nothing-left'> {
  const { parts, options, opened, current } = context;
  const { policies } = parts;
  if (!policies.compaction.enabled && o.trigger !== 'manual') return o.trigger === 'auto' ? 'not-due' : 'nothing-left';
  const state = current();
  const window = opened.contextTokens ?? null;
  if (o.trigger === 'auto' && window === null && state.limits.maxContextTokens === null) return 'not-due';
  return yield* compactContext(current, {
    trigger: o.trigger,
    history: options.history,
    windowTokens: window,
    replyBudget: state.config?.maxTokens ?? minOf(opened.maxOutputTokens, mostByDefault),
    toolTokens: o.toolTokens,
    policy: policies.compaction,
    signal: context.signal,
    ...(o.instructions === undefined ? {} : { instructions: o.instructions }),
    summarise: (prompt, maxTokens) => summarise(context, prompt, maxTokens),
  });
}

/** Text of a summary call is nobody's to see (E-114): only its outcome counts. */
async function summarise(
  context: TurnContext,
  prompt: LanguageModelV4Prompt,
  maxTokens: number,
): Promise<SummaryReply> {
  const { retry } = context.parts.policies;
  let usage: Usage | null = null;
  let usageIncomplete = false;
  const spend = (more: Usage | null) => {
    usage = addUsage(usage, more);
    usageIncomplete ||= more === null;
  };
  for (let attempt = 1; attempt <= retry.attempts && !context.signal.aborted; attempt++) {
    const call = startChain(context, { attempt, request: async () => ({ prompt, maxOutputTokens: maxTokens }) });
    const outcome = await lastOf(call);
    if (outcome.type === 'stopped') break;
    spend(outcome.type === 'reply' ? outcome.reply.usage : outcome.failure.usage);
    if (outcome.type === 'reply') return { text: outcome.reply.text, usage, usageIncomplete };
    if (outcome.failure.class !== 'transient') break;
    await sleep(context.parts.clock, retry.backoffSeconds * 1000 * 2 ** (attempt - 1), context.signal);
  }
  return { text: '', usage, usageIncomplete };
}

async function lastOf(call: AsyncGenerator<readonly EventDraft[], ModelOutcome>): Promise<ModelOutcome> {
  for (;;) {
    const { done, value } = await call.next();
    if (done === true) return value;
  }
}

function startChain(
  { parts, signal, current }: TurnContext,
  o: { readonly attempt: number; readonly request: Parameters<typeof callChain>[0]['request'] },
): AsyncGenerator<readonly EventDraft[], ModelOutcome> {
  const state = current();
  return callChain({
    step: state.step,
    attempt: o.attempt,
    members: chainOf(parts, state.requested),
    pinned: pinnedModel(state),
    signal,
    clock: parts.clock,
    logger: parts.logger,
    policies: parts.policies,
    health: parts.health,
    middleware: parts.middleware,
    request: o.request,
  });
}

/** A continuation of what one provider began, with blocks that only it can read, stays with it (E-356). */
function pinnedModel({ open, last, served }: RunState): RunState['served'] {
  return open?.purpose === 'continuation' && last?.finishReason === 'pause-turn' ? served : null;
}

export async function* performModelCall(
  { attempt, notBeforeMs }: Extract<Command, { do: 'call-model' }>,
  context: TurnContext,
): Effects {
  const { parts, signal, options } = context;
  if (notBeforeMs !== null) yield* waitForRetry(notBeforeMs, context);
  if (signal.aborted || options.pause?.aborted) return;
  const { tools: offered, guidance } = await context.toolbox();
  const tools = context.current().open?.purpose === 'final-answer' ? [] : offered;
  const toolTokens = tokensOf(tools);
  const outcome = yield* startChain(context, {
    attempt,
    request: (opened, { member, replyLimit, dropBound }) => {
      const sizes = { toolTokens, context, own: member.maxTokens, learned: replyLimit };
      context.noteCall();
      return requestFor(context, {
        opened,
        tools,
        guidance,
        dropBound,
        budget: replyBudget(context.current(), opened, sizes),
      });
    },
  });
  if (outcome.type === 'stopped') return;
  const nowMs = parts.clock.now();
  // The state as it is after the attempt's own events: whether anything was shown decides what a reset says.
  const after = context.current();
  if (outcome.type === 'reply') return yield acceptReply(after, outcome.reply, nowMs);
  yield* fail(context, { failure: outcome.failure, attempt, toolTokens });
}

async function* fail(
  context: TurnContext,
  o: { readonly failure: ModelFailure; readonly attempt: number; readonly toolTokens: number },
): Effects {
  const { parts } = context;
  const { error, detail, usage } = o.failure;
  const { runId, step, recoveries } = context.current();
  parts.logger.warn('A model call failed.', { runId, step, attempt: o.attempt, ...error, cause: detail });
  if (o.failure.class === 'overflow' && recoveries.overflows < 2) {
    const shortened = yield* shorten(context, { trigger: 'overflow', toolTokens: o.toolTokens });
    if (context.signal.aborted) return;
    if (shortened === 'shortened')
      return yield [resetAttempt(context.current(), { reason: 'context-overflow', retryInMs: 0, error, usage })];
  }
  // An ending that somebody has overtaken is written again: what failed has failed (E-661).
  for (let ends = true; ends && context.current().result === null && !context.signal.aborted;) {
    const env = { nowMs: parts.clock.now(), fraction: parts.random.fraction(), retry: parts.policies.retry };
    const drafts = reactToFailure(context.current(), o.failure, env);
    ends = drafts.some(({ type }) => type === 'run-result');
    yield drafts;
  }
}

/** Repairs that no run of ours may need (E-565); neighbours of one role are usual after steering. */
const brokenCalls: ReadonlySet<string> = new Set(['call-without-result', 'result-without-call', 'second-result']);

async function requestFor(
  { parts, options, current }: TurnContext,
  o: {
    readonly opened: OpenedModel;
    readonly tools: readonly Tool[];
    readonly guidance: string;
    readonly dropBound: boolean;
    readonly budget: number | null;
  },
): Promise<Omit<ModelRequest, 'abortSignal'>> {
  const state = current();
  const { config } = state;
  const prompt = await buildPrompt(
    { ...state, todos: state.todos ?? options.todos ?? null },
    {
      history: options.history,
      content: parts.content,
      opened: o.opened,
      cache: parts.policies.promptCache,
      dropBound: o.dropBound,
      ...(o.guidance === '' ? {} : { systemAddition: o.guidance }),
      onRepair(what) {
        if (brokenCalls.has(what)) parts.logger.warn('A request had to be repaired.', { runId: state.runId, what });
      },
    },
  );
  return {
    prompt,
    ...(o.budget === null ? {} : { maxOutputTokens: o.budget }),
    ...(config?.temperature === undefined ? {} : { temperature: config.temperature }),
    ...(config?.reasoning === undefined ? {} : { reasoning: config.reasoning }),
    ...(config?.outputSchema === undefined ? {} : { responseFormat: { type: 'json', schema: config.outputSchema } }),
    ...(o.tools.length === 0 ? {} : { tools: o.tools.map(offer) }),
    ...(o.opened.providerOptions === undefined ? {} : { providerOptions: o.opened.providerOptions }),
  };
}

/** Waits until the stored moment, with notices where the wait is long enough for one (E-216, E-331). */
async function* waitForRetry(untilMs: number, { parts, signal, options, current }: TurnContext): Effects {
  const { clock } = parts;
  const { firstAfterSeconds, repeatEverySeconds } = parts.policies.progress;
  const stop = options.pause === undefined ? signal : AbortSignal.any([signal, options.pause]);
  const position = { step: current().step, attempt: current().open?.attempt ?? 0 };
  const fromMs = clock.now();
  let noticeMs = firstAfterSeconds === null ? Infinity : fromMs + firstAfterSeconds * 1000;
  while (!stop.aborted && clock.now() < untilMs) {
    await sleep(clock, Math.min(noticeMs, untilMs) - clock.now(), stop);
    if (stop.aborted || clock.now() >= untilMs || clock.now() < noticeMs) continue;
    const seconds = Math.round((clock.now() - fromMs) / 100) / 10;
    yield [{ type: 'waiting', data: { on: 'retry', seconds }, ...position }];
    noticeMs += repeatEverySeconds * 1000;
  }
}

function offer({ name, description, inputSchema }: Tool) {
  return { type: 'function' as const, name, description, inputSchema };
}
