import type { BudgetReached, ResetReason, Todo, ToolOutcome } from '../../core/run-event.ts';
import type { ErrorInfo, StopReason } from '../../core/outcome.ts';
import type { JsonValue } from '../../core/json.ts';
import type { Question } from '../../core/questions.ts';
import type { Usage } from '../../core/usage.ts';

/** What kind of thing a native tool does, for permission modes; absent: nobody knows. */
export type UseKind = 'readonly' | 'edit' | 'execute' | 'network';

export interface NativeCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}

/**
 * What a runtime says, in words that all runtimes share: what a reducer makes of native events, and all that it makes. The
 * turn's book makes run events of them.
 */
export type NativeFact =
  /** A model reply begins. A second one before the first was accepted gives the first up (H-024). */
  | { readonly is: 'reply-begun' }
  /** Who answers it, by the reply itself. */
  | { readonly is: 'served'; readonly model: string }
  | { readonly is: 'text'; readonly key: string; readonly text: string }
  | { readonly is: 'thinking'; readonly key: string; readonly text: string }
  /** The block as the runtime keeps it: what of it was streamed is not shown again (H-023). */
  | { readonly is: 'text-whole'; readonly key: string; readonly text: string }
  | { readonly is: 'thinking-whole'; readonly key: string; readonly text: string }
  | { readonly is: 'call-begun'; readonly id: string; readonly name: string }
  | { readonly is: 'call-input'; readonly id: string; readonly piece: string }
  | { readonly is: 'call-whole'; readonly call: NativeCall }
  /** The runtime has taken the reply for whole (H-022). Null usage: not said, or not yet. */
  | {
      readonly is: 'reply-accepted';
      readonly finishReason: StopReason;
      readonly raw: string | null;
      readonly usage: Usage | null;
    }
  | {
      readonly is: 'reply-lost';
      readonly reason: ResetReason;
      readonly retryInMs: number;
      readonly error?: ErrorInfo;
    }
  /** Of the newest accepted reply, told later (H-031). */
  | { readonly is: 'usage'; readonly usage: Usage }
  /** May this call run? The runtime waits for the answer to `request`. */
  | {
      readonly is: 'gate';
      readonly request: string;
      readonly call: NativeCall;
      readonly useKind?: UseKind;
      /** Files that it names, absolute or from the working directory, for rules by path (E-520). */
      readonly paths?: readonly string[];
      /** A sub-agent of the runtime makes it: it is judged, and is no call of the run (H-028). */
      readonly bySubAgent?: true;
    }
  | {
      readonly is: 'question';
      readonly request: string;
      readonly call: NativeCall;
      readonly questions: readonly Question[];
    }
  /** The runtime waits for that no longer. */
  | { readonly is: 'gate-closed'; readonly request: string }
  | { readonly is: 'call-running'; readonly call: NativeCall }
  | { readonly is: 'call-output'; readonly id: string; readonly text: string }
  | {
      readonly is: 'call-ended';
      readonly id: string;
      readonly outcome: ToolOutcome;
      readonly content: string;
    }
  | { readonly is: 'todos'; readonly todos: readonly Todo[] }
  | { readonly is: 'compacted'; readonly tokensBefore: number; readonly tokensAfter: number }
  | { readonly is: 'file'; readonly kind: 'create' | 'modify' | 'delete'; readonly path: string }
  /** A text that the runtime wrote in the user's place (H-025). */
  | { readonly is: 'engine-said'; readonly text: string; readonly purpose: string }
  /** Something is missing, as `mcp:<name>` (U-112). */
  | { readonly is: 'degraded'; readonly what: string }
  /** The work goes on, and says nothing of it. */
  | { readonly is: 'progress' }
  /** The connection lives, whatever the work does: pings, heartbeats, states (H-110). */
  | { readonly is: 'alive' }
  /** Of a kind that is not known here (H-029). */
  | { readonly is: 'unknown'; readonly kind: string }
  | { readonly is: 'ended'; readonly end: NativeEnd };

export type NativeEnd =
  | { readonly as: 'completed'; readonly stopReason?: StopReason }
  | { readonly as: 'limited'; readonly stopReason: StopReason; readonly budget: BudgetReached }
  /** By an interrupt: ours, or somebody else's, which is a failure (H-067). */
  | { readonly as: 'interrupted' }
  | { readonly as: 'failed'; readonly error: ErrorInfo };
