import { describe, expect, test } from 'vitest';
import { ConflictError, RateLimitError, SessionBusyError, UhpError } from './errors.ts';
import { errorOfAnswer } from './error-of-answer.ts';

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  errorOfAnswer(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers }), 0);
const envelope = (type: string, code: string, more: object = {}) => ({
  error: { type, code, message: 'No.', ...more },
});

describe('U-058: a class by the type, whatever the code', () => {
  test.each([
    [400, 'invalid_request_error', 'invalid_input', 'InvalidRequestError'],
    [404, 'invalid_request_error', 'x_new_code', 'NotFoundError'],
    [410, 'invalid_request_error', 'reins_event_log_expired', 'NotFoundError'],
    [409, 'invalid_request_error', 'harness_mismatch', 'ConflictError'],
    [409, 'invalid_request_error', 'session_busy', 'SessionBusyError'],
    [401, 'authentication_error', 'invalid_credential', 'AuthenticationError'],
    [403, 'permission_error', 'insufficient_scope', 'PermissionError'],
    [429, 'rate_limit_error', 'rate_limited', 'RateLimitError'],
    [429, 'rate_limit_error', 'quota_exhausted', 'QuotaError'],
    [503, 'server_error', 'x_unknown', 'ServerError'],
    [418, 'x_unknown_type', 'x', 'InvalidRequestError'],
  ])('%i %s %s is a %s', async (status, type, code, name) => {
    const error = await answer(status, envelope(type, code, { param: 'a.b' }), { 'X-Request-Id': 'req_1' });
    expect(error).toMatchObject({ name, type, code, status, param: 'a.b', detail: null, requestId: 'req_1' });
    expect(error).toBeInstanceOf(UhpError);
  });

  test.each([
    [502, '<html>Bad gateway</html>', 'ServerError'],
    [401, '', 'AuthenticationError'],
    [403, '[]', 'PermissionError'],
    [429, '{"error":"slow down"}', 'RateLimitError'],
    [404, '{"error":{"code":7}}', 'NotFoundError'],
  ])('B060: %i of a proxy, which knows no envelope, is told by its status', async (status, body, name) => {
    expect(await answer(status, body)).toMatchObject({ name, status });
  });
});

test('Retry-After is read in both its forms, and from the detail', async () => {
  const after = async (header: string, detail: object | null = null) => {
    const error = await answer(429, envelope('rate_limit_error', 'rate_limited', { detail }), {
      'Retry-After': header,
    });
    return error.retryAfterMs;
  };
  expect(await after('7')).toBe(7000);
  expect(await after('Thu, 01 Jan 1970 00:01:00 GMT')).toBe(60_000);
  expect(await after('soon', { retry_after_ms: 50 })).toBe(50);
  expect((await answer(429, '')).retryAfterMs).toBeNull();
});

test('a class is known across two copies of the package, and is not taken for its sibling', async () => {
  const busy = await answer(409, envelope('invalid_request_error', 'session_busy'));
  expect(busy).toBeInstanceOf(ConflictError);
  expect(busy).not.toBeInstanceOf(RateLimitError);
  const ofACopy = Object.assign(new Error('x'), {
    [Symbol.for('reins.client.error')]: ['SessionBusyError', 'UhpError'],
  });
  expect(ofACopy).toBeInstanceOf(SessionBusyError);
  expect(ofACopy).not.toBeInstanceOf(RateLimitError);
  for (const other of [null, 'x', new Error('x'), { [Symbol.for('reins.client.error')]: 'UhpError' }])
    expect(other instanceof UhpError).toBe(false);
});
