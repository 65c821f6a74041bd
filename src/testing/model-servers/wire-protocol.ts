import type { Beat, ReplyFault, ScriptedReply } from './reply-script.ts';

/** How one provider's protocol writes a reply: server-sent events as text, one frame a beat. */
export interface WireProtocol {
  /** @param model The model that the request named. */
  beats(reply: ScriptedReply, model: string): readonly Beat<string>[];
  /** An error announced inside a stream that began with 200. */
  errorEvent(fault: Extract<ReplyFault, { kind: 'error-event' }>): string;
  /** The JSON body of a refused request. */
  errorBody(fault: Extract<ReplyFault, { kind: 'status' }>): string;
}

/** An SSE frame with only a data line. */
export const dataFrame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

/** An SSE frame whose event name is the data's own type, as Anthropic and the Responses API write it. */
export const namedFrame = (type: string, rest: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
