import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classifyFailure, retryAfterMs } from './provider-failure.ts';

const asDate = (text: string) => {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
};

describe('classifyFailure', () => {
  test.each([
    ['our own stall, whatever else is said', { message: 'quota', own: 'stalled' }, 'transient'],
    [
      'a spent quota behind a 429',
      { message: 'You exceeded your current quota', status: 429, providerType: 'insufficient_quota' },
      'quota',
    ],
    ['402', { message: '', status: 402 }, 'quota'],
    ['billing behind a 500', { message: 'billing hard limit reached', status: 500 }, 'quota'],
    ['a prompt that is too long', { message: 'prompt is too long: 210000 tokens', status: 400 }, 'overflow'],
    [
      'overload inside a 200 stream',
      { message: 'Overloaded', status: 200, providerType: 'overloaded_error', inStream: true },
      'transient',
    ],
    [
      'a bad request inside a 200 stream',
      { message: 'bad', status: 200, providerType: 'invalid_request_error', inStream: true },
      'final',
    ],
    ['408', { message: '', status: 408 }, 'transient'],
    ['429', { message: '', status: 429 }, 'transient'],
    ['503', { message: '', status: 503 }, 'transient'],
    ['400', { message: '', status: 400 }, 'final'],
    ['401', { message: '', status: 401 }, 'authentication'],
    ['a 503 that the provider says not to retry', { message: '', status: 503, shouldRetry: false }, 'final'],
    ['a 400 that the provider says to retry', { message: '', status: 400, shouldRetry: true }, 'transient'],
    ['a reset connection', { message: 'fetch', causeCodes: ['ECONNRESET'] }, 'transient'],
    ['text that says so', { message: 'TypeError: terminated' }, 'transient'],
    ['anything else', { message: 'x is not a function' }, 'final'],
  ] as const)('E-205: %s is %o', (_, facts, expected) => {
    expect(classifyFailure(facts)).toBe(expected);
  });
});

describe('retryAfterMs', () => {
  test.each([
    ['milliseconds win', { 'Retry-After-Ms': '1500', 'retry-after': '9' }, {}, 1500],
    ['seconds, decimals allowed', { 'RETRY-AFTER': '1.5' }, {}, 1500],
    [
      'a date against the response date',
      { 'retry-after': 'Sun, 29 Nov 2026 12:00:10 GMT', date: 'Sun, 29 Nov 2026 12:00:00 GMT' },
      {},
      10_000,
    ],
    [
      'a past date is now',
      { 'retry-after': 'Sun, 29 Nov 2026 11:00:00 GMT', date: 'Sun, 29 Nov 2026 12:00:00 GMT' },
      {},
      0,
    ],
    ['the body', {}, { retryAfterSeconds: 3 }, 3000],
    ['junk is none', { 'retry-after': 'soon' }, {}, null],
    ['negative is none', { 'retry-after': '-5' }, { retryAfterSeconds: -1 }, null],
  ] as const)('E-203: %s', (_, headers, body, expected) => {
    expect(retryAfterMs(headers, body, asDate)).toBe(expected);
  });

  test('E-943: whatever is read is never negative', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (after, date) => {
        const ms = retryAfterMs({ 'retry-after': after, date }, {}, asDate);
        expect(ms === null || ms >= 0).toBe(true);
      }),
    );
  });
});
