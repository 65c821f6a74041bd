import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from './json.ts';
import { classifyFailure, retryAfterMs, statedReplyLimit, type FailureFacts } from './provider-failure.ts';

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
  ] as const)('E-204, E-205: %s is %o', (_, facts, expected) => {
    expect(classifyFailure(facts)).toBe(expected);
  });
});

describe('E-944: over status × marker × type in a stream × override', () => {
  const statuses = [undefined, 200, 400, 401, 402, 403, 404, 408, 409, 422, 425, 429, 500, 503, 529];
  const markers = {
    none: 'Something else.',
    quota: 'Your credit balance is too low.',
    overflow: 'prompt is too long: 210000 tokens > 200000 maximum',
    replyLimit: 'max_tokens: 9000 > 4096, the maximum allowed',
    text: 'The upstream timed out.',
  };
  const types = {
    none: undefined,
    overloaded: 'overloaded_error',
    request: 'invalid_request_error',
    key: 'authentication_error',
  };
  const transient = new Set([408, 425, 429, 500, 503, 529]);

  /** The table said once more, row by row, as what a reader of it expects. */
  function expected(marker: keyof typeof markers, type: keyof typeof types, facts: FailureFacts): string {
    const { status = 0, override, inStream, shouldRetry } = facts;
    if (override !== undefined) return override ? 'transient' : 'final';
    if (marker === 'quota' || status === 402) return 'quota';
    if (marker === 'overflow' && status !== 429) return 'overflow';
    if (marker === 'replyLimit' && status !== 429 && status < 500) return 'reply-limit';
    if (inStream && type === 'overloaded') return 'transient';
    if (status >= 400 && (shouldRetry ?? transient.has(status))) return 'transient';
    if (status >= 400) return status === 401 || status === 403 ? 'authentication' : 'final';
    if (inStream && type === 'key') return 'authentication';
    return marker === 'text' || type === 'overloaded' ? 'transient' : 'final';
  }

  test('every combination has the class of the first row that matches', () => {
    const keysOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];
    for (const status of statuses)
      for (const marker of keysOf(markers))
        for (const type of keysOf(types))
          for (const inStream of [false, true])
            for (const shouldRetry of [undefined, true, false])
              for (const override of [undefined, true, false]) {
                const facts = {
                  message: markers[marker],
                  inStream,
                  ...(status === undefined ? {} : { status }),
                  ...(types[type] === undefined ? {} : { providerType: types[type] }),
                  ...(shouldRetry === undefined ? {} : { shouldRetry }),
                  ...(override === undefined ? {} : { override }),
                };
                expect(classifyFailure(facts), JSON.stringify(facts)).toBe(expected(marker, type, facts));
              }
  });
});

describe('classifyFailure, in the words of real providers', () => {
  test.each([
    [
      'OpenAI, tokens a minute, with a link to its billing page',
      {
        status: 429,
        message:
          'Rate limit reached for gpt-5. Visit https://platform.openai.com/account/billing to add a payment method.',
      },
      'transient',
    ],
    [
      'OpenAI, spent',
      {
        status: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        providerCode: 'insufficient_quota',
      },
      'quota',
    ],
    [
      'Anthropic, spent',
      { status: 400, message: 'Your credit balance is too low to access the Anthropic API.' },
      'quota',
    ],
    ['OpenRouter, spent', { status: 402, message: 'Insufficient credits.' }, 'quota'],
    ['an account that was closed', { status: 403, message: 'This organization has been disabled.' }, 'quota'],
    ['Bedrock, too fast', { status: 429, message: 'Too many tokens, please wait before trying again.' }, 'transient'],
    [
      'Anthropic, window',
      { status: 400, message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
      'overflow',
    ],
    [
      'Google, window',
      {
        status: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      },
      'overflow',
    ],
    [
      'a parameter that is unknown',
      { status: 400, message: "Unsupported parameter: 'max_tokens' is not supported with this model." },
      'final',
    ],
    [
      'a server error with a code of its own',
      { message: 'x', providerType: 'response.failed', providerCode: 'server_error', inStream: true },
      'transient',
    ],
    [
      'a proxy that wants a password',
      { status: 407, message: 'Proxy response (407)', causeCodes: ['UND_ERR_ABORTED'] },
      'final',
    ],
    ['a name that does not resolve for now', { message: 'x', causeCodes: ['EAI_AGAIN'] }, 'transient'],
    ['a certificate that is out of date', { message: 'x', causeCodes: ['CERT_HAS_EXPIRED'] }, 'final'],
    ['a broken HTTP answer', { message: 'x', causeCodes: ['HPE_INVALID_CONSTANT'] }, 'transient'],
  ] as const)('E-205, B066, B071: %s', (_, facts, failureClass) => {
    expect(classifyFailure(facts)).toBe(failureClass);
  });
});

describe('statedReplyLimit', () => {
  test.each([
    ['max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x-20250514', 64_000],
    ['max_tokens is too large: 100000. This model supports at most 16,384 completion tokens.', 16_384],
    ['`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`', 8192],
    ['maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive).', 8192],
    ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8192],
    ['max_tokens is too large for gpt-4-0613.', null],
  ])('E-211: %s', (message, limit) => {
    expect(statedReplyLimit(message, 100_000)).toBe(limit);
  });
});

describe('retryAfterMs', () => {
  const nowMs = Date.parse('2026-11-29T12:00:00Z');
  const date = 'Sun, 29 Nov 2026 11:00:00 GMT';
  test.each([
    ['milliseconds win', { 'Retry-After-Ms': '1500', 'retry-after': '9' }, {}, 1500],
    ['seconds, decimals allowed, in any case', { 'RETRY-AFTER': '1.5' }, {}, 1500],
    ["a date against the response's own", { 'retry-after': 'Sun, 29 Nov 2026 11:00:10 GMT', date }, {}, 10_000],
    ['a date without one against our clock', { 'retry-after': 'Sun, 29 Nov 2026 12:00:10 GMT' }, {}, 10_000],
    ['a past date is now', { 'retry-after': 'Sun, 29 Nov 2026 10:00:00 GMT', date }, {}, 0],
    ['error.retry_after', {}, { error: { retry_after: 3 }, retry_after: 9 }, 3000],
    ['retry_after', {}, { retry_after: '2.5' }, 2500],
    [
      'RetryInfo',
      {},
      { error: { details: [{ '@type': 'Help' }, { '@type': 'RetryInfo', retryDelay: '3.5s' }] } },
      3500,
    ],
    ['junk gives way to the next source', { 'retry-after-ms': 'x', 'retry-after': 'soon' }, { retry_after: 1 }, 1000],
    ['junk everywhere is none', { 'retry-after': 'soon' }, { error: { details: [{ retryDelay: 'later' }] } }, null],
    ['negative is none', { 'retry-after': '-5', 'retry-after-ms': '-1' }, { retry_after: -1 }, null],
    ['172,800 s are two days', { 'retry-after': '172800' }, {}, 172_800_000],
  ] as const)('E-203: %s', (_, headers, body, expected) => {
    expect(retryAfterMs({ headers: { ...headers }, body: toBody(body), nowMs }, asDate)).toBe(expected);
  });

  test('E-943: whatever is read is a number of ms that is never negative', () => {
    const odd = fc.oneof(
      fc.string(),
      fc.date({ noInvalidDate: true }).map(String),
      fc.double().map(String),
      fc.integer().map(String),
    );
    fc.assert(
      fc.property(odd, odd, odd, (after, sent, delay) => {
        const headers = { 'retry-after': after, date: sent };
        const ms = retryAfterMs(
          { headers, body: { error: { details: [{ retryDelay: `${delay}s` }] } }, nowMs },
          asDate,
        );
        expect(ms === null || (ms >= 0 && Number.isFinite(ms))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('E-943: seconds are found under any spelling of the header', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.mixedCase(fc.constant('retry-after')), (tenths, name) => {
        const headers = { [name]: String(tenths / 10) };
        expect(retryAfterMs({ headers, body: {}, nowMs }, asDate)).toBeCloseTo(tenths * 100, 3);
      }),
      { numRuns: 2000 },
    );
  });
});

function toBody(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
