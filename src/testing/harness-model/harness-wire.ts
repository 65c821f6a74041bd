import type { Beat } from '../model-servers/reply-script.ts';
import type { Conversation, OfferedTool } from './conversation.ts';

/** What the model says in one reply, before a wire gives it a form. */
export interface ModelReply {
  /** Unlike that of any other reply: runtimes join what has the same id. */
  readonly id: string;
  readonly model: string;
  readonly thinking: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly ModelCall[];
  readonly finish: 'stop' | 'tool-calls' | 'length';
}

export interface ModelCall {
  readonly id: string;
  readonly tool: OfferedTool;
  /** JSON text, of a custom tool free text. */
  readonly input: string;
}

/** How one provider's protocol asks and is answered. */
export interface HarnessWire {
  /** @throws ZodError  The body is no request of this wire. */
  read(body: unknown): Conversation;
  /** The streamed reply, one server-sent event a beat. */
  beats(reply: ModelReply): readonly Beat<string>[];
  /** The body of a reply that is not streamed. */
  whole(reply: ModelReply): object;
  /** The body of a refused request. */
  errorBody(status: number, message: string): object;
}

/** Every reply costs the same, so that sums can be proven (H-963). */
export const replyUsage = { input: 11, output: 7, total: 18 };
