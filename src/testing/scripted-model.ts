import { APICallError } from '@ai-sdk/provider';
import { sleep, type Clock } from '../core/clock.ts';
import { beatsBeforeFault, finishOf, replyAt } from './model-servers/reply-script.ts';
import type { Model, ModelRequest } from '../engine/model.ts';
import type { Beat, ReplyPiece, ReplyScript, ScriptedReply } from './model-servers/reply-script.ts';

type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

export interface ScriptedModel extends Model {
  /** The requests so far, in order. */
  readonly calls: readonly ModelRequest[];
}

export interface ScriptedModelOptions {
  readonly provider?: string;
  readonly modelId?: string;
  /** Without one, pauses take no time. */
  readonly clock?: Clock;
}

/**
 * A model in process that plays the same scripts as the model servers, with the parts and failures that the provider
 * packages make of them: a refused request rejects, an error event is an `error` part, a cut makes the stream throw, a
 * missing end mark is a finish without a raw reason.
 */
export function createScriptedModel(
  script: ReplyScript<ModelRequest>,
  options: ScriptedModelOptions = {},
): ScriptedModel {
  const { provider = 'scripted', modelId = 'scripted-1', clock } = options;
  const calls: ModelRequest[] = [];
  return {
    provider,
    modelId,
    calls,
    doStream(request) {
      calls.push(request);
      request.abortSignal?.throwIfAborted();
      const reply = replyAt(script, request, calls.length - 1);
      if (reply.fault?.kind === 'status') return Promise.reject(refusal(reply.fault));
      const parts = play(reply, { modelId, clock, signal: request.abortSignal });
      return Promise.resolve({ stream: ReadableStream.from(parts) });
    },
  };
}

function refusal({ status, headers = {}, type = 'api_error', message = 'Refused' }: FaultOf<'status'>): APICallError {
  const body = { error: { type, message } };
  return new APICallError({
    message,
    url: 'scripted:',
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: { ...headers },
    responseBody: JSON.stringify(body),
    data: body,
  });
}

type FaultOf<K> = Extract<NonNullable<ScriptedReply['fault']>, { kind: K }>;

interface PlayContext {
  readonly modelId: string;
  readonly clock: Clock | undefined;
  readonly signal: AbortSignal | undefined;
}

async function* play(reply: ScriptedReply, { modelId, clock, signal }: PlayContext): AsyncGenerator<Part> {
  const { fault } = reply;
  yield { type: 'stream-start', warnings: [] };
  for (const beat of beatsBeforeFault(beatsOf(reply, modelId), fault)) {
    signal?.throwIfAborted();
    if (beat.kind !== 'pause') yield beat.item;
    else if (clock !== undefined) await sleep(clock, beat.ms, signal);
  }
  signal?.throwIfAborted();
  switch (fault?.kind) {
    case 'error-event':
      yield {
        type: 'error',
        error: { type: fault.type ?? 'overloaded_error', message: fault.message ?? 'Overloaded' },
      };
      return;
    case 'stall':
      await aborted(signal);
      return;
    case 'cut':
      throw new TypeError('terminated');
    case 'no-end-mark':
      yield { type: 'finish', finishReason: { unified: 'interrupted', raw: undefined }, usage: usageOf({}) };
      return;
    case 'status':
    case undefined:
  }
}

/** Rejects with the signal's reason; without a signal it waits for ever, as a stalled stream does. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

function beatsOf(reply: ScriptedReply, modelId: string): readonly Beat<Part>[] {
  const unified = finishOf(reply);
  const item: Part = {
    type: 'finish',
    finishReason: { unified, raw: reply.rawFinish ?? unified },
    usage: usageOf(reply),
  };
  return [
    { kind: 'start', item: { type: 'response-metadata', modelId: reply.modelId ?? modelId } },
    ...(reply.pieces ?? []).flatMap((piece, index) => pieceBeats(piece, String(index))),
    { kind: 'end', item },
  ];
}

function pieceBeats(piece: ReplyPiece, block: string): Beat<Part>[] {
  const between = (item: Part): Beat<Part> => ({ kind: 'between', item });
  const delta = (item: Part): Beat<Part> => ({ kind: 'delta', item });
  switch (piece.kind) {
    case 'pause':
      return [piece];
    case 'text':
      return [
        between({ type: 'text-start', id: block }),
        ...piece.chunks.map((text) => delta({ type: 'text-delta', id: block, delta: text })),
        between({ type: 'text-end', id: block }),
      ];
    case 'thinking':
      return [
        between({ type: 'reasoning-start', id: block }),
        ...piece.chunks.map((text) => delta({ type: 'reasoning-delta', id: block, delta: text })),
        between({ type: 'reasoning-end', id: block, providerMetadata: { scripted: { signature: 'signed' } } }),
      ];
    case 'tool-call': {
      const id = piece.id ?? `made_up_${block}`;
      const input = piece.arguments.join('');
      return [
        between({ type: 'tool-input-start', id, toolName: piece.name }),
        ...piece.arguments.map((text) => delta({ type: 'tool-input-delta', id, delta: text })),
        between({ type: 'tool-input-end', id }),
        between({ type: 'tool-call', toolCallId: id, toolName: piece.name, input }),
      ];
    }
  }
}

function usageOf({ usage }: ScriptedReply) {
  return {
    inputTokens: { total: usage?.inputTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: usage?.outputTokens, text: undefined, reasoning: undefined },
  };
}
