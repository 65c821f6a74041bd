// Chats over HTTP, as `useChat` and its `DefaultChatTransport` ask for them (P-083). Whoever reads is an observer: nothing here
// ends a turn but the stop.

import { answerChat } from '../../tasks/answer-chat.ts';
import { createInTurn } from '../../core/in-turn.ts';
import { encodeComment } from '../../protocol/sse.ts';
import { encodeUiChunk, uiStreamEnd, uiStreamHeader } from '../../protocol/ui/encode-chunk.ts';
import { endsMessage, type UiChunk, type UiForm } from '../../protocol/ui/chunk.ts';
import { findLiveTurn, readChat } from '../../tasks/read-chat.ts';
import { flagOf, pageOf, wordOf } from '../request-fields.ts';
import { followChat, type ChatPlace } from '../../tasks/follow-chat.ts';
import { parseChatRequest, type ChatRequest } from '../../protocol/ui/chat-request.ts';
import { redoChatTurn, startChatTurn } from '../../tasks/start-chat-turn.ts';
import { stopChat } from '../../tasks/stop-chat.ts';
import { idOf, type Call, type Route } from '../route.ts';
import type { Asker } from '../../tasks/decide-as.ts';
import type { SendStream } from '../send-stream.ts';
import type { Services } from '../../tasks/services.ts';
import type { SseBatch } from '../sse-writer.ts';

export function chatRoutes(services: Services, sendStream: SendStream, base = '/api/chat'): readonly Route[] {
  const stream = createChatStream(services, sendStream);
  // What two pages say of one chat at once is judged one after the other.
  const inTurn = createInTurn();
  return [
    {
      path: base,
      dialect: 'chat',
      verbs: {
        POST: {
          scope: 'tasks',
          async handle(call) {
            const request = parseChatRequest(call.request.body);
            const { principal, keyId } = call.caller;
            const asker = { principal, keyId, requestId: call.request.id };
            const key = JSON.stringify([principal, request.chatId]);
            return stream(call, request.form, await inTurn(key, () => placeOf(services, asker, request)));
          },
        },
      },
    },
    {
      path: `${base}/:id/stream`,
      dialect: 'chat',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const form = formOf(call);
            const place = await findLiveTurn(services, call.caller.principal, idOf(call));
            return place === null ? call.reply.code(204).send() : stream(call, form, place);
          },
        },
      },
    },
    {
      path: `${base}/:id/stop`,
      dialect: 'chat',
      verbs: {
        POST: {
          scope: 'tasks',
          handle: async (call) => ({ stopped: await stopChat(services, call.caller.principal, idOf(call)) }),
        },
      },
    },
    {
      path: `${base}/:id/messages`,
      dialect: 'chat',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const asked = { chatId: idOf(call), ...pageOf(call, 100) };
            const { messages, next } = await readChat(services, call.caller.principal, asked);
            return { messages, next_cursor: next };
          },
        },
      },
    },
  ];
}

function placeOf(services: Services, asker: Asker, { turn, ...request }: ChatRequest): Promise<ChatPlace> {
  switch (turn.is) {
    case 'message':
      return startChatTurn(services, asker, { ...request, ...turn });
    case 'redo':
      return redoChatTurn(services, asker, { ...request, ...turn });
    case 'answers':
      return answerChat(services, asker, { ...request, ...turn });
  }
}

function formOf(call: Call): UiForm {
  const chunks = wordOf(call, 'chunks', ['6', '7']);
  return { chunks: chunks === '6' ? 6 : 7, sendReasoning: flagOf(call, 'sendReasoning') ?? true };
}

const comment = encodeComment('ping');

function createChatStream(services: Services, sendStream: SendStream) {
  return (call: Call, form: UiForm, place: ChatPlace): Promise<void> => {
    call.reply.raw.setHeader(...uiStreamHeader);
    const open = (signal: AbortSignal) => followChat(services, place, { form, signal, errorId: call.request.id });
    return sendStream(call, (signal) => encoded(open(signal)), { comment });
  };
}

async function* encoded(batches: AsyncIterable<readonly UiChunk[]>): AsyncGenerator<SseBatch> {
  for await (const chunks of batches) {
    const text = chunks.map(encodeUiChunk).join('');
    yield { text: chunks.some(endsMessage) ? text + uiStreamEnd : text };
  }
}
