import { RequestError } from '../../core/errors.ts';

/** A request to `/api/agent` that is refused before its turn begins: a status and one sentence, always as JSON. */
export class AgentRefusal extends RequestError {
  constructor(status: number, message: string) {
    super({ status, errorType: 'invalid_request_error', code: 'invalid_input', message });
  }
}

/** What this path says in the place of the protocol's own words. */
const sentences: Readonly<Record<number, string>> = {
  401: 'Not authenticated.',
  405: 'Use POST.',
  413: 'The body is too large.',
  429: 'Too many runs.',
};

/** Body of every answer of this path that is no success. */
export function agentRefusalBody(
  { status, message }: Pick<RequestError, 'status' | 'message'>,
  requestId: string,
): { readonly error: string } {
  return { error: status === 500 ? `Internal error (${requestId}).` : (sentences[status] ?? message) };
}
