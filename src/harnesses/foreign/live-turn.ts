import type { GateRequest, TurnBook } from './turn-book.ts';
import type { NativeFact } from './native-fact.ts';
import type { NativeSession, NativeTurn } from './runtime.ts';
import type { RunMeter } from '../relay/run-meter.ts';

/** A native turn that is under way, kept over a park. */
export interface LiveTurn {
  readonly session: NativeSession & {
    /** No call to a model begins any more; one that is under way may end by itself, and is cut soon after (H-060). */
    cutOff(): void;
    /** Of its lease. */
    readonly meter: Pick<RunMeter, 'begin' | 'cut' | 'beyond'>;
    /** Why it has failed, where that is better known than by what it said; null: it is not. */
    whyEnded(): Promise<string | null>;
  };
  turn: NativeTurn;
  readonly book: TurnBook;
  /** Messages of people that the runtime has got. */
  readonly told: Set<string>;
  /** Facts that are waited for: what comes is nobody else's, over a park too. */
  coming: Promise<readonly NativeFact[]> | null;
  /** Gates that wait for an answer, with the approval that will give it; null: held for a pause. */
  readonly waiting: Map<string, { readonly gate: GateRequest; readonly approvalId: string | null }>;
}
