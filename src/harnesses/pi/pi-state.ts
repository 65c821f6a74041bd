import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';
import type { Usage } from '../../core/usage.ts';

export interface PiState {
  /** How the newest reply of the turn ended; null: none has. */
  readonly last: 'accepted' | { readonly error: ErrorInfo } | null;
  /** Ids of the present reply's calls by their place in it. */
  readonly calls: Readonly<Record<string, string>>;
  /** Requests of open gates by call. */
  readonly gates: Readonly<Record<string, string>>;
  /** Output so far of running calls. */
  readonly outputs: Readonly<Record<string, string>>;
  /** What the relay saw of the newest request. */
  readonly seen: {
    readonly request: number;
    readonly model: string | null;
    readonly usage: Usage | null;
    readonly status: number | null;
  };
  /** Whether the model of the present reply was told. */
  readonly isServedTold: boolean;
  readonly isOver: boolean;
}

export type PiNative =
  | { readonly from: 'pi'; readonly event: JsonObject }
  | { readonly from: 'relay'; readonly fact: RelayFact };

export type Reduced = readonly [PiState, readonly NativeFact[]];

export const nothingSeen = { request: 0, model: null, usage: null, status: null } as const;

export const idle: PiState = {
  last: null,
  calls: {},
  gates: {},
  outputs: {},
  seen: nothingSeen,
  isServedTold: false,
  isOver: true,
};

/** A prompt is about to be sent. */
export const turnBegun: PiState = { ...idle, isOver: false };

/** The status of the newest request where it tells of a failure. */
export const refusedBy = ({ seen: { status } }: Pick<PiState, 'seen'>): number | null =>
  status !== null && status >= 400 ? status : null;
