import { listOf, numberOf, wordOf } from '../foreign/fields.ts';
import { providerError, type ProviderFault } from '../foreign/provider-error.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeEnd } from '../foreign/native-fact.ts';

/** What was heard of a failing model call before the turn ended. */
export interface HeardFaults {
  /** Of the message that the program wrote in the model's place (H-025). */
  readonly kind: string | null;
  /** By the relay, which knows the provider's own status; the program is told another where asking again is of no use. */
  readonly provider: (ProviderFault & { readonly request: number }) | null;
}

/** A `result`: success by its own mark alone, whatever its subtype says (H-101, H-300). */
export function reduceResult(result: JsonObject, heard: HeardFaults): NativeEnd {
  const reason = wordOf(result['terminal_reason']);
  if (reason?.startsWith('aborted_') === true) return { as: 'interrupted' };
  if (result['is_error'] === false && reason === 'completed')
    return result['stop_reason'] === 'refusal' ? { as: 'completed', stopReason: 'refusal' } : { as: 'completed' };
  return { as: 'failed', error: errorOf(result, reason, heard) };
}

function errorOf(result: JsonObject, reason: string | null, { kind, provider }: HeardFaults): ErrorInfo {
  const message = wordOf(result['result']) ?? listOf(result['errors']).map(wordOf).join(' ');
  const own = (type: ErrorInfo['type'], text: string): ErrorInfo => ({ type, message: text, retryable: false });
  if (kind === 'max_output_tokens')
    return own('RecoveryExhaustedError', 'The reply was cut at its token limit, and so was each that went on with it.');
  if (reason === 'prompt_too_long')
    return own('ContextOverflowError', 'The conversation is longer than the context window of the model.');
  const status = numberOf(result['api_error_status']);
  if (provider !== null) return providerError(provider);
  if (status !== null) return providerError({ status, type: wordOf(result['api_error_type']), message });
  if (kind === 'authentication_failed') return own('AuthenticationError', 'Claude Code has no credential that works.');
  if (reason === 'api_error' || reason === 'model_error')
    return { ...own('IncompleteStreamError', 'The model provider gave no whole reply.'), retryable: true };
  const word = reason ?? wordOf(result['subtype']);
  return own('HarnessError', `Claude Code ended the turn early${word === null ? '' : ` (${word})`}.`);
}
