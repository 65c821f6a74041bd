// One call of one model: yields live events as they arrive, ends with an outcome.
//
// M1. A failure of the provider is an outcome, never a throw: the core decides what follows (E-200). What a middleware
//     throws is thrown on.
// M2. With `afterModel` nothing of the reply is yielded before it is whole and processed (E-113).
// M3. What the model is called is told before its first delta (E-133); a name that comes later is not believed.

import { ReplyReader } from './reply-reader.ts';
import { describeFailure } from './describe-failure.ts';
import { openUpstream, type Arrival, type UpstreamCall } from './upstream.ts';
import { showWhole, type ModelMiddleware } from './middleware.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { ModelFailure, ModelReply } from './model-outcome.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

export interface ModelCall extends UpstreamCall {
  readonly step: number;
  readonly attempt: number;
  /** The model asked for. */
  readonly model: ModelRef;
  readonly middleware: Pick<ModelMiddleware, 'afterModel' | 'mapParts'>;
}

export type CallOutcome =
  | { readonly type: 'reply'; readonly reply: ModelReply }
  /** `shown`: a chunk of it was yielded for a user to see. */
  | { readonly type: 'failed'; readonly failure: Omit<ModelFailure, 'retryAtOnce'>; readonly shown: boolean }
  | { readonly type: 'stopped' };

export async function* callModel(call: ModelCall): AsyncGenerator<readonly EventDraft[], CallOutcome> {
  await using upstream = openUpstream(call);
  const reading = startReading(call);
  for (;;) {
    const drafts: EventDraft[] = [];
    const ended = reading.read(await upstream.take(), drafts);
    if (call.signal.aborted) return { type: 'stopped' };
    if (drafts.length > 0) yield drafts;
    if (call.signal.aborted) return { type: 'stopped' };
    if (ended === null) continue;
    const { outcome, rest } = await reading.conclude(ended);
    if (call.signal.aborted) return { type: 'stopped' };
    if (rest.length > 0) yield rest;
    return outcome;
  }
}

interface Ended {
  readonly error?: unknown;
}

interface Reading {
  /** Adds what is to be shown; not null: the call is over. */
  read(arrivals: readonly Arrival[], into: EventDraft[]): Ended | null;
  conclude(ended: Ended): Promise<{ readonly outcome: CallOutcome; readonly rest: readonly EventDraft[] }>;
}

function startReading(call: ModelCall): Reading {
  const { step, attempt, middleware } = call;
  const { afterModel } = middleware;
  const mapParts = middleware.mapParts?.() ?? null;
  const reader = new ReplyReader(call, call.opened.traits);
  let served: ModelRef | null = null;

  function readPart(part: LanguageModelV4StreamPart, into: EventDraft[]): Ended | null {
    const parts = mapParts === null ? null : mapParts(part);
    try {
      if (parts === null) reader.push(part, into);
      else for (const each of parts) reader.push(each, into);
      return null;
    } catch (error) {
      return { error };
    }
  }

  /** The provider names another model than was asked for: a fact that users and bills must see (E-357). */
  function nameModel(shownBefore: boolean): EventDraft | null {
    if (served !== null || reader.served === null) return null;
    const to = servedBy(call, reader.served);
    const same = to.model === call.model.model;
    if (!same && shownBefore) return null;
    served = to;
    const reason = `The provider answered with '${reader.served}'.`;
    return same
      ? null
      : { type: 'model-switched', data: { kind: 'reported', from: call.model, to, reason }, step, attempt };
  }

  return {
    read(arrivals, into) {
      const shownBefore = reader.shown && afterModel === null;
      const sink = afterModel === null ? into : [];
      for (const arrival of arrivals) {
        switch (arrival.kind) {
          case 'part': {
            const broken = readPart(arrival.part, sink);
            if (broken !== null) return broken;
            const switched = arrival.part.type === 'response-metadata' ? nameModel(shownBefore) : null;
            if (switched !== null) into.unshift(switched);
            break;
          }
          case 'notice': {
            const { seconds, lastByteMs } = arrival.notice;
            const data = { on: 'model', seconds, ...(lastByteMs === null ? {} : { lastByteMs }) } as const;
            into.push({ type: 'waiting', data, step, attempt });
            break;
          }
          case 'failed':
            return { error: arrival.error };
          case 'end':
            return {};
        }
      }
      return null;
    },
    async conclude(ended) {
      const whole = wholeOf(reader, ended);
      if ('error' in whole) {
        const shown = reader.shown && afterModel === null;
        return { outcome: { type: 'failed', failure: failureOf(call, whole.error, reader), shown }, rest: [] };
      }
      const reply = { ...whole.reply, served };
      if (afterModel === null) return { outcome: { type: 'reply', reply }, rest: whole.rest };
      const processed = await afterModel(reply);
      return { outcome: { type: 'reply', reply: processed }, rest: showWhole(processed, { step, attempt }) };
    },
  };
}

function wholeOf(reader: ReplyReader, ended: Ended): ReturnType<ReplyReader['end']> | { readonly error: unknown } {
  try {
    return 'error' in ended ? { error: ended.error } : reader.end();
  } catch (error) {
    return { error };
  }
}

function failureOf({ model, clock, request, opened }: ModelCall, error: unknown, { usage }: ReplyReader) {
  const { isTransient } = opened.traits;
  const asked = request.maxOutputTokens ?? null;
  return { ...describeFailure(error, { model, nowMs: clock.now(), asked, isTransient }), usage };
}

/** The canonical name of what answered: a provider's dated or own name for the requested model is no other model. */
function servedBy({ model: asked, opened }: ModelCall, name: string): ModelRef {
  const { provider, model } = asked;
  return { provider, model: isAlias(opened.model.modelId, name) ? model : name };
}

function isAlias(asked: string, named: string): boolean {
  const plain = (text: string) => text.toLowerCase().split('/').at(-1) ?? '';
  const [a, b] = [plain(asked), plain(named)];
  return a === b || (b.startsWith(a) && /^[-@:.]?(\d{4}-?\d{2}-?\d{2}|latest|\d{3,})/.test(b.slice(a.length)));
}
