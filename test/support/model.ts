// A model provider on loopback whose replies follow from what was asked, so that many tasks can share it.

import {
  startModelServer,
  type ModelServer,
  type RecordedRequest,
} from '../../src/testing/model-servers/model-server.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { ReplyPiece, ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';

/** By the text of the last user message: the reply to it, then those to its tool results, one a round; the last one stays. */
export type Replies = Readonly<Record<string, readonly ScriptedReply[]>>;

export interface TestModel extends AsyncDisposable {
  readonly server: ModelServer;
  /** What makes a server of ours use it. */
  readonly env: Readonly<Record<string, string>>;
  readonly settings: { readonly models: { readonly default: string } };
  /** Requests whose last user message is this text. */
  asked(text: string): readonly RecordedRequest[];
}

/** An OpenAI-compatible model `m`. A reply's pauses last until the gate is open. */
export async function startModel(
  replies: (asked: string) => Replies[string] | undefined,
  gate: Clock = createGate(),
): Promise<TestModel> {
  const server = await startModelServer(
    'openai-chat',
    (request) => {
      const { text, round } = positionOf(request);
      const script = replies(text) ?? [say(`You said: ${text}`)];
      return script[Math.min(round, script.length - 1)] ?? say('');
    },
    { clock: gate },
  );
  return {
    server,
    env: { OPENAI_COMPATIBLE_BASE_URL: server.baseURL },
    settings: { models: { default: 'openai-compatible/m' } },
    asked: (text) => server.requests.filter((request) => positionOf(request).text === text),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly { readonly text?: string }[] | null;
}

function positionOf({ body }: RecordedRequest): { readonly text: string; readonly round: number } {
  const messages = (body['messages'] ?? []) as unknown as readonly ChatMessage[];
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const content = messages[last]?.content ?? '';
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return { text, round: messages.slice(last).filter(({ role }) => role === 'assistant').length };
}

/** A clock that stands still until it is opened; then every wait is over at once. */
export interface Gate extends Clock {
  open(): void;
}

export function createGate(): Gate {
  const waiting = new Set<() => void>();
  let isOpen = false;
  return {
    now: () => 0,
    timer(_ms, callback) {
      if (isOpen) setImmediate(callback);
      else waiting.add(callback);
      return () => void waiting.delete(callback);
    },
    open() {
      isOpen = true;
      for (const callback of waiting) callback();
      waiting.clear();
    },
  };
}

/** Waits for the gate. */
export const hold: ReplyPiece = { kind: 'pause', ms: 1 };
export const text = (...chunks: string[]): ReplyPiece => ({ kind: 'text', chunks });
export const call = (id: string, name: string, input: object): ReplyPiece => {
  const json = JSON.stringify(input);
  const middle = Math.floor(json.length / 2);
  return { kind: 'tool-call', id, name, arguments: [json.slice(0, middle), json.slice(middle)] };
};
export const reply = (...pieces: ReplyPiece[]): ScriptedReply => ({
  pieces,
  usage: { inputTokens: 7, outputTokens: 10 },
});
export const say = (...chunks: string[]): ScriptedReply => reply(text(...chunks));
