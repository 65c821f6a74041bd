// Commands to Pi and their responses, told apart by an id.

import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { textOf } from './fields.ts';
import { ReinsError } from '../../core/errors.ts';

/** Pi refused a command; `message` is its own sentence, for the operator. */
export class CommandRefused extends ReinsError {}

export interface PiCommands {
  /** @throws CommandRefused @throws ReinsError  Pi is gone. */
  send(type: string, fields?: JsonObject): Promise<JsonObject>;
  /** Whether the value was a response. */
  receive(value: JsonObject): boolean;
  /** Pi is gone: whoever waits is told. */
  close(why: string): void;
}

export function createPiCommands(write: (value: JsonObject) => void): PiCommands {
  const waiting = new Map<string, PromiseWithResolvers<JsonObject>>();
  let next = 1;
  let closed: string | null = null;
  return {
    send(type, fields = {}) {
      if (closed !== null) return Promise.reject(new ReinsError(closed));
      const id = `r${next++}`;
      const response = Promise.withResolvers<JsonObject>();
      waiting.set(id, response);
      write({ ...fields, id, type });
      return response.promise;
    },
    receive({ type, id, success, error, data }) {
      if (type !== 'response') return false;
      const response = waiting.get(textOf(id));
      if (response === undefined) return true;
      waiting.delete(textOf(id));
      if (success === true) response.resolve(isJsonObject(data) ? data : {});
      else response.reject(new CommandRefused(textOf(error)));
      return true;
    },
    close(why) {
      closed = why;
      for (const { reject } of waiting.values()) reject(new ReinsError(why));
      waiting.clear();
    },
  };
}
