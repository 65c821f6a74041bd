// What a model says, told once and played in many ways: over the wires of four provider protocols (`model-server.ts`) or
// in process (`../scripted-model.ts`).

import type { JsonValue } from '../../core/json.ts';

export type ReplyPiece =
  | { readonly kind: 'text'; readonly chunks: readonly string[] }
  | { readonly kind: 'thinking'; readonly chunks: readonly string[] }
  | {
      readonly kind: 'tool-call';
      /** Null: the provider sends none. */
      readonly id: string | null;
      readonly name: string;
      /** JSON text, cut anywhere. */
      readonly arguments: readonly string[];
      /** The chat protocol's `index`, to repeat one on purpose (B077). Absent: counted from 0. */
      readonly index?: number;
    }
  /** Silence. Needs the clock of the player; without one it takes no time. */
  | { readonly kind: 'pause'; readonly ms: number };

/** How a reply goes wrong. `after` counts deltas of text, thinking and arguments; `nothing` is before the first byte of the body. */
export type ReplyFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly type?: string;
      readonly message?: string;
    }
  | {
      readonly kind: 'error-event';
      readonly after: 'nothing' | number;
      readonly type?: string;
      readonly message?: string;
    }
  /** Says nothing more until the client goes or the server closes. */
  | { readonly kind: 'stall'; readonly after: 'nothing' | number }
  /** The socket is destroyed. */
  | { readonly kind: 'cut'; readonly after: 'nothing' | number }
  /** Ends in good order, but without the protocol's own end mark. */
  | { readonly kind: 'no-end-mark'; readonly after?: number };

export type ReplyFinish = 'stop' | 'tool-calls' | 'length' | 'content-filter';

export interface ScriptedReply {
  readonly pieces?: readonly ReplyPiece[];
  /** Absent: `tool-calls` if there is a call, else `stop`. */
  readonly finish?: ReplyFinish;
  /** In process: the provider's own word for it, such as `pause_turn`. */
  readonly rawFinish?: string;
  /** Absent: the provider says nothing about usage where its protocol allows that. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** The model that the provider says has answered. Absent: the one asked for. */
  readonly modelId?: string;
  readonly fault?: ReplyFault;
  /** How the bytes of the body are cut into network chunks. Absent: one chunk a frame. */
  readonly bytes?: { readonly splitAt: number } | { readonly every: number };
}

/** One reply a request, in order; or a function of the request. A request beyond the list is answered with status 500. */
export type ReplyScript<Request> = readonly ScriptedReply[] | ((request: Request, index: number) => ScriptedReply);

const exhausted: ScriptedReply = {
  fault: {
    kind: 'status',
    status: 500,
    type: 'script_exhausted',
    message: 'The script has no reply for this request.',
  },
};

export function replyAt<Request>(script: ReplyScript<Request>, request: Request, index: number): ScriptedReply {
  return typeof script === 'function' ? script(request, index) : (script[index] ?? exhausted);
}

export function finishOf(reply: ScriptedReply): ReplyFinish {
  return reply.finish ?? (reply.pieces?.some(({ kind }) => kind === 'tool-call') ? 'tool-calls' : 'stop');
}

/** A step of a played reply, whatever it is played on. */
export type Beat<T> =
  | { readonly kind: 'start' | 'delta' | 'between' | 'end'; readonly item: T }
  | { readonly kind: 'pause'; readonly ms: number };

/** The beats before the fault; all of them when there is none or it is an HTTP status. */
export function beatsBeforeFault<T>(beats: readonly Beat<T>[], fault: ReplyFault | undefined): readonly Beat<T>[] {
  if (fault === undefined || fault.kind === 'status') return beats;
  if (fault.after === 'nothing') return [];
  const last = fault.after ?? Infinity;
  let deltas = 0;
  const stop = beats.findIndex(({ kind }) => kind === 'end' || (kind === 'delta' && ++deltas > last));
  return stop === -1 ? beats : beats.slice(0, stop);
}

export const simpleText = (...chunks: string[]): ScriptedReply => ({ pieces: [{ kind: 'text', chunks }] });
export const simpleCall = (id: string, name: string, input: JsonValue): ScriptedReply => ({
  pieces: [{ kind: 'tool-call', id, name, arguments: [JSON.stringify(input)] }],
});
/** Calls of one reply: id, name, input. */
export const simpleCalls = (...calls: readonly (readonly [string, string, JsonValue])[]): ScriptedReply => ({
  pieces: calls.map(([id, name, input]) => ({ kind: 'tool-call', id, name, arguments: [JSON.stringify(input)] })),
});
