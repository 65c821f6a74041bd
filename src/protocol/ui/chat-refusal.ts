import type { RequestError } from '../../core/errors.ts';

/** Body of every answer of the chat's paths that is no success (P-083, P-095). */
export function chatRefusalBody(
  { status, message }: Pick<RequestError, 'status' | 'message'>,
  requestId: string,
): { readonly error: string } {
  return { error: status === 500 ? `An error occurred. (${requestId})` : message };
}
