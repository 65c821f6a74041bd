// Sessions as their principal manages them: lists, deletion, shares.

import type { HarnessId, RunId, SessionId, ShareId } from '../core/ids.ts';
import type { Message } from '../core/transcript.ts';
import type { RunRecord, SessionRecord } from './store.ts';
import type { Todo } from '../core/run-event.ts';

/** The conversation that a session begins with, as its model reads it, and the task list that was left. */
export interface SessionHistory {
  readonly messages: readonly Message[];
  /** Null: there never was one (E-642). */
  readonly todos: readonly Todo[] | null;
}

export interface SessionFilter {
  readonly principal: string;
  readonly harnessId?: HarnessId;
  /** Those that come after this place: newest `updatedAtMs` first, ties by id (UD-51). */
  readonly after?: Pick<SessionRecord, 'updatedAtMs' | 'sessionId'>;
  readonly limit: number;
}

/** A published session (U-380). */
export interface ShareRecord {
  readonly shareId: ShareId;
  readonly sessionId: SessionId;
  /** 256 random bits, base64url: who has it may look. */
  readonly secret: string;
  readonly createdAtMs: number;
}

export interface SessionStore {
  /** Live sessions: neither expired nor deleted, nor of a run that works for another one. */
  sessions(filter: SessionFilter): Promise<readonly SessionRecord[]>;
  /** A person's own title. False: there is no such session, or it has expired. It moves no session in the lists. */
  renameSession(sessionId: SessionId, title: string): Promise<boolean>;
  /**
   * Removes what a session holds, that of runs which worked for its own included: events, responses, approvals, rules, queue,
   * files, contents, shares. Its runs stay as deleted, as long as their idempotency keys answer for them. False: there is none.
   * None of them may be at work.
   */
  deleteSession(sessionId: SessionId): Promise<boolean>;
  /** Its runs and all that worked for them, at any depth and in the order they began; of a deleted session too. */
  familyOf(sessionId: SessionId): Promise<readonly Pick<RunRecord, 'runId' | 'sessionId' | 'status'>[]>;
  /** Whether it was there, and was deleted: of one that never was nothing is known. */
  isSessionDeleted(sessionId: SessionId): Promise<boolean>;
  /** The responses of a session that can be read, oldest first; those behind turn `after`, if that is given. */
  responsesOfSession(
    sessionId: SessionId,
    page?: { readonly after: number; readonly limit: number },
  ): Promise<readonly RunId[]>;
  /** The share of a session that holds now. */
  share(sessionId: SessionId): Promise<ShareRecord | null>;
  shareBySecret(secret: string): Promise<ShareRecord | null>;
  /** The one that there is already, else this one; null: the session has been deleted or has expired meanwhile. */
  putShare(share: ShareRecord): Promise<ShareRecord | null>;
  /** Every link that was ever made for the session is dead from then on (U-384). False: there was none. */
  revokeShare(sessionId: SessionId): Promise<boolean>;
}
