import { classifyFailure, type FailureClass } from '../../core/provider-failure.ts';
import { head } from '../../core/text.ts';
import type { ErrorInfo, RunErrorType } from '../../core/outcome.ts';
import { unreachedIn, type RefusalCode } from '../relay/refusals.ts';

/** What a runtime, or the relay, tells of a model call that failed. */
export interface ProviderFault {
  /** Null: not told. */
  readonly status: number | null;
  /** As the provider named it, such as `overloaded_error`. */
  readonly type: string | null;
  /** The provider's or the runtime's own words: they decide, and are shown to nobody. */
  readonly message: string;
}

const typeOf: Readonly<Record<FailureClass, RunErrorType>> = {
  transient: 'ProviderError',
  quota: 'QuotaExhaustedError',
  overflow: 'ContextOverflowError',
  'reply-limit': 'ProviderError',
  authentication: 'AuthenticationError',
  final: 'ProviderError',
};

const sentenceOf: Readonly<Record<FailureClass, string>> = {
  transient: 'could not answer now; trying again later may work',
  quota: 'refused because its quota or credit is used up',
  overflow: 'refused because the conversation is longer than its context window',
  'reply-limit': 'refused because its replies cannot be as long as was asked for',
  authentication: 'refused the configured credential',
  final: 'refused the request',
};

/** What the relay refused by itself: no provider was asked. */
const ownRefusals: Readonly<Partial<Record<string, string>>> = {
  reins_model: 'The agent asked for a model that its session may not use.',
  reins_budget: 'The agent asked for more than the budget of its task allows.',
  reins_revoked: 'The agent asked its model for more after it had been stopped.',
} satisfies Record<RefusalCode, string>;

/** Of a text that repeats the relay's: the status beside it is the relay's, too. Null: it does not. */
export function unreachedError(text: string): ErrorInfo | null {
  const unreached = unreachedIn(text);
  if (unreached === null) return null;
  return { type: 'ProviderError', message: `The model provider ${unreached}.`, retryable: true };
}

/** As the engine says it of its own model calls: of foreign words only status and type reach a caller (U-052). */
export function providerError({ status, type, message }: ProviderFault): ErrorInfo {
  const own = ownRefusals[type ?? ''];
  if (own !== undefined) return { type: 'HarnessError', message: own, retryable: false };
  const unreached = unreachedError(message);
  if (unreached !== null) return unreached;
  const failure = classifyFailure({
    message,
    ...(status === null ? { inStream: true } : { status }),
    ...(type === null ? {} : { providerType: type }),
  });
  const said = [...(status === null ? [] : [`status ${status}`]), ...(type === null ? [] : [head(type, 80)])];
  return {
    type: typeOf[failure],
    message: `The model provider ${sentenceOf[failure]}${said.length === 0 ? '' : ` (${said.join(', ')})`}.`,
    retryable: failure === 'transient',
    ...(status === null ? {} : { status }),
  };
}
