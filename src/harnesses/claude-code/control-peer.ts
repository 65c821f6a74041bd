// The two-way part of the wire: requests to the program and by it, each answered by its id.
//
// P1. Every request that comes gets an answer (H-044): hooks at once, the rest by whom it concerns, unknown kinds an error.
// P2. When the program is gone, what waits for an answer is rejected.

import { objectOf, textOf, wordOf } from '../foreign/fields.ts';
import { createPendingAnswers } from '../foreign/pending-answers.ts';
import { ReinsError } from '../../core/errors.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

export interface ControlPeer {
  /** @throws ReinsError  The program refused, or is gone. */
  request(request: JsonObject): Promise<JsonObject>;
  answer(id: string, response: JsonObject): void;
  receive(value: JsonValue): void;
  close(why: string): void;
}

export interface ControlPeerOptions {
  readonly send: (value: JsonObject) => void;
  /** All but what is answered here. */
  readonly onMessage: (message: JsonObject) => void;
}

/** Without it the program lets some calls through by rules of its own: with it, every call is asked about (H-301). */
const askAlways = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' } };

export function createControlPeer({ send, onMessage }: ControlPeerOptions): ControlPeer {
  const pending = createPendingAnswers<JsonObject>();
  const respond = (response: JsonObject) => send({ type: 'control_response', response });
  const answer = (request_id: string, response: JsonObject) => respond({ subtype: 'success', request_id, response });
  const settle = ({ request_id, subtype, response, error }: JsonObject) => {
    const call = pending.take(request_id);
    if (subtype === 'success') call?.resolve(objectOf(response));
    else call?.reject(new ReinsError(wordOf(error) ?? 'Claude Code refused a request.'));
  };
  return {
    request: (request) => pending.ask((id) => send({ type: 'control_request', request_id: `${id}`, request })),
    answer,
    receive(value) {
      const message = objectOf(value);
      if (message['type'] === 'control_response') return settle(objectOf(message['response']));
      if (message['type'] !== 'control_request') return onMessage(message);
      const { subtype } = objectOf(message['request']);
      const request_id = textOf(message['request_id']);
      if (subtype === 'hook_callback') return answer(request_id, askAlways);
      if (subtype === 'can_use_tool') return onMessage(message);
      respond({ subtype: 'error', request_id, error: `There is no ${wordOf(subtype)} here.` });
      onMessage(message);
    },
    close: (why) => pending.close(why),
  };
}
