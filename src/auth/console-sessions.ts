// Browsers that are signed in to the console page. A session stands for one key, and its token is what the cookie holds.
//
// S1. A session may do what its key may, for as long as the key is valid: the key is looked up for each request, so a key
//     that is revoked ends all its sessions at once (U-041).
// S2. The store has hashes of tokens alone; a ticket is known to nobody but this process and whoever was shown it.
// S3. A ticket works once and for ten minutes (B127). From where it may come is the caller's to judge.

import { authenticate, type Caller } from './authenticate.ts';
import { hashKey } from './keys.ts';
import { RequestError } from '../core/errors.ts';
import type { Clock } from '../core/clock.ts';
import type { KeyId } from '../core/ids.ts';
import type { PrincipalStore } from '../stores/principal-store.ts';
import type { Random } from '../core/random.ts';

export const sessionSeconds = 2_592_000;
const ticketMs = 600_000;

/** The keys that are in force, with the operator's own. */
export type Keys = Pick<PrincipalStore, 'keyByHash' | 'key'>;

export interface ConsoleSession extends Caller {
  readonly expiresAtMs: number;
}

export interface SignedIn {
  readonly token: string;
  readonly session: ConsoleSession;
}

export interface ConsoleSessions {
  /** For one sign-in in the place of that key. */
  makeTicket(keyId: KeyId): string;
  /** @throws RequestError  401 `invalid_credential`. */
  signInByKey(key: string): Promise<SignedIn>;
  /** @throws RequestError  401 `reins_ticket_invalid`. */
  signInByTicket(ticket: string): Promise<SignedIn>;
  /** Null: none is known by this token, it has expired, or its key is no longer valid. */
  find(token: string): Promise<ConsoleSession | null>;
  signOut(token: string): Promise<void>;
}

export interface ConsoleSessionParts {
  readonly store: Pick<PrincipalStore, 'consoleSession' | 'putConsoleSession' | 'deleteConsoleSession'>;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly random: Random;
}

export function createConsoleSessions({ store, keys, clock, random }: ConsoleSessionParts): ConsoleSessions {
  const tickets = new Map<string, { readonly keyId: KeyId; readonly expiresAtMs: number }>();
  const signIn = async (holder: Caller): Promise<SignedIn> => {
    const [token, nowMs] = [random.token(), clock.now()];
    const expiresAtMs = nowMs + sessionSeconds * 1_000;
    await store.putConsoleSession({ hash: hashKey(token), keyId: holder.keyId, expiresAtMs }, nowMs);
    return { token, session: { ...holder, expiresAtMs } };
  };
  const holderOf = async (keyId: KeyId): Promise<Caller | null> => {
    const record = await keys.key(keyId);
    if (record === null || record.revokedAtMs !== null) return null;
    return { keyId, principal: record.principal, scopes: record.scopes };
  };
  return {
    makeTicket(keyId) {
      const ticket = random.token();
      for (const [hash, { expiresAtMs }] of tickets) if (expiresAtMs <= clock.now()) tickets.delete(hash);
      tickets.set(hashKey(ticket), { keyId, expiresAtMs: clock.now() + ticketMs });
      return ticket;
    },
    signInByKey: async (key) => signIn(await authenticate(keys, `Bearer ${key}`)),
    async signInByTicket(ticket) {
      const hash = hashKey(ticket);
      const known = tickets.get(hash);
      tickets.delete(hash);
      const holder = known === undefined || known.expiresAtMs <= clock.now() ? null : await holderOf(known.keyId);
      if (holder === null) throw ticketRefused();
      return signIn(holder);
    },
    async find(token) {
      const session = await store.consoleSession(hashKey(token));
      if (session === null || session.expiresAtMs <= clock.now()) return null;
      const holder = await holderOf(session.keyId);
      return holder === null ? null : { ...holder, expiresAtMs: session.expiresAtMs };
    },
    signOut: (token) => store.deleteConsoleSession(hashKey(token)),
  };
}

export function ticketRefused(): RequestError {
  return new RequestError({
    status: 401,
    errorType: 'authentication_error',
    code: 'reins_ticket_invalid',
    message:
      'This link signs in once, within 10 minutes, from the machine of the server alone: sign in with an API key instead.',
  });
}
