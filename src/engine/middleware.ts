// What an embedder may put between the engine and its models and tools (E-900).
//
// I1. It changes text and requests; it never retries, and what it throws fails the run.
// I2. Opaque blocks of a provider and ids of calls come out as they went in, else a ConfigurationError.
// I3. With `afterModel` a reply is shown when it is whole and processed; its text before that is in no event (E-113).
// I4. Several work in the order in which they are given.

import { blame, inMiddleware } from './middleware-error.ts';
import { ConfigurationError } from '../core/errors.ts';
import { toJsonValue } from '../core/json.ts';
import { toWellFormed } from '../core/text.ts';
import type { ChangeCall } from './prepare-call.ts';
import type { EventDraft, ReplyPart, ToolCall } from '../core/run-event.ts';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelReply } from './model-outcome.ts';
import type { ModelRequest } from './model.ts';

export type ModelRequestDraft = Omit<ModelRequest, 'abortSignal'>;

/** Of a reply, what may be changed: its texts, and names and arguments of its calls. */
export type ReplyTexts = Pick<ModelReply, 'text' | 'thinking' | 'calls'>;

/** Text of one block in order: what `push` and `flush` give is shown at once, what they keep back is not (I4). */
export interface TextTransform {
  push(text: string): string;
  /** The block is over: the rest. */
  flush(): string;
}

export interface ToolResultText {
  readonly content: string;
  readonly isError: boolean;
}

export interface Middleware {
  readonly beforeModel?: (request: ModelRequestDraft) => ModelRequestDraft | Promise<ModelRequestDraft>;
  /** Sees the whole reply before anyone else does; nothing of it is streamed (I3). */
  readonly afterModel?: (reply: ReplyTexts) => ReplyTexts | Promise<ReplyTexts>;
  /** Changes answer text while it streams; made anew for each block of text. */
  readonly transform?: () => TextTransform;
  readonly beforeTool?: ChangeCall;
  /** Changes what the model reads of a result. */
  readonly afterTool?: (
    result: ToolResultText & { readonly id: string; readonly name: string },
  ) => ToolResultText | Promise<ToolResultText>;
}

type Part = LanguageModelV4StreamPart;

/** All middleware of an agent as one. */
export interface ModelMiddleware {
  beforeModel(request: ModelRequestDraft): Promise<ModelRequestDraft>;
  /** Null: replies are shown as they arrive. */
  readonly afterModel: ((reply: ModelReply) => Promise<ModelReply>) | null;
  /** For one reply; null: text passes as it is. */
  readonly mapParts: (() => (part: Part) => readonly Part[]) | null;
}

export function composeMiddleware(list: readonly Middleware[]): ModelMiddleware {
  const transforms = list.flatMap(({ transform }) => transform ?? []);
  const buffers = list.some(({ afterModel }) => afterModel !== undefined);
  return {
    async beforeModel(request) {
      let changed = request;
      for (const { beforeModel } of list)
        if (beforeModel !== undefined) changed = await inMiddleware('beforeModel', beforeModel, changed);
      if (changed !== request) requireOpaque(request, changed);
      return changed;
    },
    afterModel: buffers ? (reply) => processReply(reply, list) : null,
    mapParts: buffers || transforms.length === 0 ? null : () => mapText(transforms),
  };
}

function requireOpaque(before: ModelRequestDraft, after: ModelRequestDraft): void {
  const kept = new Set(opaqueOf(after));
  if (opaqueOf(before).some((each) => !kept.has(each)))
    throw new ConfigurationError('A middleware took away what a provider gave for itself, or the id of a call.');
}

function opaqueOf({ prompt }: ModelRequestDraft): readonly string[] {
  return prompt.flatMap((message): string[] => {
    if (message.role !== 'assistant' && message.role !== 'tool') return [];
    return message.content.flatMap((part) => {
      const sealed = part.providerOptions === undefined ? [] : [JSON.stringify(toJsonValue(part.providerOptions))];
      return 'toolCallId' in part ? [`${part.type} ${part.toolCallId}`, ...sealed] : sealed;
    });
  });
}

async function processReply(reply: ModelReply, list: readonly Middleware[]): Promise<ModelReply> {
  let texts: ReplyTexts = { text: reply.text, thinking: reply.thinking, calls: reply.calls };
  for (const { transform, afterModel } of list) {
    if (transform !== undefined)
      texts = {
        ...texts,
        text: await inMiddleware('transform', (text) => wholeThrough(transform(), text), texts.text),
      };
    if (afterModel !== undefined) texts = await inMiddleware('afterModel', afterModel, texts);
  }
  return relay(reply, texts);
}

function wholeThrough(transform: TextTransform, text: string): string {
  return transform.push(text) + transform.flush();
}

/** The reply with its new texts. Answer text becomes one part, so that one delta can show it (E-113). */
function relay(reply: ModelReply, texts: ReplyTexts): ModelReply {
  const [text, thinking] = [toWellFormed(texts.text), toWellFormed(texts.thinking)];
  const thought = thinking === reply.thinking;
  const sealed = reply.parts.some(({ kind, _provider }) => kind === 'thinking' && _provider !== undefined);
  if (!thought && sealed) throw new ConfigurationError('A middleware changed reasoning that its provider has signed.');
  const ids = (calls: readonly ToolCall[]) => JSON.stringify(calls.map(({ id }) => id));
  if (ids(texts.calls) !== ids(reply.calls))
    throw new ConfigurationError('A middleware changed the ids of tool calls.');
  const calls = texts.calls.map(({ id, name, arguments: json }) => ({ id, name, arguments: toWellFormed(json) }));
  let parts = joinParts(reply.parts, 'text', text.length);
  if (!thought) parts = joinParts(parts, 'thinking', thinking.length);
  return { ...reply, text, thinking, calls, parts };
}

/** One part of that kind, where its first one stood, else at the end; of the others stays what their provider wants back. */
function joinParts(parts: readonly ReplyPart[], kind: 'text' | 'thinking', length: number): readonly ReplyPart[] {
  let start = 0;
  const joined = parts.flatMap((part): ReplyPart[] => {
    if (part.kind !== kind) return [part];
    const own = { ...part, start, end: length };
    start = length;
    return own.start === own.end && part._provider === undefined ? [] : [own];
  });
  if (start === length) return joined;
  return [...joined, { block: Math.max(-1, ...parts.map(({ block }) => block)) + 1, kind, start, end: length }];
}

/** The live events that show a reply which was held back: for each part its whole (E-113, E-125). */
export function showWhole(
  { parts, text, thinking, calls }: ModelReply,
  position: { readonly step: number; readonly attempt: number },
): readonly EventDraft[] {
  return parts.flatMap((part): EventDraft[] => {
    const at = { ...position, block: part.block };
    if (part.kind === 'tool-call') {
      const call = calls.find(({ id }) => id === part.id);
      if (call === undefined) return [];
      const pieces = call.arguments === '' ? [''] : ['', call.arguments];
      const { id, name } = call;
      return pieces.map((partialJson) => ({ type: 'tool-call-delta', data: { id, name, partialJson }, ...at }));
    }
    const data = (part.kind === 'text' ? text : thinking).slice(part.start, part.end);
    return data === '' ? [] : [{ type: part.kind === 'text' ? 'text-delta' : 'thinking-delta', data, ...at }];
  });
}

function mapText(makers: readonly (() => TextTransform)[]): (part: Part) => readonly Part[] {
  const open = new Map<string, readonly TextTransform[]>();
  const end = (id: string): readonly Part[] => {
    let rest = '';
    for (const transform of open.get(id) ?? []) rest = (rest === '' ? '' : transform.push(rest)) + transform.flush();
    open.delete(id);
    return rest === '' ? [] : [{ type: 'text-delta', id, delta: rest }];
  };
  const map = (part: Part): readonly Part[] => {
    if (part.type === 'text-end') return [...end(part.id), part];
    if (part.type === 'finish') return [...[...open.keys()].flatMap(end), part];
    if (part.type !== 'text-delta') return [part];
    const chain = open.get(part.id) ?? makers.map((make) => make());
    open.set(part.id, chain);
    return [{ ...part, delta: chain.reduce((text, each) => (text === '' ? '' : each.push(text)), part.delta) }];
  };
  return (part) => {
    try {
      return map(part);
    } catch (cause) {
      throw blame('transform', cause);
    }
  };
}
