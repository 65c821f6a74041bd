import type { Approval, Harness, ModelCatalog, SessionShare, Spent, UhpFile, UhpResponse, UhpSession } from './wire.ts';
import type { Attachment, Chip, Composer, Overlay, Preferences } from './state.ts';
import type { Row, TurnId } from './row.ts';
import type { StoredTurn } from './stored-turn.ts';
import type { TurnEvent } from './turn-event.ts';
import type { Verdict } from './effect.ts';

/** What happened, and when. Time and chance come in here and nowhere else (C-003). */
export type Action = ActionBody & { readonly atMs: number };

export type ActionBody = PersonAction | TurnAction | SessionAction | PageAction;

/** What a person does. */
export type PersonAction =
  | { readonly type: 'draft_changed'; readonly draft: string }
  /** `id`: new, unguessable; the message and its turn are known by it. */
  | { readonly type: 'submit'; readonly id: string }
  | { readonly type: 'stop' }
  | { readonly type: 'resume' }
  /** Without waiting for its time. */
  | { readonly type: 'reconnect_asked' }
  | { readonly type: 'chip_edited'; readonly id: string; readonly text: string }
  | { readonly type: 'chip_removed'; readonly id: string }
  /** Back into the composer, in front of what is there. */
  | { readonly type: 'chip_recalled'; readonly id: string }
  /** ↑ in an empty composer (C-070). */
  | { readonly type: 'prompt_recalled' }
  | { readonly type: 'row_toggled'; readonly row: string; readonly open: boolean }
  | { readonly type: 'load_earlier' }
  /** Back from older rows. */
  | { readonly type: 'newest_asked' }
  | { readonly type: 'verdict_given'; readonly approvalId: string; readonly verdict: Verdict }
  | { readonly type: 'approval_dismissed'; readonly approvalId: string }
  | { readonly type: 'choice_changed'; readonly choice: Partial<Pick<Composer, 'model' | 'harness' | 'cwd'>> }
  | { readonly type: 'attachment_added'; readonly id: string; readonly name: string }
  | { readonly type: 'attachment_removed'; readonly id: string }
  /** The next message begins a new session after this row's turn; of a user row: in its place, with its text to be edited. */
  | { readonly type: 'forked'; readonly row: string }
  | { readonly type: 'fork_dropped' }
  | { readonly type: 'session_opened'; readonly sessionId: string | null }
  | { readonly type: 'session_renamed'; readonly sessionId: string; readonly title: string }
  | { readonly type: 'session_delete_confirmed'; readonly sessionId: string }
  | { readonly type: 'share_asked'; readonly want: 'read' | 'on' | 'off' }
  | { readonly type: 'search_changed'; readonly query: string }
  | { readonly type: 'search_moved'; readonly by: -1 | 1 }
  | { readonly type: 'sessions_asked' }
  | { readonly type: 'overlay_opened'; readonly overlay: Overlay }
  | { readonly type: 'overlay_closed' }
  | { readonly type: 'notice_dismissed'; readonly id: string }
  | { readonly type: 'preferences_changed'; readonly change: Partial<Preferences> };

/** What is heard of a turn. */
export type TurnAction =
  /** The request leaves the page now. */
  | { readonly type: 'sent'; readonly turn: TurnId }
  /** One event of the task, with its number; or of the simple mode, without one. */
  | { readonly type: 'received'; readonly turn: TurnId; readonly from: Origin; readonly events: readonly TurnEvent[] }
  /** An answer as one piece (V19), or a refusal (V18): the turn is over. */
  | { readonly type: 'answered'; readonly turn: TurnId; readonly events: readonly TurnEvent[] }
  | { readonly type: 'refused'; readonly turn: TurnId; readonly status: number | null; readonly message: string }
  /** The browser is signed in no more: what has no name on the server was not taken in. */
  | { readonly type: 'signed_out' }
  | { readonly type: 'attached'; readonly turn: TurnId }
  /** `random`: a fraction in [0, 1). `unknown-cursor`: there is a stream, but none from there. */
  | {
      readonly type: 'stream_lost';
      readonly turn: TurnId;
      readonly why: 'broken' | 'unknown-cursor';
      readonly random: number;
    }
  /** This tab has no slot, or gave it away (C-040). */
  | { readonly type: 'poll_only'; readonly turn: TurnId }
  /** A slot is free. */
  | { readonly type: 'slot_won'; readonly turn: TurnId }
  | { readonly type: 'response_read'; readonly turn: TurnId; readonly response: UhpResponse }
  | { readonly type: 'read_failed'; readonly turn: TurnId; readonly random: number }
  | { readonly type: 'cancel_failed'; readonly turn: TurnId; readonly message: string }
  | { readonly type: 'steered'; readonly messageId: string }
  | { readonly type: 'steer_failed'; readonly messageId: string; readonly why: 'ended' | 'unsupported' | 'error' }
  | { readonly type: 'decided'; readonly approval: Approval }
  | {
      readonly type: 'decide_failed';
      readonly approvalId: string;
      readonly why: 'conflict' | 'closed' | 'error';
      readonly message: string;
      /** As it stands on the server; null: it was not told. */
      readonly approval: Approval | null;
    };

export type Origin =
  | { readonly kind: 'task'; readonly responseId: string; readonly number: number }
  | { readonly kind: 'agent' };

/** What is read from the server, or from what this browser keeps. */
export type SessionAction =
  | {
      readonly type: 'session_loaded';
      readonly session: UhpSession;
      /** The newest ones, oldest first, without the one at work. */
      readonly turns: readonly StoredTurn[];
      /** Whether older ones were left out. */
      readonly more: boolean;
      readonly running: RunningTurn | null;
      /** By all its turns. */
      readonly spent: Spent;
      readonly draft: Partial<Composer>;
      readonly chips: readonly Chip[];
    }
  /** Begun in a session elsewhere: in another tab, or by somebody else (C-040). */
  | { readonly type: 'task_found'; readonly sessionId: string; readonly running: RunningTurn }
  /** Of the simple mode. */
  | { readonly type: 'rows_restored'; readonly rows: readonly Row[]; readonly draft: Partial<Composer> }
  | { readonly type: 'session_missing'; readonly sessionId: string; readonly message: string }
  | { readonly type: 'earlier_loaded'; readonly turns: readonly StoredTurn[]; readonly more: boolean }
  | { readonly type: 'approvals_loaded'; readonly sessionId: string; readonly approvals: readonly Approval[] }
  | { readonly type: 'files_loaded'; readonly files: readonly UhpFile[] }
  | {
      readonly type: 'sessions_loaded';
      readonly sessions: readonly UhpSession[];
      readonly next: string | null;
      readonly from: string | null;
    }
  | { readonly type: 'session_seen'; readonly session: UhpSession }
  | { readonly type: 'search_settled' }
  | { readonly type: 'session_deleted'; readonly sessionId: string }
  | { readonly type: 'shared'; readonly share: SessionShare | null }
  | {
      readonly type: 'catalogue_loaded';
      readonly models: ModelCatalog | null;
      readonly harnesses: readonly Harness[];
      readonly steering: boolean;
    }
  | { readonly type: 'attachment_changed'; readonly attachment: Attachment };

/** A task that was at work when the page came. */
export interface RunningTurn {
  readonly responseId: string;
  readonly user: string;
  readonly startedMs: number;
  /** Last number that this browser had seen, for the thinking before it; -1: none. */
  readonly replayUntil: number;
}

export type PageAction =
  /** Nothing is open: a new session. */
  | {
      readonly type: 'booted';
      readonly preferences: Preferences;
      readonly draft: Partial<Composer>;
    }
  /** About once a second while something is shown in seconds. */
  | { readonly type: 'tick' }
  | { readonly type: 'network_changed'; readonly network: 'online' | 'offline' }
  /** `silentMs`: age of the last byte of the stream, a comment included (B150). */
  | { readonly type: 'became_visible'; readonly silentMs: number }
  /** A request beside the turn went wrong. */
  | { readonly type: 'failed'; readonly id: string; readonly message: string };
