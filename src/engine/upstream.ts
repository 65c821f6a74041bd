// The provider's side of one model call: sends the request, moves its stream into a mailbox, and watches over it.
//
// U1. One abort reaches the provider's socket: the call's controller follows the turn's signal and is let go when the call
//     settles (B076, E-847).
// U2. On every exit the request is aborted and the reader's end is awaited: no body is left unread (E-309).
// U3. Nothing rejects: every ending is an arrival.

import { callTimeoutMs, type EnginePolicies } from './policies.ts';
import { createMailbox, type Mailbox } from '../process/mailbox.ts';
import { listenToBytes } from './upstream-bytes.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { startWatch, type Notice, type Watch, type WatchLimits } from './watch.ts';
import type { Clock } from '../core/clock.ts';
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelRequest, OpenedModel } from './model.ts';

export interface UpstreamCall {
  readonly opened: OpenedModel;
  readonly request: Omit<ModelRequest, 'abortSignal'>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policies: EnginePolicies;
}

export type Arrival =
  | { readonly kind: 'part'; readonly part: LanguageModelV4StreamPart }
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'end' };

export interface Upstream extends AsyncDisposable {
  /** All that came since it was asked before; waits for something. */
  take(): Promise<readonly Arrival[]>;
}

/** Chunks that may wait for a slow log before the provider's stream is held back. */
const mailboxCapacity = 1024;
/** How long a server may take to close its stream after the reply's end, so that the connection can be used again. */
const closingMs = 1000;

export function openUpstream(call: UpstreamCall): Upstream {
  const attempt = new AbortController();
  const stop = () => attempt.abort(call.signal.reason);
  call.signal.addEventListener('abort', stop);
  if (call.signal.aborted) stop();
  const box = createMailbox<Arrival>(mailboxCapacity);
  let ended = false;
  const pumped = pump(call, attempt, box).finally(() => {
    ended = true;
  });
  return {
    take: () => box.take(),
    async [Symbol.asyncDispose]() {
      call.signal.removeEventListener('abort', stop);
      // Nearly every call has ended by itself, and an error with its stack costs as much as fifty deltas.
      if (!ended) attempt.abort(new Error('The attempt is over.'));
      box.close();
      await pumped;
    },
  };
}

async function pump(call: UpstreamCall, attempt: AbortController, box: Mailbox<Arrival>): Promise<void> {
  const { clock, opened, request } = call;
  const { signal } = attempt;
  const watch = watchOver(call, attempt, box);
  let closing: (() => void) | null = null;
  try {
    signal.throwIfAborted();
    const opening = Promise.resolve(opened.model.doStream({ ...request, abortSignal: signal }));
    const { stream } = await untilAborted(opening, signal, (late) => late.stream.cancel());
    using reader = cancellable(stream, signal);
    for (;;) {
      const { done, value: part } = await reader.read();
      if (done) break;
      if (closing !== null) continue;
      if (part.type === 'ping') watch.byte();
      else if (part.type !== 'stream-start') watch.touch(); // That one is the client's own and comes before any answer.
      const room = box.put({ kind: 'part', part });
      if (part.type === 'finish') {
        watch.stop();
        closing = clock.timer(closingMs, () => attempt.abort(new Error('The reply is over.')));
      } else if (room !== undefined) await holdBack(room, watch, signal);
    }
    if (closing === null) signal.throwIfAborted();
  } catch (error) {
    // After the reply's own end nothing can break it any more.
    if (closing === null) void box.put({ kind: 'failed', error });
  } finally {
    closing?.();
    watch.stop();
    void box.put({ kind: 'end' });
  }
}

function watchOver(call: UpstreamCall, attempt: AbortController, box: Mailbox<Arrival>): Watch {
  const watch = startWatch({
    clock: call.clock,
    limits: limitsOf(call),
    progress: call.policies.progress,
    keepAliveIsProgress: call.opened.traits.keepAliveIsProgress === true,
    onNotice: (notice) => void box.put({ kind: 'notice', notice }),
    onExpired: (error) => {
      void box.put({ kind: 'failed', error });
      attempt.abort(error);
    },
  });
  listenToBytes(attempt.signal, () => watch.byte());
  return watch;
}

function limitsOf({ policies: { retry }, opened, request }: UpstreamCall): WatchLimits {
  const idleMs = retry.streamIdleTimeoutSeconds === null ? null : retry.streamIdleTimeoutSeconds * 1000;
  const promptly = opened.traits.firstEventPromptly === true ? retry.streamFirstEventTimeoutSeconds : null;
  // Ten seconds more for each 100,000 tokens of about four characters (E-303).
  const firstEventMs = promptly === null ? null : promptly * 1000 + Math.floor(unitsOf(request.prompt) / 40);
  return {
    firstEventMs: firstEventMs === null ? null : Math.min(firstEventMs, idleMs ?? Infinity),
    idleMs,
    callMs: callTimeoutMs(retry, request.maxOutputTokens ?? null),
  };
}

const knownUnits = new WeakMap<LanguageModelV4Message, number>();

/** A long run sends the same messages again at each step: each is counted once. */
function unitsOf(prompt: LanguageModelV4Prompt): number {
  let units = 0;
  for (const message of prompt) {
    const own = knownUnits.get(message) ?? unitsIn(message);
    knownUnits.set(message, own);
    units += own;
  }
  return units;
}

function unitsIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  let units = 0;
  for (const member of Object.values(value)) units += unitsIn(member);
  return units;
}

/** A slow log holds the stream back: that is no silence of the model (W1 of the watch). */
async function holdBack(room: Promise<void>, watch: Watch, signal: AbortSignal): Promise<void> {
  watch.pause();
  await untilAborted(room, signal);
  watch.resume();
}

/** The stream's reader, whose reads end at once when the signal aborts: one listener a stream, none a read. */
function cancellable<T>(
  stream: ReadableStream<T>,
  signal: AbortSignal,
): Disposable & Pick<ReadableStreamDefaultReader<T>, 'read'> {
  const reader = stream.getReader();
  // Nobody waits for a cancelled stream, nor for its error.
  const cancel = () => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  return {
    read: () => reader.read(),
    [Symbol.dispose]() {
      signal.removeEventListener('abort', cancel);
    },
  };
}
