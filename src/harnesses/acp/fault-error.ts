import { isJsonObject, parsedOrText } from '../../core/json.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { objectOf, textOf } from './fields.ts';
import { providerError } from '../foreign/provider-error.ts';
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
  const body = parsedOrText(message);
  const inner = isJsonObject(body) ? objectOf(body['error']) : {};
  if (code >= 400 && code < 600)
    return providerError({
      status: code,
      type: textOf(inner['status']) || null,
      message: textOf(inner['message']) || message,
    });
  return harnessError(`${label} could not go on with the turn.`);
}
