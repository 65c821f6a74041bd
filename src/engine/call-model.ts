// One attempt at the reply of a step: sends the request, yields live events as they arrive, ends with an outcome.
//
// M1. One abort reaches the provider's socket: the attempt's controller follows the turn's signal and is let go when the
//     attempt settles (B076, E-847).
// M2. On every exit the request is aborted and the reader's end is awaited: no body is left unread (E-309).
// M3. A failure is an outcome, never a throw: the core decides what follows (E-200).

import { callTimeoutMs, type EnginePolicies } from './policies.ts';
import { createMailbox, type Mailbox } from './mailbox.ts';
import { createReplyReader, type ReplyReader } from './reply-reader.ts';
import { describeFailure } from './describe-failure.ts';
import { startWatch } from './watch.ts';
import type { Clock } from '../core/clock.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { ModelFailure, ModelReply } from './react.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { ModelRequest, OpenedModel } from './model.ts';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

export interface ModelCall {
  readonly step: number;
  readonly attempt: number;
  readonly requested: ModelRef;
  readonly opened: OpenedModel;
  readonly request: Omit<ModelRequest, 'abortSignal'>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policies: EnginePolicies;
}

export type ModelOutcome =
  | { readonly type: 'reply'; readonly reply: ModelReply }
  | { readonly type: 'failed'; readonly failure: ModelFailure }
  | { readonly type: 'stopped' };

type Arrival =
  | { readonly kind: 'part'; readonly part: LanguageModelV4StreamPart }
  | { readonly kind: 'notice'; readonly seconds: number }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'end' };

/** Chunks that may wait for a slow log before the provider's stream is held back. */
const mailboxCapacity = 1024;

export async function* callModel(call: ModelCall): AsyncGenerator<readonly EventDraft[], ModelOutcome> {
  const attempt = new AbortController();
  const stop = () => attempt.abort(call.signal.reason);
  call.signal.addEventListener('abort', stop);
  if (call.signal.aborted) stop();
  const box = createMailbox<Arrival>(mailboxCapacity);
  const pumped = pump(call, attempt, box);
  const reader = createReplyReader(call, call.opened.traits);
  try {
    return yield* readArrivals(call, { box, reader });
  } finally {
    call.signal.removeEventListener('abort', stop);
    attempt.abort(new Error('The attempt is over.'));
    box.close();
    await pumped;
  }
}

/** Moves the provider's stream into the mailbox. Never rejects: every ending is an arrival. */
async function pump(call: ModelCall, attempt: AbortController, box: Mailbox<Arrival>): Promise<void> {
  const { policies, opened, clock } = call;
  const idleMs = inMs(policies.retry.streamIdleTimeoutSeconds);
  const prompt = opened.traits.firstEventPromptly === true;
  const watch = startWatch({
    clock,
    limits: {
      firstEventMs: prompt ? inMs(policies.retry.streamFirstEventTimeoutSeconds) : null,
      idleMs,
      callMs: callTimeoutMs(policies.retry, call.request.maxOutputTokens ?? null),
    },
    progress: policies.progress,
    onNotice: (seconds) => void box.put({ kind: 'notice', seconds }),
    onExpired: (error) => {
      void box.put({ kind: 'failed', error });
      attempt.abort(error);
    },
  });
  try {
    const stream = await openStream(opened.model.doStream({ ...call.request, abortSignal: attempt.signal }), attempt);
    for await (const part of stream) {
      if (isProgress(part)) watch.touch();
      const room = box.put({ kind: 'part', part });
      if (room === undefined) continue;
      // A slow log holds the stream back: that is no silence of the model (W1 of the watch).
      watch.pause();
      await untilAborted(room, attempt.signal, async () => {});
      watch.resume();
    }
  } catch (error) {
    void box.put({ kind: 'failed', error });
  } finally {
    watch.stop();
    void box.put({ kind: 'end' });
  }
}

/** A ping proves a connection, not progress (E-302); `stream-start` is the client's own and comes before any answer. */
function isProgress({ type }: LanguageModelV4StreamPart): boolean {
  return type !== 'ping' && type !== 'stream-start';
}

/** The stream once it opens; given up, and cancelled when it comes late, if the attempt aborts first (M1, M2). */
async function openStream(
  opening: ReturnType<OpenedModel['model']['doStream']>,
  { signal }: AbortController,
): Promise<AsyncIterable<LanguageModelV4StreamPart>> {
  const { stream } = await untilAborted(Promise.resolve(opening), signal, (late) => late.stream.cancel());
  const reader = stream.getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => untilAborted(reader.read(), signal, () => reader.cancel()),
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** The promise, or a rejection as soon as the signal aborts; what comes late is handed to `discard`. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal, discard: (late: T) => Promise<unknown>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason);
      promise.then(discard).catch(() => undefined); // Nobody waits for a late answer any more, nor for its error.
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function* readArrivals(
  call: ModelCall,
  { box, reader }: { readonly box: Mailbox<Arrival>; readonly reader: ReplyReader },
): AsyncGenerator<readonly EventDraft[], ModelOutcome> {
  const { step, attempt } = call;
  let named: string | null = null;
  for (;;) {
    const drafts: EventDraft[] = [];
    let ended: { readonly error?: unknown } | null = null;
    for (const arrival of await box.take()) {
      if (ended !== null) break;
      switch (arrival.kind) {
        case 'part':
          try {
            for (const draft of reader.push(arrival.part)) drafts.push(draft);
          } catch (error) {
            ended = { error };
          }
          if (reader.served !== null && reader.served !== named) {
            named = reader.served;
            const switched = reportedModel(call, named);
            if (switched !== null) drafts.unshift(switched);
          }
          break;
        case 'notice':
          drafts.push({ type: 'waiting', data: { on: 'model', seconds: arrival.seconds }, step, attempt });
          break;
        case 'failed':
          ended = { error: arrival.error };
          break;
        case 'end':
          ended = {};
          break;
      }
    }
    if (call.signal.aborted) return { type: 'stopped' };
    if (drafts.length > 0) yield drafts;
    if (call.signal.aborted) return { type: 'stopped' };
    if (ended !== null) return yield* conclude(call, reader, ended);
  }
}

async function* conclude(
  call: ModelCall,
  reader: ReplyReader,
  ended: { readonly error?: unknown },
): AsyncGenerator<readonly EventDraft[], ModelOutcome> {
  try {
    if ('error' in ended) throw ended.error;
    const { reply, rest } = reader.end();
    if (rest.length > 0) yield rest;
    const served = reader.served === null ? null : servedBy(call, reader.served);
    return { type: 'reply', reply: { ...reply, served } };
  } catch (error) {
    return { type: 'failed', failure: { ...describeFailure(error, call.requested), usage: reader.usage } };
  }
}

/** The provider names another model than was asked for: a fact that users and bills must see (E-357). */
function reportedModel(call: ModelCall, name: string): EventDraft | null {
  const to = servedBy(call, name);
  if (to.model === call.requested.model) return null;
  const reason = `The provider answered with '${name}'.`;
  const data = { kind: 'reported', from: call.requested, to, reason } as const;
  return { type: 'model-switched', data, step: call.step, attempt: call.attempt };
}

/** The canonical name of what answered: a provider's dated or own name for the requested model is no other model. */
function servedBy(call: ModelCall, name: string): ModelRef {
  const { provider, model } = call.requested;
  return { provider, model: isAlias(call.opened.model.modelId, name) ? model : name };
}

function isAlias(asked: string, named: string): boolean {
  const plain = (text: string) => text.toLowerCase().split('/').at(-1) ?? '';
  const [a, b] = [plain(asked), plain(named)];
  return a === b || (b.startsWith(a) && /^[-@:.]?(\d{4}-?\d{2}-?\d{2}|latest|\d{3,})/.test(b.slice(a.length)));
}

function inMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
