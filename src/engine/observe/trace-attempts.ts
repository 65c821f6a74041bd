// The `chat` spans: one an attempt. An attempt behind a wait begins when the wait is over; one that the run ended before has
// no span.

import { SpanKind, type Span } from '@opentelemetry/api';
import type { ModelRef } from '../../core/outcome.ts';
import type { RunEventOf } from '../../core/run-event.ts';
import { modelAttributes, replyAttributes, usageAttributes } from './gen-ai-attributes.ts';
import { endSpan, note, startSpan, type TracedLeg } from './trace-leg.ts';

export interface TracedAttempt {
  readonly step: number;
  readonly number: number;
  readonly dueAtMs: number;
  readonly replyBudget: number | null;
  model: ModelRef;
  /** Null: it has not begun. */
  span: Span | null;
  heard: boolean;
}

type Announced = Pick<TracedAttempt, 'step' | 'number' | 'dueAtMs' | 'replyBudget' | 'model'>;

export function startStep(leg: TracedLeg, { step, at, data }: RunEventOf<'step-started'>): void {
  const { model, replyBudget } = data;
  beginAttempt(leg, announce(leg, { step, number: 1, dueAtMs: at, model, replyBudget }), at);
}

/** The first piece of a reply. */
export function hearReply(leg: TracedLeg, atMs: number): void {
  const { attempt } = leg;
  if (attempt === null || attempt.heard) return;
  attempt.heard = true;
  const seconds = Math.max(0, atMs - attempt.dueAtMs) / 1000;
  beginAttempt(leg, attempt, atMs).setAttribute('gen_ai.response.time_to_first_chunk', seconds);
}

export function acceptReply(leg: TracedLeg, event: RunEventOf<'turn-complete'>): void {
  const { attempt } = leg;
  if (attempt === null) return;
  const span = beginAttempt(leg, attempt, event.at);
  span.setAttributes(replyAttributes(event));
  leg.attempt = null;
  endSpan(leg, span, { atMs: event.at, fault: null });
}

export function resetAttempt(leg: TracedLeg, event: RunEventOf<'attempt-reset'>): void {
  const { at, data } = event;
  const { attempt } = leg;
  const { reason, error, nextAttempt, retryInMs } = data;
  note(leg, event, { reason, shown: data.shown, retry_in_ms: retryInMs });
  const span = attempt === null ? null : beginAttempt(leg, attempt, at);
  span?.setAttributes({ 'reins.reset.reason': reason, ...usageAttributes(data.usage ?? null) });
  // A person's word, not a failure (T3).
  const fault = reason === 'steered' ? null : (error ?? { type: reason });
  if (span !== null) endSpan(leg, span, { atMs: at, fault });
  const { model = leg.started.model, replyBudget = null } = attempt ?? {};
  announce(leg, { step: data.step, number: nextAttempt, dueAtMs: at + retryInMs, model, replyBudget });
}

/** Another model is asked, or answers than was asked for. */
export function switchModel(leg: TracedLeg, event: RunEventOf<'model-switched'>): void {
  const { kind, from, to } = event.data;
  note(leg, event, { kind, from: from.model, to: to.model });
  if (kind !== 'failover' || leg.attempt === null) return;
  leg.attempt.model = to;
  leg.attempt.span?.updateName(titleOf(to)).setAttributes(modelAttributes(to));
}

/** For an attempt of which nothing was heard: it is made once its wait is over. */
export function beginIfDue(leg: TracedLeg, atMs: number): void {
  if (leg.attempt !== null && atMs >= leg.attempt.dueAtMs) beginAttempt(leg, leg.attempt, atMs);
}

function announce(leg: TracedLeg, announced: Announced): TracedAttempt {
  leg.attempt = { ...announced, span: null, heard: false };
  return leg.attempt;
}

function beginAttempt(leg: TracedLeg, attempt: TracedAttempt, atMs: number): Span {
  const { model, replyBudget } = attempt;
  attempt.span ??= startSpan(leg, titleOf(model), {
    kind: SpanKind.CLIENT,
    atMs: Math.min(attempt.dueAtMs, atMs),
    attributes: {
      ...modelAttributes(model),
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': replyBudget ?? undefined,
      'reins.step': attempt.step,
      'reins.attempt': attempt.number,
    },
  });
  return attempt.span;
}

const titleOf = ({ model }: ModelRef): string => `chat ${model}`;
