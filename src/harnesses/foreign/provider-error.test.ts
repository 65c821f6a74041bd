import { expect, test } from 'vitest';
import { providerError } from './provider-error.ts';

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
