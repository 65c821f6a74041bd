import * as z from 'zod';
import { checkFields, parseBody, readBody } from './parse-body.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { parsedOrText } from '../../core/json.ts';
import { sessionIds } from '../../core/ids.ts';
import type { ContainerId, FileId, HarnessId, RunId, SessionId, ShareId } from '../../core/ids.ts';
import type { ResponseStatus, UhpCost, UhpUsage } from './response.ts';

/** U-354: snake_case, Unix seconds. */
export type UhpSession = {
  readonly id: SessionId;
  readonly object: 'session';
  readonly harness_id: HarnessId;
  readonly title: string;
  /** That of its newest response (UD-50). */
  readonly status: ResponseStatus;
  readonly created_at: number;
  readonly updated_at: number;
  /** Where it was forked from (UD-28). */
  readonly reins_forked_from?: RunId;
  /** Open approvals and questions; absent when there are none (UR-03). */
  readonly reins_pending?: number;
  /** Its task was paused, and does nothing until it is resumed. */
  readonly reins_paused?: true;
  /** It is published (U-380); told where one session is read. */
  readonly reins_shared?: true;
};

/** What was used, as far as it is known; a task tells it when it has ended. */
export type UhpSpent = {
  readonly reins_usage?: UhpUsage;
  /** Absent: the price of no model of it is known. */
  readonly reins_cost?: UhpCost;
  /** Something else was used, at a price that is not known: the cost is at least this. */
  readonly reins_cost_partial?: true;
};

/** One task of a session, to be shown (U-356). */
export type TurnItem = UhpSpent & {
  readonly id: RunId;
  readonly object: 'session.turn';
  readonly status: ResponseStatus;
  readonly created_at: number;
  /** From there to its end, waits for people and all; absent while it goes on. */
  readonly reins_took_ms?: number;
  readonly user: string;
  /** The final text; empty: there is none yet. */
  readonly assistant: string;
  readonly tools: readonly TurnTool[];
  readonly files: readonly TurnFile[];
};

export type TurnTool = { readonly call_id: string; readonly name: string; readonly arguments: string };
export type TurnFile = {
  readonly id: FileId;
  readonly container_id: ContainerId;
  readonly filename: string;
  readonly bytes: number;
};

export type SessionShare = {
  readonly id: ShareId;
  readonly object: 'session.share';
  /** Relative to the base of this API. */
  readonly url: string;
  readonly enabled: boolean;
  readonly created_at: number;
};

/** What whoever has the link may read (UD-31): arguments are strings, so that no key in them is one of this object. */
export type SharedSession = {
  readonly object: 'session.shared';
  readonly title: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly turns: readonly SharedTurn[];
  /** Null: these were the last. */
  readonly next_cursor: string | null;
};

export type SharedTurn = {
  readonly status: ResponseStatus;
  readonly created_at: number;
  readonly user: string;
  readonly assistant: string;
  readonly tools: readonly Pick<TurnTool, 'name' | 'arguments'>[];
  readonly files: readonly Pick<TurnFile, 'filename' | 'bytes'>[];
};

/** The place of a session in the list. */
export interface SessionPlace {
  readonly updatedAtMs: number;
  readonly sessionId: SessionId;
}

const place = z.tuple([z.int(), z.string()]);

/** Opaque to clients; it stays a place in the list whatever happens to the session that stood there (UD-51). */
export function encodeCursor({ updatedAtMs, sessionId }: SessionPlace): string {
  return Buffer.from(JSON.stringify([updatedAtMs, sessionId])).toString('base64url');
}

/** @throws InvalidInputError  It was not made here. */
export function decodeCursor(cursor: string): SessionPlace {
  const [updatedAtMs, name = ''] =
    place.safeParse(parsedOrText(Buffer.from(cursor, 'base64url').toString('utf8'))).data ?? [];
  const sessionId = sessionIds.parse(name);
  if (updatedAtMs !== undefined && sessionId !== undefined) {
    const made = { updatedAtMs, sessionId };
    // The decoder passes over what is no letter of its alphabet.
    if (encodeCursor(made) === cursor) return made;
  }
  throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
}

export const shareBody = z.looseObject({ enabled: z.boolean('must be true or false').nullish() });

const maxTitle = 200;

export const renameBody = z.object({
  title: z
    .string('must be a string')
    .transform((title) => title.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim())
    .pipe(z.string().min(1, 'must not be empty').max(maxTitle, `must have at most ${maxTitle} characters`)),
});

/** The title that a person gives, as one line. @throws InvalidInputError */
export function parseRename(body: unknown): string {
  return parseBody(renameBody, body).title;
}

/** Whether a session is to be published; no body means that it is (U-380). @throws InvalidInputError */
export function parseShare(body: unknown): boolean {
  if (body === undefined || body === null) return true;
  return checkFields(shareBody, readBody(body)).enabled ?? true;
}
