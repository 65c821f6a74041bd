import { describe, expect, test } from 'vitest';
import { APICallError } from '@ai-sdk/provider';
import { describeFailure, nameTheWait } from './describe-failure.ts';
import { InStreamError } from './reply-reader.ts';
import { isMinuteQuota } from './models/google-minute-quota.ts';
import { CallTimeoutError, IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';

const nowMs = Date.parse('2026-11-29T12:00:00Z');
const context = { model: { provider: 'anthropic', model: 'claude-sonnet-4.6' }, nowMs };
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
    const { error, class: failureClass } = describeFailure(refusedConnection(code), context);
    expect(error.message).toBe(`The model provider could not be reached (${code}).`);
    expect(failureClass).toBe(kind);
  });

  test('U-052, U-420: what a provider answers reaches the operator, not the sentence; what was sent to it reaches nobody', () => {
    const responseBody = JSON.stringify({
      error: { type: 'api_error', message: 'internal: /srv/models at 10.0.0.7, key sk-canary' },
    });
    const thrown = new APICallError({ ...call, message: 'x', statusCode: 500, responseBody });
    const { error, detail } = describeFailure(thrown, context);
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
    expect(describeFailure(thrown, context)).toMatchObject({ class: 'transient', reason });
  });

  test.each([
    [503, 'false', 'final'],
    [400, 'true', 'transient'],
    [503, 'perhaps', 'transient'],
  ])('E-204: a %i with x-should-retry: %s is %s', (statusCode, word, kind) => {
    const thrown = new APICallError({ ...call, message: 'x', statusCode, responseHeaders: { 'X-Should-Retry': word } });
    expect(describeFailure(thrown, context).class).toBe(kind);
  });

  test('E-203: Retry-After is found on the error, in any case', () => {
    const thrown = new APICallError({
      ...call,
      message: 'busy',
      statusCode: 429,
      responseHeaders: { 'Retry-After': '3' },
    });
    expect(describeFailure(thrown, context)).toMatchObject({ class: 'transient', retryAfterMs: 3000 });
  });

  const answer = (status: number, more: object = {}) =>
    new APICallError({ ...call, message: 'x', statusCode: status, ...more });

  test.each([
    ['on the error', answer(429, { responseHeaders: { 'RETRY-AFTER-MS': '250' } }), 250],
    [
      'on its response',
      Object.assign(new Error('x'), { status: 429, response: { headers: new Headers({ 'Retry-After': '2' }) } }),
      2000,
    ],
    [
      'in the body as it was sent',
      answer(429, { data: { error: {} }, responseBody: '{"error":{"retry_after":4}}' }),
      4000,
    ],
    ["in Google's list", answer(429, { responseBody: '[{"error":{"details":[{"retryDelay":"3.5s"}]}}]' }), 3500],
    ['inside the stream', new InStreamError({ type: 'rate_limit_error', message: 'x', retry_after: 5 }), 5000],
    ['nowhere', answer(503), null],
  ])('E-203: Retry-After %s', (_, thrown, ms) => {
    expect(describeFailure(thrown, context)).toMatchObject({ class: 'transient', retryAfterMs: ms });
  });

  test.each([
    ['a status named by an error of its stream', new InStreamError({ message: 'upstream', code: 502 }), 'transient'],
    [
      "the stream's own 200",
      answer(200, {
        cause: new TypeError('terminated', { cause: Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }) }),
      }),
      'transient',
    ],
    [
      'a key that was refused inside a stream',
      new InStreamError({ type: 'authentication_error', message: 'x' }),
      'authentication',
    ],
    [
      'a proxy that refuses the tunnel',
      answer(0, { statusCode: undefined, cause: new Error('Proxy response (407) !== 200 when HTTP Tunneling') }),
      'final',
    ],
    [
      'a proxy that is overrun',
      new TypeError('fetch failed', { cause: new Error('Proxy response (503) !== 200 when HTTP Tunneling') }),
      'transient',
    ],
  ])('E-205, E-206: %s', (_, thrown, failureClass) => {
    expect(describeFailure(thrown, context).class).toBe(failureClass);
  });

  test("E-205: a provider entry's own word comes first, and is not asked again when it throws", () => {
    const said = (word: boolean | undefined) =>
      describeFailure(answer(400), { ...context, isTransient: () => word }).class;
    expect([said(true), said(undefined)]).toEqual(['transient', 'final']);
    expect(describeFailure(answer(503), { ...context, isTransient: () => false }).class).toBe('final');
    const isTransient = () => {
      throw new Error('broken');
    };
    expect(describeFailure(answer(503), { ...context, isTransient }).class).toBe('transient');
  });

  test('E-205: a limit of Google that is per minute passes, one per day does not', () => {
    const limited = (quotaId: string) =>
      answer(429, {
        responseBody: JSON.stringify({
          error: { message: 'You exceeded your current quota.', details: [{ quotaId }] },
        }),
      });
    const classOf = (quotaId: string) =>
      describeFailure(limited(quotaId), { ...context, isTransient: isMinuteQuota }).class;
    expect([classOf('RequestsPerMinutePerProject'), classOf('RequestsPerDayPerProject')]).toEqual([
      'transient',
      'quota',
    ]);
  });

  test('E-211: the stated limit is read only where it is the fault, and a number was asked for', () => {
    const thrown = answer(400, {
      responseBody: '{"error":{"message":"max_tokens: 9000 > 4096, the maximum allowed"}}',
    });
    expect(describeFailure(thrown, { ...context, asked: 9000 })).toMatchObject({
      class: 'reply-limit',
      statedReplyLimit: 4096,
    });
    expect(describeFailure(thrown, context).statedReplyLimit).toBeNull();
    expect(describeFailure(answer(400), { ...context, asked: 9000 }).statedReplyLimit).toBeNull();
  });

  test.each([
    [172_800_000, '2 days', '2026-12-01 12:00'],
    [5_400_000, '90 minutes', '2026-11-29 13:30'],
    [61_000, '61 seconds', '2026-11-29 12:01'],
    [1e18, 'days', ''],
  ])('E-202: a wait of %i ms is told in words', (asked, words, until) => {
    const responseHeaders = { 'retry-after-ms': String(asked) };
    const { message } = nameTheWait(describeFailure(answer(429, { responseHeaders }), context), nowMs);
    expect(message).toContain(words);
    expect(message).toContain(until);
    expect(message).toMatch(/UTC\.$/);
  });
});
