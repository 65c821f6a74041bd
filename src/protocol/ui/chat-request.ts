// The body that `useChat` posts (P-083 to P-088). Only the last message says something: what came before is the server's to
// know. An assistant's message brings answers, a user's is a new turn, or the same one anew.

import * as z from 'zod';
import { checkFields, readBody } from '../uhp/parse-body.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { messageId as idOfMessage } from '../uhp/message-id.ts';
import { parseInput } from '../uhp/input.ts';
import type { ChatAnswer, ChatMessage, ChatOutput } from '../../core/chat.ts';
import type { UiForm } from './chunk.ts';

const name = z.string('must be a string').nullish();

/** As it is described; fields that are not named here are ignored. */
export const chatBody = z
  .looseObject({
    id: z.string('must be a string').describe('Of the chat: a name of the client, or a session'),
    messages: z
      .array(z.looseObject({ id: z.string('must be a string'), role: z.string('must be a string') }), 'must be a list')
      .describe('The last one is what is said; earlier ones are not read'),
    trigger: z.string().nullish(),
    messageId: name,
    model: name.describe('Of a new turn'),
    harness: name.describe('Of a new chat: the id of a harness'),
    steer: z.boolean('must be true or false').nullish().describe('Say it to the turn at work'),
    chunks: z.union([z.literal(6), z.literal(7)], 'must be 6 or 7').nullish(),
    sendReasoning: z.boolean('must be true or false').nullish(),
  })
  .meta({ id: 'ChatRequest' });

export interface ChatRequest {
  readonly chatId: string;
  readonly form: UiForm;
  readonly model: string | null;
  readonly harnessId: string | null;
  readonly turn:
    | { readonly is: 'message'; readonly message: ChatMessage; readonly steer: boolean }
    /** Of the message of that id, with what it says now. */
    | { readonly is: 'redo'; readonly message: ChatMessage }
    | { readonly is: 'answers'; readonly answers: readonly ChatAnswer[]; readonly outputs: readonly ChatOutput[] };
}

const chatId = /^[A-Za-z0-9_-]{1,128}$/;

/** @throws InvalidInputError */
export function parseChatRequest(body: unknown): ChatRequest {
  const sent = readBody(body);
  const { id, trigger, messageId, model, harness, steer, chunks, sendReasoning } = checkFields(chatBody, sent);
  if (!chatId.test(id)) throw new InvalidInputError('id must be 1 to 128 letters, digits, _ or -.', 'id');
  return {
    chatId: id,
    form: { chunks: chunks ?? 7, sendReasoning: sendReasoning ?? true },
    model: model ?? null,
    harnessId: harness ?? null,
    turn: turnOf(sent['messages'], {
      messageId,
      isRegenerated: trigger === 'regenerate-message',
      steer: steer ?? false,
    }),
  };
}

function turnOf(
  messages: JsonValue | undefined,
  o: { readonly messageId: string | null | undefined; readonly isRegenerated: boolean; readonly steer: boolean },
): ChatRequest['turn'] {
  const all = Array.isArray(messages) ? messages.filter((each) => isJsonObject(each)) : [];
  const last = all.at(-1);
  if (last === undefined) throw new InvalidInputError('messages must not be empty.', 'messages');
  // What an earlier message asked can still be answered behind a later one.
  const named = all.find((each) => each['id'] === o.messageId && each['role'] === 'assistant');
  const answering = last['role'] === 'assistant' ? last : o.isRegenerated ? undefined : named;
  if (answering !== undefined) return { is: 'answers', ...answersIn(partsOf(answering)) };
  const message = messageOf(last);
  if (o.isRegenerated || o.messageId === message.id) return { is: 'redo', message };
  return { is: 'message', message, steer: o.steer };
}

function messageOf(given: JsonObject): ChatMessage {
  if (given['role'] !== 'user')
    throw new InvalidInputError('The last message must be of the user or the assistant.', 'messages');
  const { id } = checkFields(z.object({ id: idOfMessage }), { id: given['id'] ?? null });
  const content = partsOf(given).flatMap((part): JsonObject[] => {
    if (part['type'] === 'text') return [{ type: 'input_text', text: part['text'] ?? null }];
    if (part['type'] !== 'file') return [];
    const filename = typeof part['filename'] === 'string' ? { filename: part['filename'] } : {};
    return [{ type: 'input_file', file_data: part['url'] ?? null, ...filename }];
  });
  const { messages, items } = parseInput([{ type: 'message', role: 'user', content }], ['user']);
  return { id: id ?? '', content: messages.flatMap((message) => message.content), items };
}

function partsOf({ parts }: JsonObject): readonly JsonObject[] {
  return Array.isArray(parts) ? parts.filter((part) => isJsonObject(part)) : [];
}

/** Decisions by the id of what was asked, however the client has marked the part; outputs by call (P-087). */
function answersIn(
  parts: readonly JsonObject[],
): Pick<Extract<ChatRequest['turn'], { is: 'answers' }>, 'answers' | 'outputs'> {
  const answers: ChatAnswer[] = [];
  const outputs = new Map<string, JsonValue | null>();
  for (const { type, state, approval, toolCallId, output } of parts) {
    if (type !== 'dynamic-tool' && !(typeof type === 'string' && type.startsWith('tool-'))) continue;
    if (isJsonObject(approval) && typeof approval['id'] === 'string' && typeof approval['approved'] === 'boolean') {
      const { id: approvalId, approved, reason } = approval;
      const isSettled = state !== 'approval-responded';
      answers.push({ approvalId, approved, reason: typeof reason === 'string' ? reason : null, isSettled });
    } else if (typeof toolCallId === 'string' && (state === 'output-available' || state === 'output-error'))
      // A call id can come again in a later step: the last one is meant.
      outputs.set(toolCallId, state === 'output-available' ? (output ?? null) : null);
  }
  return { answers, outputs: [...outputs].map(([toolCallId, given]) => ({ toolCallId, output: given })) };
}
