import {
  ApprovalClosedError,
  ApprovalConflictError,
  CapabilityUnsupportedError,
  SessionBusyError,
  type RequestError,
} from '../../core/errors.ts';

/** Body of every answer of the chat's paths that is no success (P-083, P-095). */
export function chatRefusalBody(error: RequestError, requestId: string): { readonly error: string } {
  return { error: error.status === 500 ? `An error occurred. (${requestId})` : sentenceOf(error) };
}

/** A chat's client sees the sentence alone, so it names no field of the task API. */
function sentenceOf(error: RequestError): string {
  if (error instanceof SessionBusyError) return 'session is busy';
  if (error instanceof ApprovalConflictError) return 'Something else was decided before.';
  if (error instanceof ApprovalClosedError) return 'Nobody can decide this any more.';
  if (error instanceof CapabilityUnsupportedError) return `this harness ${error.what}`;
  return error.message;
}
