// One attempt at the reply of a step: the members of the chain in order, until one answers or what failed is not another
// member's to put right (E-350).
//
// H1. The next member is called only while nothing of the attempt was shown; after that a failure is the outcome (E-351, E-352).
// H2. A switch is a fact: `model-switched` is committed before the new member is called (E-133, E-353).
// H3. What cannot be repeated is the outcome at once: a bad request, a refused credential, a request that is too long. A
//     refusal is a reply (E-354, E-358).
// H4. A step whose continuation one member alone can read begins there; another one gets it without the bound blocks (E-356).

import { addUsage, type Usage } from '../core/usage.ts';
import { callModel, type CallOutcome } from './call-model.ts';
import { ConfigurationError } from '../core/errors.ts';
import { composeMiddleware, type Middleware, type ModelMiddleware, type ModelRequestDraft } from './middleware.ts';
import { nameTheWait } from './describe-failure.ts';
import type { Clock } from '../core/clock.ts';
import type { EnginePolicies } from './policies.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Logger } from '../core/logger.ts';
import type { ModelFailure, ModelOutcome } from './model-outcome.ts';
import type { ModelHealth } from './model-health.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { OpenedModel } from './model.ts';

export interface ChainMember {
  readonly ref: ModelRef;
  open(): Promise<OpenedModel>;
  /** Own reply budget of a fallback. */
  readonly maxTokens?: number;
}

export interface RequestOptions {
  readonly member: ChainMember;
  /** Output tokens that its provider has said a reply can have; null: unknown (E-211). */
  readonly replyLimit: number | null;
  /** Blocks that only another member can read must be left out. */
  readonly dropBound: boolean;
}

export interface ChainCall {
  readonly step: number;
  readonly attempt: number;
  /** The requested model first. */
  readonly members: readonly ChainMember[];
  /** The member to which a continuation is bound. */
  readonly pinned: ModelRef | null;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policies: EnginePolicies;
  readonly health: ModelHealth;
  readonly middleware?: readonly Middleware[] | undefined;
  /** The request for a member: its prompt, reply budget and options. */
  request(opened: OpenedModel, options: RequestOptions): Promise<ModelRequestDraft>;
}

type Effects<T> = AsyncGenerator<readonly EventDraft[], T>;

export async function* callChain(call: ChainCall): Effects<ModelOutcome> {
  const { health, policies } = call;
  const middleware = composeMiddleware(call.middleware ?? []);
  const primary = primaryOf(call);
  const failed: ModelFailure[] = [];
  let from = primary.ref;
  const order = orderOf(call);
  for (const member of order) {
    const refusal = health.refusal(member.ref);
    if (refusal !== null) failed.push(refusal);
    const opened = refusal === null ? await openMember(call, member) : null;
    if (opened === null) continue;
    if (!isSame(member.ref, from)) {
      yield [switchTo(call, { from, member, failure: failed.at(-1) })];
      from = member.ref;
    }
    const outcome = yield* callMember(call, { member, opened, middleware });
    if (outcome.type === 'stopped') return outcome;
    if (outcome.type === 'reply') {
      health.succeed(member.ref);
      // A fallback that does not say its name is known by the one it was called by (E-133).
      const served = outcome.reply.served ?? (member === primary ? null : member.ref);
      const usage = addUsage(spentOn(failed), outcome.reply.usage);
      return { type: 'reply', reply: { ...outcome.reply, served, usage } };
    }
    const failure = { ...outcome.failure, retryAtOnce: false };
    const next = health.fail(member.ref, failure, { retry: policies.retry, attempt: call.attempt });
    failed.push(outcome.shown ? { ...failure, retryAtOnce: next && canGoOn(call, member, failure) } : failure);
    if (outcome.shown || !next) break;
    // The last one's failure is that of the attempt, which its step tells of.
    if (member !== order.at(-1))
      call.logger.warn('A model of the chain failed.', { step: call.step, ...failure.error, cause: failure.detail });
  }
  return failedWith(call, failed);
}

/** Null: a fallback that cannot be had, such as one without a credential; the run can do without it. */
async function openMember(call: ChainCall, member: ChainMember): Promise<OpenedModel | null> {
  try {
    return await member.open();
  } catch (error) {
    if (member === call.members[0]) throw error;
    call.logger.warn('A fallback model cannot be used.', { ...member.ref, cause: String(error) });
    return null;
  }
}

function primaryOf({ members: [primary] }: ChainCall): ChainMember {
  if (primary === undefined) throw new ConfigurationError('A run needs a model.');
  return primary;
}

/** Those that may be called now; all of them where none may (E-354). */
function orderOf(call: ChainCall): readonly ChainMember[] {
  const { members, pinned, policies, health } = call;
  const bound = members.filter(({ ref }) => isSame(ref, pinned));
  const all = [...bound, ...members.filter((member) => !bound.includes(member))];
  const allowed = policies.retry.fallbackMode === 'fail' ? all.slice(0, 1) : all;
  const open = allowed.filter(({ ref }) => health.blockedUntilMs(ref) === null);
  return open.length > 0 ? open : allowed;
}

/** One member, called again at once where its provider said how long a reply can be (E-211). */
async function* callMember(
  call: ChainCall,
  o: { readonly member: ChainMember; readonly opened: OpenedModel; readonly middleware: ModelMiddleware },
): Effects<CallOutcome> {
  const { step, attempt, signal, clock, policies, health } = call;
  const { member, opened, middleware } = o;
  const dropBound = isReleased(call, member);
  for (let healed = false; ; healed = true) {
    const replyLimit = health.replyLimit(member.ref);
    const drafted = await call.request(opened, { member, replyLimit, dropBound });
    const request = await middleware.beforeModel(withinLimit(drafted, replyLimit));
    const model = member.ref;
    const outcome = yield* callModel({ step, attempt, model, opened, request, signal, clock, policies, middleware });
    if (outcome.type !== 'failed' || outcome.shown || healed) return outcome;
    const limit = outcome.failure.statedReplyLimit;
    if (limit === null) return outcome;
    health.learnReplyLimit(member.ref, limit);
  }
}

function withinLimit(request: ModelRequestDraft, replyLimit: number | null): ModelRequestDraft {
  const { maxOutputTokens } = request;
  if (replyLimit === null || maxOutputTokens === undefined || maxOutputTokens <= replyLimit) return request;
  return { ...request, maxOutputTokens: replyLimit };
}

function switchTo(
  call: ChainCall,
  o: { readonly from: ModelRef; readonly member: ChainMember; readonly failure: ModelFailure | undefined },
): EventDraft {
  const { step, attempt, pinned } = call;
  const { from, member, failure } = o;
  const why = isSame(member.ref, pinned)
    ? 'The reply that is gone on with is bound to this model.'
    : (failure?.error.message ?? `'${from.model}' is left alone for a while after its last failure.`);
  const released = isReleased(call, member) ? ` What only '${pinned?.model}' can read was left out.` : '';
  const data = { kind: 'failover', from, to: member.ref, reason: why + released } as const;
  return { type: 'model-switched', data, step, attempt };
}

function isReleased({ pinned }: ChainCall, { ref }: ChainMember): boolean {
  return pinned !== null && !isSame(ref, pinned);
}

/** Whether the next attempt need not wait, because another member will take it (E-202, E-354). */
function canGoOn(call: ChainCall, member: ChainMember, failure: ModelFailure): boolean {
  const others = orderOf(call).filter((each) => each !== member && call.health.blockedUntilMs(each.ref) === null);
  return others.length > 0 && (failure.class === 'quota' || isTooLong(call, failure));
}

function isTooLong({ policies: { retry } }: ChainCall, { retryAfterMs }: ModelFailure): boolean {
  return (retryAfterMs ?? 0) > retry.maxRetryAfterSeconds * 1000;
}

/** Of several failures the newest that a retry can put right decides; the others are its causes. */
function failedWith(call: ChainCall, failed: readonly ModelFailure[]): ModelOutcome {
  const last = failed.at(-1);
  if (last === undefined) throw new ConfigurationError('None of the models that are left can be used.');
  const repeatable = (failure: ModelFailure) => failure.class === 'transient' && !isTooLong(call, failure);
  const final = last.class !== 'transient' && last.class !== 'quota';
  const failure = final || last.retryAtOnce ? last : (failed.findLast(repeatable) ?? last);
  const causes = failed.filter((each) => each !== failure).map(({ error: { type, message } }) => ({ type, message }));
  const named = isTooLong(call, failure) ? nameTheWait(failure, call.clock.now()) : failure.error;
  const error = causes.length === 0 ? named : { ...named, causes };
  return { type: 'failed', failure: { ...failure, error, usage: spentOn(failed) } };
}

function spentOn(failed: readonly ModelFailure[]): Usage | null {
  return failed.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null);
}

function isSame(a: ModelRef, b: ModelRef | null): boolean {
  return a.provider === b?.provider && a.model === b.model;
}
