// All that the page knows. Plain data, never changed in place: what did not change is the same object as before, so a view that
// compares by identity draws only what is new.

import type { Approval, Harness, ModelCatalog, SessionShare, UhpFile, UhpSession, Spent } from './wire.ts';
import type { Row, TurnId } from './row.ts';
import type { Todos } from './turn-event.ts';
import type { Transport, Turn, TurnDetails } from './turn.ts';

export interface ConsoleState {
  readonly phase: Phase;
  readonly network: 'online' | 'offline';
  readonly session: OpenSession;
  /** The newest 2,048, or an older stretch where a person asked for it (C-038). */
  readonly rows: readonly Row[];
  readonly earlier: Earlier;
  /** The newest rows, where `rows` are older ones; the next message returns to them. Null: `rows` are the newest. */
  readonly newest: readonly Row[] | null;
  /** Of turns that were begun in this page; the others bear the response's id. */
  readonly responses: ReadonlyMap<TurnId, string>;
  /** Rows that a person opened or closed; a choice wins over what would be (C-026). In memory only. */
  readonly opened: ReadonlyMap<string, boolean>;
  /** Undecided ones first come first; decided ones stay readable (C-051). */
  readonly approvals: readonly ApprovalCard[];
  readonly todos: Todos | null;
  readonly files: readonly UhpFile[];
  readonly queue: Queue;
  readonly composer: Composer;
  /** Of the last turn that ended. */
  readonly lastTurn: EndedTurn | null;
  /** By all turns of the session that have ended. */
  readonly spent: Spent;
  readonly share: Share;
  readonly sessions: SessionList;
  readonly catalogue: Catalogue;
  readonly preferences: Preferences;
  readonly overlay: Overlay | null;
  /** Shown until dismissed; newest last. */
  readonly notices: readonly Notice[];
  /** Of the last tick; for what is shown in seconds. */
  readonly nowMs: number;
}

/** Every end of a turn leads to `ready` (C-010). */
export type Phase =
  | { readonly name: 'boot' | 'ready' }
  | { readonly name: 'busy'; readonly turn: Turn }
  | { readonly name: 'stopping'; readonly turn: Turn; readonly sinceMs: number };

/** The conversation that is open. */
export type OpenSession =
  | { readonly kind: 'new' }
  | { readonly kind: 'loading'; readonly id: string }
  | {
      readonly kind: 'open';
      readonly id: string;
      readonly title: string;
      /** What the next message continues; null: nothing. */
      readonly tip: string | null;
      /** Whether its task was let come to rest; `unsure`: it was, and something was heard of it since, so it is asked. */
      readonly paused: 'no' | 'yes' | 'unsure';
    }
  | { readonly kind: 'missing'; readonly id: string; readonly message: string };

/** What lies before the first row. */
export type Earlier = 'none' | 'more' | 'loading';

export interface ApprovalCard {
  readonly approval: Approval;
  readonly answer: AnswerState;
}

export type AnswerState =
  | { readonly kind: 'none' }
  | { readonly kind: 'sending' }
  /** Another decision was stored before: `approval` has it. */
  | { readonly kind: 'conflict' }
  /** No longer pending: `approval.status` says why. */
  | { readonly kind: 'closed' }
  /** Put away; the server's list does not bring it back. */
  | { readonly kind: 'dismissed' }
  | { readonly kind: 'failed'; readonly message: string };

/** Messages that wait, in order (C-045). */
export interface Queue {
  readonly chips: readonly Chip[];
  /** After Stop or an error it rests until the person sends again. */
  readonly resting: boolean;
}

export interface Chip {
  /** Under which the server takes it once. */
  readonly id: string;
  readonly text: string;
  /** Files that go with it. */
  readonly attachments: readonly string[];
  /** `steering`: the running task has it; no longer to be edited. */
  readonly state: 'waiting' | 'steering';
}

export interface Composer {
  readonly draft: string;
  /** Chosen for the next turn; null: the server's own. */
  readonly model: string | null;
  readonly harness: string | null;
  readonly cwd: string | null;
  /** The next message begins a new session instead; null: it goes on with this one. */
  readonly fork: Fork | null;
  readonly attachments: readonly Attachment[];
}

/** `start`: with nothing before it. */
export type Fork = { readonly kind: 'start' } | { readonly kind: 'after'; readonly responseId: string };

export type Attachment =
  | { readonly kind: 'uploading'; readonly id: string; readonly name: string }
  | { readonly kind: 'ready'; readonly id: string; readonly name: string; readonly fileId: string }
  | { readonly kind: 'failed'; readonly id: string; readonly name: string; readonly message: string };

export interface EndedTurn {
  readonly id: TurnId;
  readonly responseId: string | null;
  readonly details: TurnDetails;
  readonly spent: Spent;
  /** Null: it is not told. */
  readonly tookMs: number | null;
}

export type Share =
  | { readonly kind: 'unknown' | 'asking' | 'off' }
  | { readonly kind: 'on'; readonly share: SessionShare };

/** Newest first (C-054). */
export interface SessionList {
  readonly items: readonly UhpSession[];
  /** Null: all are here. */
  readonly next: string | null;
  readonly loading: boolean;
  /** As typed; the list is filtered by `applied`, which follows 200 ms later. */
  readonly query: string;
  readonly applied: string;
  readonly highlighted: string | null;
}

export interface Catalogue {
  readonly models: ModelCatalog | null;
  readonly harnesses: readonly Harness[];
  readonly steering: boolean;
}

export interface Preferences {
  readonly transport: Transport;
  /** `newline`: Enter makes a line, Shift+Enter sends. */
  readonly enter: 'send' | 'newline';
  readonly theme: 'system' | 'light' | 'dark';
}

export type Overlay =
  /** These stand where they belong; the others are dialogs. */
  { readonly kind: 'search' } | { readonly kind: 'picker' } | DialogOverlay;

export type DialogOverlay =
  | { readonly kind: 'share' | 'help' | 'turn-details' }
  | { readonly kind: 'preview'; readonly fileId: string }
  | { readonly kind: 'delete-session'; readonly sessionId: string };

export interface Notice {
  readonly id: string;
  readonly text: string;
}

export const initialState: ConsoleState = {
  phase: { name: 'boot' },
  network: 'online',
  session: { kind: 'new' },
  rows: [],
  earlier: 'none',
  newest: null,
  responses: new Map(),
  opened: new Map(),
  approvals: [],
  todos: null,
  files: [],
  queue: { chips: [], resting: false },
  composer: { draft: '', model: null, harness: null, cwd: null, fork: null, attachments: [] },
  lastTurn: null,
  spent: {},
  share: { kind: 'unknown' },
  sessions: { items: [], next: null, loading: false, query: '', applied: '', highlighted: null },
  catalogue: { models: null, harnesses: [], steering: false },
  preferences: { transport: 'task', enter: 'send', theme: 'system' },
  overlay: null,
  notices: [],
  nowMs: 0,
};

export function turnOf({ phase }: Pick<ConsoleState, 'phase'>): Turn | null {
  return phase.name === 'busy' || phase.name === 'stopping' ? phase.turn : null;
}

export function sessionIdOf({ session }: Pick<ConsoleState, 'session'>): string | null {
  return session.kind === 'new' ? null : session.id;
}
