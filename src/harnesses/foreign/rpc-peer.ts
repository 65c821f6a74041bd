// JSON-RPC over the lines of a process, both ways: for Codex, whose messages lack the `jsonrpc` field, and for ACP agents.
//
// J1. Every request that comes gets an answer: a result, or an error for a method that is not known here (H-044).
// J2. When the process is gone, what waits for an answer is rejected.

import { createPendingAnswers } from './pending-answers.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { numberOf, objectOf, textOf } from './fields.ts';
import { ReinsError } from '../../core/errors.ts';

export class RpcError extends ReinsError {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface RpcPeer {
  /** @throws RpcError  The other side refused. @throws ReinsError  It is gone. */
  request(method: string, params: JsonObject): Promise<JsonValue>;
  notify(method: string, params: JsonObject): void;
  answer(id: string | number, result: JsonValue): void;
  /** A value that came. */
  receive(value: JsonValue): void;
  /** The other side is gone. */
  close(why: string): void;
}

export interface RpcRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcHandlers {
  /** Either answers the id, now or later, or gives false: then the request is refused as unknown. */
  readonly onRequest: (request: RpcRequest) => boolean;
  readonly onNotification: (method: string, params: JsonObject) => void;
  readonly send: (value: JsonObject) => void;
  /** Adds the field that the protocol asks for. */
  readonly version?: '2.0';
}

const methodNotFound = -32_601;

export function createRpcPeer({ onRequest, onNotification, send, version }: RpcHandlers): RpcPeer {
  const pending = createPendingAnswers<JsonValue>();
  const head = version === undefined ? {} : { jsonrpc: version };
  const settle = ({ id, result, error }: JsonObject) => {
    const call = pending.take(id);
    if (!isJsonObject(error)) return call?.resolve(result ?? null);
    call?.reject(new RpcError(numberOf(error['code']) ?? 0, textOf(error['message'])));
  };
  const refuse = (id: RpcRequest['id'], message: string) =>
    send({ ...head, id, error: { code: methodNotFound, message } });
  return {
    request: (method, params) => pending.ask((id) => send({ ...head, id, method, params })),
    notify: (method, params) => send({ ...head, method, params }),
    answer: (id, result) => send({ ...head, id, result }),
    receive(value) {
      if (!isJsonObject(value)) return;
      const { id, method } = value;
      if (typeof method !== 'string') return settle(value);
      const params = objectOf(value['params']);
      if (typeof id !== 'number' && typeof id !== 'string') return onNotification(method, params);
      if (!onRequest({ id, method, params })) refuse(id, `There is no method ${method} here.`);
    },
    close: (why) => pending.close(why),
  };
}
