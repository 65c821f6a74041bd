import type { JsonValue } from '../../core/json.ts';
import type { Usage } from '../../core/usage.ts';
import type { NativeEnd, NativeFact, UseKind } from '../foreign/native-fact.ts';

export interface V1Call {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** The runtime leaves it to its host. */
  readonly isHosted: boolean;
}

/** What is known of a turn between two of its parts. */
export interface V1State {
  /** A reply whose step has not ended: `open` until it is taken for whole. */
  readonly step: 'none' | 'open' | 'accepted';
  /** Of the present step. */
  readonly calls: number;
  readonly unanswered: ReadonlySet<string>;
  readonly isStreaming: ReadonlySet<string>;
  /** Whole calls that are not yet said to run: another one of their reply is still being written. */
  readonly ready: readonly V1Call[];
  /** Of the whole turn. */
  readonly known: ReadonlyMap<string, V1Call>;
  readonly model: string | null;
  readonly hasUsage: boolean;
  /** Seen by the relay and of no step yet; it knows better than the runtime (H-031). */
  readonly relayed: Usage | null;
  /** The newest total of the session, as the runtime counts it; null: not known. */
  readonly total: Usage | null;
  /** What the turn has come to; nothing counts after that. */
  readonly end: NativeEnd | null;
}

export const turnBegun: Omit<V1State, 'total'> = {
  step: 'none',
  calls: 0,
  unanswered: new Set(),
  isStreaming: new Set(),
  ready: [],
  known: new Map(),
  model: null,
  hasUsage: false,
  relayed: null,
  end: null,
};

/** Of the runtime and the session; the same for all parts. */
export interface V1Setting {
  readonly label: string;
  /** As the provider names it. */
  readonly model: string;
  readonly workspace: string;
  /** Whether it asks before some of its calls: those that it does not ask about are known to have run by their results. */
  readonly mayAsk: boolean;
  useKindOf(toolName: string): UseKind | undefined;
}

export type Reduced = readonly [V1State, readonly NativeFact[]];
