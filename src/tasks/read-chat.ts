import { askedId, toldMessage } from './chat-turn.ts';
import { createUiView } from '../views/ui-view.ts';
import { findBegunChat, turnsOfChat } from './find-chat.ts';
import { UiMessageFold, type UiMessage } from '../views/ui-message.ts';
import { userMessageOf, userPartsOf } from '../views/ui-user-message.ts';
import { wholeItems } from './input-items.ts';
import type { ChatPlace } from './follow-chat.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** The conversation as a client would have it that had been there all along (P-083). @throws NotFoundError */
export async function readChat(services: Services, principal: string, chatId: string): Promise<readonly UiMessage[]> {
  const session = await findBegunChat(services, principal, chatId);
  const messages: UiMessage[] = [];
  for (const run of await turnsOfChat(services, session)) messages.push(...(await messagesOf(services, run)));
  return messages;
}

/** What can be watched of a chat: its message at work, from its beginning; null: nothing is at work (P-091). */
export async function findLiveTurn(services: Services, principal: string, chatId: string): Promise<ChatPlace | null> {
  const { runningRunId: runId } = await findBegunChat(services, principal, chatId);
  return runId === null ? null : { runId, message: await toldMessage(services, runId), after: 0 };
}

async function messagesOf(services: Services, run: RunRecord): Promise<readonly UiMessage[]> {
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
      if (event.type === 'run-started' && event.data.leg === 1) messages.push(await askedOf(services, event));
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

async function askedOf(services: Services, event: RunEventOf<'run-started'>): Promise<UiMessage> {
  const { input = [], task } = event.data;
  const items = await wholeItems(services, task?.inputItems ?? []);
  const parts = userPartsOf(
    input.flatMap(({ content }) => content),
    items,
  );
  return userMessageOf(askedId(event), parts);
}
