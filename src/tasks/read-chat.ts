import { askedId, turnSoFar } from './chat-turn.ts';
import { createUiView } from '../views/ui-view.ts';
import { findBegunChat, turnsOfChat } from './find-chat.ts';
import { InvalidInputError } from '../core/errors.ts';
import { UiMessageFold, type UiMessage } from '../views/ui-message.ts';
import { userMessageOf, userPartsOf } from '../views/ui-user-message.ts';
import { wholeItems } from './input-items.ts';
import type { ChatPlace } from './follow-chat.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** Of the attachments of one page, from its newest message back; of those before them the name alone is told. */
const attachedBytes = 8_388_608;

export interface ChatPage {
  readonly messages: readonly UiMessage[];
  /** Of the page before it; null: the conversation begins here. */
  readonly next: string | null;
}

/**
 * The conversation as a client would have it that had been there all along (P-083): its newest turns, or those before the cursor.
 * @throws RequestError  There is no such chat; the cursor is none of it.
 */
export async function readChat(
  services: Services,
  principal: string,
  { chatId, limit, cursor }: { readonly chatId: string; readonly limit: number; readonly cursor: string | null },
): Promise<ChatPage> {
  const turns = await turnsOfChat(services, await findBegunChat(services, principal, chatId));
  const end = cursor === null ? turns.length : turns.findIndex(({ runId }) => runId === cursor);
  if (end === -1) throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
  const page = turns.slice(Math.max(0, end - limit), end);
  const room = { left: attachedBytes };
  const messages: (readonly UiMessage[])[] = [];
  for (const run of page.toReversed()) messages.push(await messagesOf(services, run, room));
  return { messages: messages.toReversed().flat(), next: end > limit ? (page[0]?.runId ?? null) : null };
}

/** What can be watched of a chat: its message at work, from its beginning; null: nothing is at work (P-091). */
export async function findLiveTurn(services: Services, principal: string, chatId: string): Promise<ChatPlace | null> {
  const { runningRunId: runId } = await findBegunChat(services, principal, chatId);
  return runId === null ? null : { runId, message: (await turnSoFar(services, runId)).told, after: 0 };
}

async function messagesOf(services: Services, run: RunRecord, room: { left: number }): Promise<readonly UiMessage[]> {
  const messages: UiMessage[] = [];
  const view = createUiView(run.runId);
  let answer = new UiMessageFold();
  const steered: UiMessage[] = [];
  const flush = () => {
    const message = answer.message();
    if (message.parts.length > 0 || 'error' in (message.metadata ?? {})) messages.push(message);
    messages.push(...steered.splice(0));
  };
  // Of a run that has ended the facts say all; of one at work, what is shown of it as well.
  for await (const events of services.log.readAll(run.runId, run.status === 'running' ? {} : { committedOnly: true }))
    for (const event of events) {
      if (event.type === 'run-started' && event.data.leg === 1) messages.push(await askedOf(services, event, room));
      if (event.type === 'user-message' && event.data.mode === 'steer')
        steered.push(userMessageOf(event.data.messageId, userPartsOf(event.data.content)));
      const before = view.message;
      for (const chunk of view.push(event)) {
        if (chunk.type === 'start' && view.message !== before) {
          flush();
          answer = new UiMessageFold();
        }
        answer.push(chunk);
      }
    }
  flush();
  return messages;
}

async function askedOf(
  services: Services,
  event: RunEventOf<'run-started'>,
  room: { left: number },
): Promise<UiMessage> {
  const { input = [], task } = event.data;
  const items = await wholeItems(services, task?.inputItems ?? [], room);
  const parts = userPartsOf(
    input.flatMap(({ content }) => content),
    items,
  );
  return userMessageOf(askedId(event), parts);
}
