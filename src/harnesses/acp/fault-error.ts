import { harnessError } from '../foreign/turn-endings.ts';
import { toldFailure } from '../foreign/told-failure.ts';
import type { ErrorInfo } from '../../core/outcome.ts';

const authenticationRequired = -32_000;

/** What an error in place of an answer means, where the relay has seen nothing that would say it better (H-136). */
export function faultError(
  { code, message }: { readonly code: number; readonly message: string },
  label: string,
): ErrorInfo {
  if (code === authenticationRequired)
    return { type: 'AuthenticationError', message: `${label} has no credential for this model.`, retryable: false };
  // Some put the provider's status in place of the protocol's code, and its whole answer into the message.
  if (code >= 400 && code < 600) return toldFailure(message, code);
  return harnessError(`${label} could not go on with the turn.`);
}
