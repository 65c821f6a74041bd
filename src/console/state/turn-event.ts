import type { Approval, Spent } from './wire.ts';

/** How a turn ended (C-030). */
export type Ending =
  | { readonly kind: 'finished' | 'stopped' | 'chat-finished' | 'empty' }
  | { readonly kind: 'timed-out' | 'invalid' | 'error'; readonly detail: string };

export interface Todo {
  readonly content: string;
  readonly status: string;
}

export interface Todos {
  readonly items: readonly Todo[];
  readonly completed: number;
  readonly total: number;
  readonly current: string | null;
}

/** What happens in a turn, whatever brought it here (C-013). `index`: place in the output; null: this transport has none. */
export type TurnEvent =
  | {
      readonly type: 'created';
      readonly responseId: string;
      readonly sessionId: string | null;
      readonly model: string;
    }
  | { readonly type: 'item_added'; readonly index: number }
  | { readonly type: 'text_delta'; readonly text: string; readonly index: number | null }
  /** All that one place of the output said; fills in what its deltas left out. */
  | { readonly type: 'text_whole'; readonly text: string; readonly index: number }
  | { readonly type: 'reasoning_delta'; readonly text: string; readonly index: number | null }
  | {
      readonly type: 'tool_start';
      readonly id: string | null;
      readonly name: string;
      readonly index: number | null;
      /** JSON, as the model wrote it; absent: this transport tells none. */
      readonly input?: string;
    }
  | {
      readonly type: 'tool_result';
      readonly id: string | null;
      readonly name: string;
      readonly ok: boolean;
      readonly summary: string;
      readonly preview: string | null;
      /** Of a trace: the summary is all that is known, and stands as its detail. */
      readonly traced?: true;
    }
  /** `index` null: all since the last tool event but `kept`. */
  | {
      readonly type: 'attempt_reset';
      readonly index: number | null;
      readonly kept: string;
      readonly retryInMs: number | null;
    }
  | {
      readonly type: 'waiting';
      readonly on: 'model' | 'retry' | 'tool' | 'capacity';
      readonly seconds: number;
      readonly name: string | null;
      /** Since the newest sign that the connection lives; null: it is not told. */
      readonly heardSecondsAgo: number | null;
    }
  | { readonly type: 'todos_updated'; readonly todos: Todos }
  | { readonly type: 'approval_required' | 'recovery_required' | 'approval_decided'; readonly approval: Approval }
  | { readonly type: 'user_message'; readonly messageId: string; readonly text: string }
  | { readonly type: 'model_switched'; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly type: 'compacted'; readonly tokensBefore: number; readonly tokensAfter: number }
  | { readonly type: 'file_changed'; readonly path: string; readonly kind: string }
  | { readonly type: 'budget_reached'; readonly budget: string }
  | { readonly type: 'gap'; readonly reason: string }
  | TurnEnd;

/** The one terminal event. */
export interface TurnEnd {
  readonly type: 'ended';
  readonly ending: Ending;
  /** Empty: none, or it is not known; it wipes nothing. */
  readonly text: string;
  /** What nobody counted is absent. */
  readonly spent: Spent;
  /** Steering messages that no step read. */
  readonly undelivered: readonly string[];
  /** Of the simple mode; null: no file tool ran. */
  readonly cwd: string | null;
}
