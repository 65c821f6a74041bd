import { noText, type MarkedText } from './marked-text.ts';
import type { Effect } from './effect.ts';
import type { TurnId } from './row.ts';

/** `task`: the durable one; `agent`: `POST /api/agent`. */
export type Transport = 'task' | 'agent';

/** Where the request of a turn is; until the server has named it, what is to be sent (again, under the same key). */
export type Request =
  | { readonly kind: 'unsent' | 'sent'; readonly effect: SendEffect }
  | { readonly kind: 'named'; readonly responseId: string };

export type SendEffect = Extract<Effect, { type: 'send' | 'sendSimple' }>;

/** How the page hears of the turn (C-039, C-040). */
export type Link =
  /** `tries`: streams in a row that broke off without an event. */
  | { readonly kind: 'opening' | 'live'; readonly tries: number }
  /** `untilMs`: when it is tried again. */
  | { readonly kind: 'lost'; readonly tries: number; readonly untilMs: number }
  /** No slot for a stream, or none to be had: the response is read again and again. */
  | { readonly kind: 'polling' }
  /** The response is being read, because an event is missing or the cursor is unknown. */
  | { readonly kind: 'rereading' };

/** What the agent does just now, for the status line. */
export type Activity =
  | { readonly kind: 'working' }
  | {
      readonly kind: 'waiting';
      readonly on: 'model' | 'tool' | 'capacity';
      readonly name: string | null;
      readonly sinceMs: number;
      /** The last that was heard of it, which is no progress; null: it is not told. */
      readonly heardMs: number | null;
    }
  | { readonly kind: 'retrying'; readonly untilMs: number | null };

/** What is told of a turn beside its rows. */
export interface TurnDetails {
  readonly model: string | null;
  /** Sentences, in order: model switched, history compacted, budget reached, gap. */
  readonly notes: readonly string[];
  /** Paths that it changed, each once. */
  readonly files: readonly string[];
  readonly calls: number;
}

/** The turn at work (C-011). What its rows hold is with the rows. */
export interface Turn {
  readonly id: TurnId;
  readonly transport: Transport;
  readonly request: Request;
  /** Number of the last event; -1 before the first. A cursor only together with the response (C-039). */
  readonly cursor: number;
  /** Events up to this number were there before the page was: their thinking is not shown (C-037). */
  readonly replayUntil: number;
  readonly link: Link;
  /** What the next delta may grow: the last row, where it is of that kind. */
  readonly open: 'assistant' | 'thinking' | 'none';
  /** White space that waits for real text (C-013). */
  readonly held: string;
  /** All answer text so far. */
  readonly said: MarkedText;
  /** Highest place of the output that is shown; -1: none. */
  readonly top: number;
  /** Where the transport has no places: number of tool events so far. */
  readonly leg: number;
  /** Rows that were ever pushed, for their ids. */
  readonly pushed: number;
  /** Places that are taken (C-037). */
  readonly places: number;
  /** Whether real text was shown. */
  readonly spoke: boolean;
  readonly activity: Activity;
  readonly details: TurnDetails;
  readonly startedMs: number;
  /** When the calls were last announced (C-072). */
  readonly toldMs: number;
}

/** A turn of which nothing was heard yet. */
export const unheard = {
  cursor: -1,
  open: 'none',
  held: '',
  said: noText,
  top: -1,
  leg: 0,
  pushed: 0,
  places: 0,
  spoke: false,
  activity: { kind: 'working' },
  details: { model: null, notes: [], files: [], calls: 0 },
} as const satisfies Partial<Turn>;

export function newTurn(facts: Pick<Turn, 'id' | 'transport' | 'request' | 'startedMs'>): Turn {
  return { ...unheard, ...facts, replayUntil: -1, link: { kind: 'opening', tries: 0 }, toldMs: -Infinity };
}

export function responseOf({ request }: Turn): string | null {
  return request.kind === 'named' ? request.responseId : null;
}
