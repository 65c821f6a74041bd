import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';
import type { Usage } from '../../core/usage.ts';

export interface AcpState {
  /** Of the present reply. `lost`: it was given up, and comes again. */
  readonly reply: 'none' | 'coming' | 'lost' | 'accepted';
  /** The text block that is being written: its number, its kind, and the message that it is of. */
  readonly block: { readonly number: number; readonly kind: 'text' | 'thinking' | null; readonly messageId: string };
  readonly calls: Readonly<Record<string, CallSeen>>;
  /** By call: what asks for it before its arguments are told. */
  readonly held: Readonly<Record<string, Permission>>;
  /** Prompts that are not answered yet; a steer is one, too. */
  readonly openPrompts: number;
  /** Of the newest request that passed the relay. */
  readonly seen: Seen;
  /** Of the newest that offered no tools: a title or a summary, or all there is of an agent that has none. */
  readonly aside: Seen;
  /** Of replies that no step has taken yet. */
  readonly usage: Usage | null;
  /** A reply was accepted before its usage was known. */
  readonly owesUsage: boolean;
  /** A call was refused, and the agent has said nothing since. */
  readonly isRefused: boolean;
  readonly isInterrupted: boolean;
  readonly isOver: boolean;
}

export interface CallSeen {
  readonly name: string;
  /** Undefined: its arguments are not told yet. */
  readonly input: JsonValue | undefined;
  /** Whether its reply is the present one. */
  readonly isNew: boolean;
  readonly isRunning: boolean;
  readonly isOver: boolean;
  readonly output: string;
}

export interface Seen {
  /** Of the reply; others, such as for a title, go on beside it. */
  readonly request: number;
  /** Whether it was asked for in this turn. */
  readonly isAsked: boolean;
  readonly model: string | null;
  readonly status: number | null;
  readonly how: 'whole' | 'cut' | 'aborted' | 'refused' | null;
  readonly finishReason: string | null;
  /** Calls in the reply; 0 also where nobody counted. */
  readonly calls: number;
  readonly error: Extract<RelayFact, { at: 'ended' }>['error'];
}

export interface Permission {
  readonly from: 'permission';
  readonly request: string;
  readonly call: JsonObject;
  readonly bySubAgent: boolean;
}

export type AcpNative =
  | { readonly from: 'update'; readonly update: JsonObject }
  | Permission
  /** Our answer to a permission. */
  | { readonly from: 'refusal' }
  | { readonly from: 'prompted' }
  | { readonly from: 'answer'; readonly result: JsonObject }
  | { readonly from: 'fault'; readonly code: number; readonly message: string }
  | { readonly from: 'interrupt' }
  | { readonly from: 'relay'; readonly fact: RelayFact };

export type Reduced = readonly [AcpState, readonly NativeFact[]];

export const nothingSeen: Seen = {
  request: 0,
  isAsked: false,
  model: null,
  status: null,
  how: null,
  finishReason: null,
  calls: 0,
  error: null,
};

/** A prompt is about to be sent. */
export const turnBegun: AcpState = {
  reply: 'none',
  block: { number: 0, kind: null, messageId: '' },
  calls: {},
  held: {},
  openPrompts: 0,
  seen: nothingSeen,
  aside: nothingSeen,
  usage: null,
  owesUsage: false,
  isRefused: false,
  isInterrupted: false,
  isOver: false,
};

export const idle: AcpState = { ...turnBegun, isOver: true };
