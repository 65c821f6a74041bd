// What the relay itself answers, in the words of the wire that the runtime speaks: sentences are written here and nowhere else.

import { ReinsError } from '../../core/errors.ts';
import { head } from '../../core/text.ts';
import type { Wire } from './routes.ts';

export type RefusalCode = 'reins_budget' | 'reins_model' | 'reins_revoked';

/** Ends a request with a status in place of a provider's reply. */
export class RelayRefusal extends ReinsError {
  readonly status: number;
  readonly kind: 'refused' | 'cut';
  /** What kind of a word of the relay's own it is; null: the provider's. */
  readonly code: RefusalCode | null;
  /** @param kind  `cut`: the provider is at fault, and asking again may help. */
  constructor(status: number, message: string, kind: 'refused' | 'cut' | RefusalCode = 'refused') {
    super(message);
    this.status = status;
    this.kind = kind === 'cut' ? kind : 'refused';
    this.code = kind === 'cut' || kind === 'refused' ? null : kind;
  }
}

// 400 is the one status that ends the turn of every runtime (H-204); others are tried again, some of them for ever.
export const refusals = {
  foreignHost: () => new RelayRefusal(403, 'This address answers to 127.0.0.1 only.'),
  unknownLease: () => new RelayRefusal(401, 'This key is none of a running session.'),
  unknownPath: () => new RelayRefusal(404, 'There is no such path here.'),
  tooMuch: () => new RelayRefusal(429, 'This session has too many requests under way, or too long ones.'),
  tooLong: () => new RelayRefusal(413, 'The request is longer than 64 MiB.'),
  unreadable: () => new RelayRefusal(400, 'The request is not a JSON object, or it is compressed.'),
  revoked: () => new RelayRefusal(400, 'The session of this key has been stopped.', 'reins_revoked'),
  foreignModel: (model: string | null) =>
    new RelayRefusal(
      400,
      model === null
        ? 'The request names no model.'
        : `The model ${head(model, 120)} is not one that this session may use.`,
      'reins_model',
    ),
  budgetSpent: () => new RelayRefusal(400, 'The budget of this task is used up.', 'reins_budget'),
  final: (message: string) => new RelayRefusal(400, message),
  unreachable: (code: string) => new RelayRefusal(502, `The model provider could not be reached (${code}).`, 'cut'),
  redirected: () => new RelayRefusal(502, 'The model provider pointed to another address, which is not followed.'),
  notAStream: (type: string) =>
    new RelayRefusal(502, `The model provider answered a streaming request with ${head(type, 80)}.`),
  encoded: (encoding: string) =>
    new RelayRefusal(
      502,
      `The model provider compressed its reply (${head(encoding, 40)}) though it was asked not to.`,
    ),
  errorTooLong: () => new RelayRefusal(502, 'The model provider answered with an error of more than 1 MiB.'),
};

/** What `unreachable` says, where somebody repeats it; null: not in this text. */
export function unreachedIn(text: string): string | null {
  return /could not be reached \((?:[A-Z][A-Z_]{1,39}|no connection)\)/.exec(text)?.[0] ?? null;
}

/** The body of an error as the wire writes it. */
export function refusalBody(wire: Wire, { status, message }: RelayRefusal): string {
  switch (wire) {
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: { type: anthropicTypes[status] ?? 'api_error', message } });
    case 'responses':
    case 'chat': {
      const type = status >= 500 ? 'server_error' : 'invalid_request_error';
      return JSON.stringify({ error: { type, code: null, param: null, message } });
    }
    case 'google':
      return JSON.stringify({ error: { code: status, message, status: googleStatuses[status] ?? 'UNAVAILABLE' } });
  }
}

const anthropicTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};
const googleStatuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
};
