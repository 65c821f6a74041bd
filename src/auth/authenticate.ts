import { hashKey, type Scope } from './keys.ts';
import { RequestError } from '../core/errors.ts';
import type { KeyId } from '../core/ids.ts';
import type { Store } from '../stores/store.ts';

/** Where keys are looked up. */
export type KeyStore = Pick<Store, 'keyByHash'>;

/** Who calls, as the key says. */
export interface Caller {
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly keyId: KeyId;
}

/**
 * The caller behind an `Authorization` header. Looked up for each request, so that a revoked key fails at once (U-041).
 * @throws RequestError  401 `missing_credential` or `invalid_credential`; malformed, unknown and revoked are not told apart.
 */
export async function authenticate(store: KeyStore, header: string | undefined): Promise<Caller> {
  if (header === undefined || header === '')
    throw unauthorized('missing_credential', 'This request carries no API key.');
  const key = /^bearer +([\x21-\x7e]+)$/i.exec(header)?.[1];
  // A header of another form is hashed and looked up all the same: its answer takes as long as that for an unknown key.
  const record = await store.keyByHash(hashKey(key ?? header));
  if (key === undefined || record === null || record.revokedAtMs !== null)
    throw unauthorized('invalid_credential', 'This API key is not valid here.');
  return { principal: record.principal, scopes: record.scopes, keyId: record.keyId };
}

/** @throws RequestError  403 `insufficient_scope`: the key may not do this kind of operation at all (U-045). */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return;
  throw new RequestError({
    status: 403,
    errorType: 'permission_error',
    code: 'insufficient_scope',
    message: `This API key lacks the scope '${scope}'.`,
  });
}

function unauthorized(code: 'missing_credential' | 'invalid_credential', message: string): RequestError {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  return new RequestError({ status: 401, errorType: 'authentication_error', code, message, headers });
}
