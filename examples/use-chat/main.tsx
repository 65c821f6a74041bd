// A chat page on Reins with the AI SDK's own `useChat`: answers stream, tools show what they do, calls wait for a click, and a
// reload or a lost connection loses nothing. `npx vite examples/use-chat` beside a running server; see docs/chat.md.

import { createRoot } from 'react-dom/client';
import { useState, type FormEvent, type ReactNode } from 'react';
import { Chat, useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type DynamicToolUIPart,
  type UIMessage,
} from 'ai';

// One chat a tab. The name is ours to choose; the server keeps the conversation under it, from the first message on: only
// then it is put into the address, and only what is there is asked for.
const known = location.hash.slice(1);
const id = known || crypto.randomUUID();

/** What the server keeps of the chat; nothing yet for a new one. */
async function load(): Promise<UIMessage[]> {
  const response = await fetch(`/api/chat/${id}/messages`);
  return response.ok ? (await response.json()).messages : [];
}

function Page({ chat, isOld }: { chat: Chat<UIMessage>; isOld: boolean }): ReactNode {
  const [text, setText] = useState('');
  // Goes on with what is at work, from its beginning: nothing is lost, nothing comes twice.
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({ chat, resume: isOld });
  const isBusy = status === 'submitted' || status === 'streaming';

  async function send(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (text.trim() === '') return;
    setText('');
    location.hash = id;
    await sendMessage({ text });
  }

  return (
    <>
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            {message.parts.map((part, index) => {
              if (part.type === 'text') return <p key={index}>{part.text}</p>;
              if (part.type !== 'dynamic-tool') return null;
              return <Tool key={index} part={part} answer={addToolApprovalResponse} />;
            })}
          </li>
        ))}
      </ol>
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form onSubmit={(event) => void send(event)}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isBusy}>Send</button>
        {/* `stop` of the hook only leaves the stream: the agent would work on. */}
        <button type="button" disabled={!isBusy} onClick={() => void fetch(`/api/chat/${id}/stop`, { method: 'POST' })}>
          Stop
        </button>
        <output>{status}</output>
      </form>
    </>
  );
}

interface ToolProps {
  part: DynamicToolUIPart;
  answer: (answer: { id: string; approved: boolean }) => unknown;
}

function Tool({ part, answer }: ToolProps): ReactNode {
  const { toolName, state, input, approval } = part;
  return (
    <section data-tool={toolName}>
      <code>{`${toolName} ${JSON.stringify(input ?? {})}`}</code> <em>{state}</em>
      {state === 'approval-requested' && approval !== undefined && (
        <>
          <button onClick={() => void answer({ id: approval.id, approved: true })}>Allow</button>
          <button onClick={() => void answer({ id: approval.id, approved: false })}>Deny</button>
        </>
      )}
      {state === 'output-available' && <pre>{String(part.output)}</pre>}
      {state === 'output-error' && <pre>{part.errorText}</pre>}
    </section>
  );
}

const messages = known === '' ? [] : await load();
const chat = new Chat<UIMessage>({
  id,
  messages,
  transport: new DefaultChatTransport({
    // The server knows what was said before: the last message is enough.
    prepareSendMessagesRequest: ({ messages: all, trigger, messageId, body }) => ({
      body: { ...body, id, messages: all.slice(-1), trigger, messageId },
    }),
  }),
  // Answers go out as soon as all of a step are given.
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
});
const root = document.querySelector('#chat');
if (root !== null) createRoot(root).render(<Page chat={chat} isOld={messages.length > 0} />);
