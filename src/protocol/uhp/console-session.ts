import * as z from 'zod';
import { InvalidInputError } from '../../core/errors.ts';
import { parseBody } from './parse-body.ts';

export const signInBody = z.looseObject({
  key: z.string('must be a string').nullish(),
  ticket: z.string('must be a string').nullish(),
});

export type SignIn = { readonly by: 'key'; readonly key: string } | { readonly by: 'ticket'; readonly ticket: string };

/** @throws InvalidInputError */
export function parseSignIn(body: unknown): SignIn {
  const { key = null, ticket = null } = parseBody(signInBody, body);
  if (key !== null && ticket === null) return { by: 'key', key };
  if (ticket !== null && key === null) return { by: 'ticket', ticket };
  throw new InvalidInputError('Signing in takes a key or a ticket.');
}

export type UhpConsoleSession = {
  readonly object: 'reins.console_session';
  /** Null: this browser is not signed in. */
  readonly principal: string | null;
  readonly scopes: readonly string[];
  /** Unix seconds. */
  readonly expires_at: number | null;
};

export interface ConsoleSessionFacts {
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly expiresAtMs: number;
}

/** @param session  Null: nobody is signed in. */
export function toConsoleSession(session: ConsoleSessionFacts | null): UhpConsoleSession {
  const object = 'reins.console_session';
  if (session === null) return { object, principal: null, scopes: [], expires_at: null };
  const { principal, scopes, expiresAtMs } = session;
  return { object, principal, scopes, expires_at: Math.floor(expiresAtMs / 1_000) };
}
