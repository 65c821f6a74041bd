// Chats as pages have them: the AI SDK's own client without a page, in the versions that we promise to serve (P-120).

import * as baseline from 'ai-baseline';
import * as newest from 'ai';
import * as six from 'ai-6';
import { key } from './uhp.ts';

export interface Part {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
  readonly data?: unknown;
}

export interface Message {
  readonly id: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
  readonly metadata?: unknown;
}

/** What all versions have in common. */
export interface Chat {
  readonly id: string;
  messages: Message[];
  readonly status: string;
  readonly error: Error | undefined;
  sendMessage(message?: { text: string; messageId?: string }, options?: { body?: object }): Promise<void>;
  regenerate(options?: { messageId?: string }): Promise<void>;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
  addToolApprovalResponse(answer: { id: string; approved: boolean; reason?: string }): PromiseLike<void>;
  addToolOutput(output: { tool: string; toolCallId: string; output: unknown }): PromiseLike<void>;
}

export interface ChatOptions {
  readonly url: string;
  readonly id: string;
  readonly token?: string;
  /** Sends answers by itself, as pages do. */
  readonly automatic?: boolean;
  readonly fetch?: typeof globalThis.fetch;
  readonly messages?: readonly Message[];
}

interface Version {
  readonly name: string;
  readonly chunks: 6 | 7;
  open(options: ChatOptions): Chat;
  /** The message that a stream makes, as it stands after each chunk. */
  read(chunks: readonly object[]): Promise<Message | undefined>;
}

/** State as a page keeps it: a copy for each change, as what is rendered must not change. */
class PlainState {
  status = 'ready';
  error: Error | undefined = undefined;
  messages: Message[];
  constructor(messages: readonly Message[] = []) {
    this.messages = [...messages];
  }
  pushMessage = (message: Message) => void (this.messages = [...this.messages, structuredClone(message)]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: Message) =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

type Sdk = typeof newest;

function versionOf(name: string, sdk: Sdk, chunks: 6 | 7): Version {
  class HeadlessChat extends sdk.AbstractChat<newest.UIMessage> {}
  return {
    name,
    chunks,
    open({ url, id, token = key, automatic = true, fetch, messages }) {
      const headers = { authorization: `Bearer ${token}` };
      const api = `${url}/api/chat`;
      const transport = new sdk.DefaultChatTransport({
        api,
        headers,
        body: { chunks },
        prepareReconnectToStreamRequest: () => ({ api: `${api}/${id}/stream?chunks=${chunks}`, headers }),
        ...(fetch === undefined ? {} : { fetch }),
      });
      const state = new PlainState(messages) as unknown as newest.ChatState<newest.UIMessage>;
      return new HeadlessChat({
        id,
        transport,
        state,
        ...(automatic
          ? {
              sendAutomaticallyWhen: (o) =>
                sdk.lastAssistantMessageIsCompleteWithApprovalResponses(o) ||
                sdk.lastAssistantMessageIsCompleteWithToolCalls(o),
            }
          : {}),
      }) as unknown as Chat;
    },
    async read(given) {
      const stream = new ReadableStream<newest.UIMessageChunk>({
        start(controller) {
          for (const chunk of given) controller.enqueue(chunk as newest.UIMessageChunk);
          controller.close();
        },
      });
      let last: newest.UIMessage | undefined;
      for await (const message of sdk.readUIMessageStream({ stream, terminateOnError: true })) last = message;
      return last;
    },
  };
}

export const versions: readonly Version[] = [
  versionOf('ai 7.0.112', baseline as unknown as Sdk, 7),
  versionOf('ai 6.0.326', six as unknown as Sdk, 6),
  versionOf('ai 7.0.173', newest, 7),
];

export function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join('');
}

export function toolsOf(message: Message | undefined): readonly Part[] {
  return (message?.parts ?? []).filter(({ type }) => type === 'dynamic-tool' || type.startsWith('tool-'));
}

/** Tools as `name state`. */
export function toolStates(message: Message | undefined): readonly string[] {
  return toolsOf(message).map(({ toolName, state }) => `${toolName} ${state}`);
}

/** A frame as it came: a chunk, or the word that ends the stream. */
export type Chunk = { readonly type: string; readonly [field: string]: unknown };

export interface RawStream {
  readonly status: number;
  readonly headers: Headers;
  /** Until the stream ends, or `fits`; then the connection is dropped. */
  read(fits?: (chunk: Chunk) => boolean): Promise<readonly Chunk[]>;
  leave(): void;
}

export async function openStream(
  url: string,
  path: string,
  { body, token = key }: { readonly body?: object; readonly token?: string } = {},
): Promise<RawStream> {
  const client = new AbortController();
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    signal: client.signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    leave: () => client.abort(),
    async read(fits = () => false) {
      const seen: Chunk[] = [];
      let text = '';
      try {
        for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += piece;
          const frames = text.split('\n\n');
          text = frames.pop() ?? '';
          for (const frame of frames) {
            if (!frame.startsWith('data: ')) continue;
            const data = frame.slice('data: '.length);
            const chunk = data === '[DONE]' ? { type: '[DONE]' } : (JSON.parse(data) as Chunk);
            seen.push(chunk);
            if (fits(chunk)) return seen;
          }
        }
        return seen;
      } finally {
        client.abort();
      }
    },
  };
}

export const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });

export async function chatCall(
  url: string,
  path: string,
  { body, method = body === undefined ? 'GET' : 'POST' }: { readonly body?: object; readonly method?: string } = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text },
  };
}

/** As the server keeps it. */
export async function stored(url: string, id: string): Promise<readonly Message[]> {
  const { body } = await chatCall(url, `/api/chat/${id}/messages`);
  return (body['messages'] ?? []) as readonly Message[];
}
