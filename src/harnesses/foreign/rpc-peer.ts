// JSON-RPC over the lines of a process, both ways: for Codex, whose messages lack the `jsonrpc` field, and for ACP agents.
//
// J1. Every request that comes gets an answer: a result, or an error for a method that is not known here (H-044).
// J2. When the process is gone, what waits for an answer is rejected.

import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
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
  refuse(id: string | number, message: string): void;
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
  const waiting = new Map<number, PromiseWithResolvers<JsonValue>>();
  const head = version === undefined ? {} : { jsonrpc: version };
  let next = 1;
  let closed: string | null = null;
  const settle = ({ id, result, error }: JsonObject) => {
    if (typeof id !== 'number') return;
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined || !isJsonObject(error)) return call?.resolve(result ?? null);
    const { code, message } = error;
    call?.reject(new RpcError(typeof code === 'number' ? code : 0, typeof message === 'string' ? message : ''));
  };
  return {
    request(method, params) {
      if (closed !== null) return Promise.reject(new ReinsError(closed));
      const id = next++;
      const call = Promise.withResolvers<JsonValue>();
      waiting.set(id, call);
      send({ ...head, id, method, params });
      return call.promise;
    },
    notify: (method, params) => send({ ...head, method, params }),
    answer: (id, result) => send({ ...head, id, result }),
    refuse: (id, message) => send({ ...head, id, error: { code: methodNotFound, message } }),
    receive(value) {
      if (!isJsonObject(value)) return;
      const { id, method, params } = value;
      if (typeof method !== 'string') return settle(value);
      const given = isJsonObject(params) ? params : {};
      if (typeof id !== 'number' && typeof id !== 'string') return onNotification(method, given);
      if (!onRequest({ id, method, params: given }))
        send({ ...head, id, error: { code: methodNotFound, message: `There is no method ${method} here.` } });
    },
    close(why) {
      closed = why;
      for (const call of waiting.values()) call.reject(new ReinsError(why));
      waiting.clear();
    },
  };
}
