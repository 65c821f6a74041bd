import type { Answers, Decision, Resolution } from './wire.ts';
import type { Composer, Chip, Preferences } from './state.ts';
import type { Row, TurnId } from './row.ts';

/** A decision in the words of the verb that its kind of approval takes (UR-30). */
export type Verdict =
  | { readonly verb: 'decide'; readonly body: Decision }
  | { readonly verb: 'answer'; readonly body: Answers }
  | { readonly verb: 'resolve'; readonly body: Resolution };

/** What the page is to do. Each says which action answers it; nothing else happens outside of the reducer. */
export type Effect =
  /**
   * Starts a task under the idempotency key `turn`, with `reins_events`. Answered by `sent` right before the request leaves,
   * `received` for each event, `refused`, `stream_lost`.
   */
  | {
      readonly type: 'send';
      readonly turn: TurnId;
      readonly delayMs: number;
      readonly text: string;
      readonly attachments: readonly string[];
      /** Null: a new session. */
      readonly previousResponseId: string | null;
      readonly fork: boolean;
      readonly model: string | null;
      readonly harness: string | null;
    }
  /** `POST /api/agent` (C-036). Answered by `sent`, `received`, `answered`, `refused`, `stream_lost`. */
  | {
      readonly type: 'sendSimple';
      readonly turn: TurnId;
      readonly prompt: string;
      readonly model: string | null;
      readonly cwd: string | null;
    }
  /** Closes the request or stream of this turn; the task goes on, but in simple mode. No answer. */
  | { readonly type: 'detach'; readonly turn: TurnId }
  /** Answered by `response_read`, or `cancel_failed`. */
  | { readonly type: 'cancel'; readonly turn: TurnId; readonly responseId: string }
  /** Follows the events after `after`, when `delayMs` have passed; the old stream is closed first. Answered by `attached`, `received`, `stream_lost`, `poll_only`. */
  | {
      readonly type: 'attach';
      readonly turn: TurnId;
      readonly responseId: string;
      readonly after: number;
      readonly delayMs: number;
    }
  /** Reads the response, when `delayMs` have passed. Answered by `response_read`, or `read_failed`. */
  | { readonly type: 'reread'; readonly turn: TurnId; readonly responseId: string; readonly delayMs: number }
  /** Lets a paused task go on. Answered by `session_seen`, or `failed`. */
  | { readonly type: 'resume'; readonly sessionId: string; readonly responseId: string }
  /** Answered by `steered` or `steer_failed`. */
  | { readonly type: 'steer'; readonly responseId: string; readonly messageId: string; readonly text: string }
  /** Answered by `decided` or `decide_failed`. */
  | ({ readonly type: 'decide'; readonly approvalId: string } & Verdict)
  /** Answered by `session_loaded` or `session_missing`. */
  | { readonly type: 'loadSession'; readonly sessionId: string }
  /** Turns up to this response and with it, until they make 512 rows beside it. Answered by `earlier_loaded`. */
  | { readonly type: 'fetchEarlier'; readonly sessionId: string; readonly upTo: string }
  /** All of the session, decided ones too. Answered by `approvals_loaded`. */
  | { readonly type: 'loadApprovals'; readonly sessionId: string }
  /** Answered by `files_loaded`. */
  | { readonly type: 'loadFiles'; readonly sessionId: string }
  /** Answered by `sessions_loaded`; `cursor` null: from the newest. */
  | { readonly type: 'loadSessions'; readonly cursor: string | null }
  /** Answered by `search_settled`, when so much time has passed without another one. */
  | { readonly type: 'settleSearch'; readonly delayMs: number }
  /** The session alone, as it stands. Answered by `session_seen`. */
  | { readonly type: 'lookAtSession'; readonly sessionId: string }
  /** Answered by `session_seen`, or `failed`. */
  | { readonly type: 'renameSession'; readonly sessionId: string; readonly title: string }
  /** Answered by `session_deleted`, or `failed`. */
  | { readonly type: 'deleteSession'; readonly sessionId: string }
  /** Answered by `shared`, or `failed`. */
  | { readonly type: 'share' | 'unshare' | 'readShare'; readonly sessionId: string }
  /** Answered by `attachment_changed`. `id` is that of the paste or choice whose content the page holds. */
  | { readonly type: 'upload'; readonly id: string; readonly name: string }
  /** Puts the session in the address of the page; null: none. */
  | { readonly type: 'navigate'; readonly sessionId: string | null }
  /** `alert` for errors and approvals (C-072). */
  | { readonly type: 'announce'; readonly text: string; readonly urgency: 'status' | 'alert' }
  | {
      readonly type: 'focus';
      readonly target: { readonly kind: 'composer' } | { readonly kind: 'approval'; readonly id: string };
    }
  /** To the end, and from there on along with it (C-075). */
  | { readonly type: 'follow' }
  /** Kept per session; `sessionId` null: of the session that has no name yet. */
  | {
      readonly type: 'saveDraft';
      readonly sessionId: string | null;
      readonly draft: Pick<Composer, 'draft' | 'model' | 'harness' | 'cwd'>;
      readonly chips: readonly Chip[];
    }
  | {
      readonly type: 'savePreferences';
      readonly preferences: Preferences;
    }
  /** Of the simple mode, where the page is all that keeps it: written by `toSnapshot`. */
  | { readonly type: 'saveRows'; readonly rows: readonly Row[] };
