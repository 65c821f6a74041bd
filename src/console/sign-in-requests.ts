// Who this browser is signed in as. What stands for it is a cookie that no script can read.

export interface Session {
  readonly principal: string;
  readonly scopes: readonly string[];
}

export type Credential = { readonly key: string } | { readonly ticket: string };

/** Refused, in a sentence for the person. */
export class SignInError extends Error {}

const path = '/v1/reins/console/session';

/** Null: nobody. @throws SignInError */
export function readSession(): Promise<Session | null> {
  return ask('GET');
}

/** @throws SignInError */
export async function signIn(credential: Credential): Promise<Session | null> {
  return ask('POST', credential);
}

/** @throws SignInError */
export async function signOut(): Promise<void> {
  await ask('DELETE');
}

/** The ticket of the link that a server prints; it is taken out of the address, so that no history keeps it. */
export function takeTicket(): string | null {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket');
  if (ticket !== null) history.replaceState(null, '', location.pathname + location.search);
  return ticket;
}

async function ask(method: 'GET' | 'POST' | 'DELETE', body?: Credential): Promise<Session | null> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const answer = await fetch(path, { method, ...sent }).catch(() => {
    throw new SignInError('The server cannot be reached.');
  });
  const told: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw new SignInError(messageOf(told) ?? `The server answered ${answer.status}.`);
  return sessionOf(told);
}

function sessionOf(told: unknown): Session | null {
  if (!isObject(told) || typeof told['principal'] !== 'string') return null;
  const scopes = Array.isArray(told['scopes']) ? told['scopes'].map(String) : [];
  return { principal: told['principal'], scopes };
}

function messageOf(told: unknown): string | null {
  const error = isObject(told) && isObject(told['error']) ? told['error'] : {};
  return typeof error['message'] === 'string' ? error['message'] : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
