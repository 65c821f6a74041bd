import { ConfigurationError } from '../core/errors.ts';
import { toWellFormed } from '../core/text.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { RunId } from '../core/ids.ts';
import type { UserMessage, UserPart } from '../core/run-event.ts';

/** A part of a message as a caller gives it. Text files reach the model as text under their name, the rest as they are. */
export type InputPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'file';
      readonly mediaType: string;
      readonly filename?: string;
      readonly data: Uint8Array | { readonly ref: string; readonly bytes?: number };
    };
export interface InputMessage {
  readonly content: string | readonly InputPart[];
  readonly messageId?: string;
}
export type RunInput = string | InputMessage | readonly InputMessage[];

/** The input as it is logged: bytes go into the content store (E-105), text is made well-formed (E-551). */
export async function toMessages(
  input: RunInput,
  runId: RunId,
  content: ContentStore,
): Promise<readonly UserMessage[]> {
  const list = typeof input === 'string' ? [{ content: input }] : Array.isArray(input) ? input : [input];
  if (list.length === 0) throw new ConfigurationError('A run needs at least one message.');
  return Promise.all(list.map((message: InputMessage) => toMessage(message, runId, content)));
}

async function toMessage(
  { content: given, messageId }: InputMessage,
  runId: RunId,
  store: ContentStore,
): Promise<UserMessage> {
  const parts = typeof given === 'string' ? [{ type: 'text', text: given } as const] : given;
  const content = await Promise.all(parts.map((part) => toPart(part, runId, store)));
  return { content, ...(messageId === undefined ? {} : { messageId }) };
}

const textual = /^text\/|[/+](json|xml|yaml|javascript|x-sh)$/;

async function toPart(part: InputPart, runId: RunId, store: ContentStore): Promise<UserPart> {
  if (part.type === 'text') return { type: 'text', text: toWellFormed(part.text) };
  const { mediaType, filename, data } = part;
  if (data instanceof Uint8Array && textual.test(mediaType))
    return { type: 'file', filename: filename ?? 'file.txt', mediaType, text: new TextDecoder().decode(data) };
  const stored = data instanceof Uint8Array ? await store.putContent(runId, data) : { bytes: 0, ...data };
  return { type: 'media', mediaType, ...stored, ...(filename === undefined ? {} : { filename }) };
}
