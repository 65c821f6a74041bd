import * as z from 'zod';
import { checkFields, readBody } from './parse-body.ts';
import { messageId } from './message-id.ts';
import { parseInput } from './input.ts';
import type { RunId } from '../../core/ids.ts';
import type { InputPart } from '../../core/input-file.ts';

/** A message that a task at work has taken in. */
export type UhpMessage = {
  readonly id: string;
  readonly object: 'reins.message';
  readonly response_id: RunId;
};

export const steerBody = z.object({ message_id: messageId });

/** The body of UR-20. @throws InvalidInputError */
export function parseSteer(body: unknown): {
  readonly content: readonly InputPart[];
  readonly messageId: string | null;
} {
  const sent = readBody(body);
  const fields = checkFields(steerBody, sent);
  const { messages } = parseInput(sent['input'] ?? null, ['user']);
  return { content: messages.flatMap(({ content }) => content), messageId: fields.message_id ?? null };
}

export function toUhpMessage(message: { readonly messageId: string; readonly runId: RunId }): UhpMessage {
  return { id: message.messageId, object: 'reins.message', response_id: message.runId };
}
