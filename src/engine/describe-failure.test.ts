import { describe, expect, test } from 'vitest';
import { APICallError } from '@ai-sdk/provider';
import { describeFailure } from './describe-failure.ts';
import { InStreamError } from './reply-reader.ts';
import { CallTimeoutError, IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';

const model = { provider: 'anthropic', model: 'claude-sonnet-4.6' };
const call = { url: 'http://10.0.0.7/v1', requestBodyValues: { secret: 'sk-canary' } };

function refusedConnection(code: string): APICallError {
  const socket = Object.assign(new Error(`connect ${code} 10.0.0.7:443`), { code });
  return new APICallError({
    ...call,
    message: 'Cannot connect to API',
    cause: new TypeError('fetch failed', { cause: socket }),
  });
}

describe('describeFailure', () => {
  test.each([
    ['ECONNREFUSED', 'transient'],
    ['ENOTFOUND', 'final'],
  ])('an address that does not answer (%s) could not be reached; nobody refused', (code, kind) => {
    const { error, class: failureClass } = describeFailure(refusedConnection(code), model);
    expect(error.message).toBe(`The model provider could not be reached (${code}).`);
    expect(failureClass).toBe(kind);
  });

  test('U-052, U-420: what a provider answers reaches the operator, not the sentence; what was sent to it reaches nobody', () => {
    const responseBody = JSON.stringify({
      error: { type: 'api_error', message: 'internal: /srv/models at 10.0.0.7, key sk-canary' },
    });
    const thrown = new APICallError({ ...call, message: 'x', statusCode: 500, responseBody });
    const { error, detail } = describeFailure(thrown, model);
    expect(JSON.stringify(error)).not.toMatch(/10\.0\.0\.7|canary|srv/);
    expect(error).toMatchObject({ type: 'ProviderError', status: 500, retryable: true });
    expect(detail).toContain('internal: /srv/models');
    expect(detail).not.toContain('secret');
  });

  test.each([
    [new IncompleteStreamError('stalled', 'Silent.'), 'stalled'],
    [new IncompleteStreamError('incomplete', 'Cut.'), 'incomplete'],
    [new CallTimeoutError('Late.'), 'call-timeout'],
    [new MalformedReplyError('Broken.'), 'malformed-reply'],
    [new InStreamError({ type: 'overloaded_error', message: 'Overloaded' }), 'transient-error'],
    [new InStreamError(new Error('Response stream ended without a finish reason.')), 'incomplete'],
  ])('E-208: %s resets with the reason %s and is retried', (thrown, reason) => {
    expect(describeFailure(thrown, model)).toMatchObject({ class: 'transient', reason });
  });

  test('E-203: Retry-After is found on the error, in any case', () => {
    const thrown = new APICallError({
      ...call,
      message: 'busy',
      statusCode: 429,
      responseHeaders: { 'Retry-After': '3' },
    });
    expect(describeFailure(thrown, model)).toMatchObject({ class: 'transient', retryAfterMs: 3000 });
  });
});
