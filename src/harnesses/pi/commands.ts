// Commands to Pi and their responses, told apart by an id.

import { createPendingAnswers } from '../foreign/pending-answers.ts';
import { objectOf, textOf } from '../foreign/fields.ts';
import { ReinsError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Pi refused a command; `message` is its own sentence, for the operator. */
export class CommandRefused extends ReinsError {}

export interface PiCommands {
  /** @throws CommandRefused @throws PeerGone */
  send(type: string, fields?: JsonObject): Promise<JsonObject>;
  /** Whether the value was a response. */
  receive(value: JsonObject): boolean;
  /** Pi is gone: whoever waits is told. */
  close(why: string): void;
}

export function createPiCommands(write: (value: JsonObject) => void): PiCommands {
  const pending = createPendingAnswers<JsonObject>();
  return {
    send: (type, fields = {}) => pending.ask((id) => write({ ...fields, id: `${id}`, type })),
    receive({ type, id, success, error, data }) {
      if (type !== 'response') return false;
      const response = pending.take(id);
      if (success === true) response?.resolve(objectOf(data));
      else response?.reject(new CommandRefused(textOf(error)));
      return true;
    },
    close: (why) => pending.close(why),
  };
}
