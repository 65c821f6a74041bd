import { expect, test } from 'vitest';
import { providerError } from './provider-error.ts';
import { refusalBody, refusals } from '../relay/refusals.ts';
import { toldFailure } from './told-failure.ts';

test.each(['reins_model', 'reins_budget', 'reins_revoked'])(
  'H-204: %s is a word of the relay, and no provider is blamed for it, nor quoted',
  (type) => {
    const error = providerError({ status: 400, type, message: 'overloaded private words' });
    expect(error).toMatchObject({ type: 'HarnessError', retryable: false });
    expect(error.message).toMatch(/^The agent asked/);
    expect(error.message).not.toContain('private');
  },
);

test.each([
  [401, null, '', 'AuthenticationError', false],
  [429, 'insufficient_quota', '', 'QuotaExhaustedError', false],
  [529, 'overloaded_error', '', 'ProviderError', true],
  [400, null, 'prompt is too long', 'ContextOverflowError', false],
  [null, null, 'terminated', 'ProviderError', true],
] as const)('U-052: status %s, type %s, "%s" is %s', (status, type, message, expected, retryable) => {
  const error = providerError({ status, type, message });
  expect(error).toMatchObject({ type: expected, retryable });
  expect(message === '' || !error.message.includes(message)).toBe(true);
});

test.each(['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'no connection'])(
  'U-052: a provider that was not reached (%s) is named so, whichever runtime repeats the words of the relay',
  (code) => {
    const refusal = refusals.unreachable(code);
    const { status, message } = refusal;
    const told = [
      providerError({ status, type: 'api_error', message: `API Error: 502 ${message}` }),
      providerError({ status: null, type: null, message: `terminated ${message}` }),
      ...(['anthropic', 'responses', 'google'] as const).map((wire) =>
        toldFailure(`502 ${refusalBody(wire, refusal)}`, 502),
      ),
    ];
    for (const error of told) expect(error).toEqual({ type: 'ProviderError', message, retryable: true });
  },
);
