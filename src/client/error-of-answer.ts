import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  QuotaError,
  RateLimitError,
  ServerError,
  SessionBusyError,
  type UhpError,
} from './errors.ts';
import { field, isObject, textOf } from './loose.ts';

/** The error that an answer with a status of 400 or more stands for, whoever wrote it: a proxy knows nothing of the envelope. */
export async function errorOfAnswer(response: Response, nowMs: number): Promise<UhpError> {
  const { status, headers } = response;
  const envelope = field(parsed(await response.text().catch(() => '')), 'error');
  const type = textOf(envelope, 'type') ?? typeOfStatus(status);
  const code = textOf(envelope, 'code') ?? type;
  const detail = field(envelope, 'detail');
  return new (classOf({ status, type, code }))({
    type,
    code,
    status,
    message:
      textOf(envelope, 'message') ??
      (typeof envelope === 'string' ? envelope : null) ??
      `The server answered with status ${status}.`,
    param: textOf(envelope, 'param') ?? null,
    detail: isObject(detail) ? detail : null,
    requestId: headers.get('X-Request-Id'),
    retryAfterMs: retryAfterMs(headers.get('Retry-After'), nowMs) ?? asNumber(field(detail, 'retry_after_ms')),
  });
}

function classOf({ status, type, code }: { readonly status: number; readonly type: string; readonly code: string }) {
  if (code === 'session_busy') return SessionBusyError;
  switch (type) {
    case 'authentication_error':
      return AuthenticationError;
    case 'permission_error':
      return PermissionError;
    case 'rate_limit_error':
      return code === 'quota_exhausted' ? QuotaError : RateLimitError;
    case 'server_error':
      return ServerError;
    default:
      if (status === 404 || status === 410) return NotFoundError;
      return status === 409 ? ConflictError : InvalidRequestError;
  }
}

function typeOfStatus(status: number): string {
  if (status >= 500) return 'server_error';
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  return status === 429 ? 'rate_limit_error' : 'invalid_request_error';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Seconds, or a date. */
function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
