import type { ErrorInfo, ModelRef, StopReason } from '../core/outcome.ts';
import type { FailureClass } from '../core/provider-failure.ts';
import type { ReplyPart, ResetReason, ToolCall } from '../core/run-event.ts';
import type { Usage } from '../core/usage.ts';

/** A reply that ended with the provider's own end mark. */
export interface ModelReply {
  readonly text: string;
  readonly thinking: string;
  readonly parts: readonly ReplyPart[];
  readonly calls: readonly ToolCall[];
  readonly finishReason: StopReason;
  readonly rawFinishReason: string | null;
  readonly usage: Usage | null;
  readonly served: ModelRef | null;
}

export interface ModelFailure {
  readonly class: FailureClass;
  readonly reason: ResetReason;
  readonly error: ErrorInfo;
  readonly retryAfterMs: number | null;
  /**
   * Another member of the chain takes the next attempt at once, whatever this one's class and however long it asked to be
   * left alone (E-202).
   */
  readonly retryAtOnce: boolean;
  /** Output tokens that the provider says a reply of this model can have; only where that was the fault (E-211). */
  readonly statedReplyLimit: number | null;
  readonly usage: Usage | null;
  /** In the provider's and its client's own words: for the operator's log, never for an event. */
  readonly detail: string;
}

/** What became of one attempt at a reply; `stopped`: the turn's signal aborted. */
export type ModelOutcome =
  | { readonly type: 'reply'; readonly reply: ModelReply }
  | { readonly type: 'failed'; readonly failure: ModelFailure }
  | { readonly type: 'stopped' };
