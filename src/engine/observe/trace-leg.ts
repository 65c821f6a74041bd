import {
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { RunEvent, RunEventOf } from '../../core/run-event.ts';
import type { TracedAttempt } from './trace-attempts.ts';
import { agentAttributes, modelAttributes, placeAttributes, resultAttributes } from './gen-ai-attributes.ts';

/** A leg while it is traced. */
export interface TracedLeg {
  readonly tracer: Tracer;
  readonly span: Span;
  /** With the leg's span: the parent of all others. */
  readonly context: Context;
  readonly place: Attributes;
  readonly started: RunEventOf<'run-started'>['data'];
  /** Spans that have not ended, parents first (T2). */
  readonly open: Set<Span>;
  /** Calls that will run, until they are complete, and the spans of those that were dispatched; by executionKey. */
  readonly calls: Map<string, RunEventOf<'tool-call-start'>['data']>;
  readonly tools: Map<string, Span>;
  /** The attempt that is made, or waited for. */
  attempt: TracedAttempt | null;
  lastAtMs: number;
}

export interface Fault {
  /** `error.type`: one of few words. */
  readonly type: string;
  /** Safe to show. */
  readonly message?: string;
}

export interface LegOptions {
  readonly tracer: Tracer;
  readonly parent: Context;
  readonly agentName: string | undefined;
}

/** Null: nobody records it (T5). */
export function startLeg(event: RunEventOf<'run-started'>, o: LegOptions): TracedLeg | null {
  const { tracer, parent } = o;
  const { data } = event;
  const name = data.agent?.name ?? o.agentName;
  const place = placeAttributes(event);
  const attributes = { ...place, ...modelAttributes(data.model), ...agentAttributes(data, name) };
  const title = name === undefined ? 'invoke_agent' : `invoke_agent ${name}`;
  const span = tracer.startSpan(title, { kind: SpanKind.INTERNAL, startTime: new Date(event.at), attributes }, parent);
  if (!span.isRecording()) {
    span.end();
    return null;
  }
  return {
    tracer,
    span,
    context: trace.setSpan(parent, span),
    place,
    started: data,
    open: new Set([span]),
    calls: new Map(),
    tools: new Map(),
    attempt: null,
    lastAtMs: event.at,
  };
}

/** The leg has its result: completed, cancelled, failed, or parked. */
export function endByResult(leg: TracedLeg, event: RunEventOf<'run-result'>): void {
  leg.span.setAttributes(resultAttributes(event, leg.started.leg));
  endAll(leg, event.at, event.data.error);
}

/** Ends what is open, children first. */
export function endAll(leg: TracedLeg, atMs: number, fault: Fault | null): void {
  for (const span of [...leg.open].toReversed()) endSpan(leg, span, { atMs, fault });
}

export function startSpan(
  leg: TracedLeg,
  title: string,
  o: { readonly kind: SpanKind; readonly atMs: number; readonly attributes: Attributes },
): Span {
  const attributes = { ...leg.place, ...o.attributes };
  const span = leg.tracer.startSpan(title, { kind: o.kind, startTime: new Date(o.atMs), attributes }, leg.context);
  leg.open.add(span);
  return span;
}

export function endSpan(leg: TracedLeg, span: Span, o: { readonly atMs: number; readonly fault: Fault | null }): void {
  if (!leg.open.delete(span)) return;
  if (o.fault !== null) markFault(span, o.fault);
  span.end(new Date(o.atMs));
}

export function markFault(span: Span, { type, message }: Fault): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

/** What happened in the leg beside its calls. The names get our prefix. */
export function note(leg: TracedLeg, { type, at, step, attempt }: RunEvent, facts: Attributes): void {
  const named = Object.entries({ step, attempt, ...facts }).map(([name, value]) => [`reins.${name}`, value]);
  leg.span.addEvent(`reins.${type.replaceAll('-', '_')}`, Object.fromEntries(named), new Date(at));
}
