import { isRefusedAddress } from '../net/public-host.ts';
import { RequestError } from '../core/errors.ts';

export interface WebhookRules {
  /** Whether `http` to this very machine is allowed, for development (UR-52). */
  readonly allowLoopback: boolean;
}

/** 422 `reins_webhook_url_refused`: nothing is ever sent there. */
export class WebhookUrlRefusedError extends RequestError {
  constructor(why: string) {
    super({
      status: 422,
      errorType: 'invalid_request_error',
      code: 'reins_webhook_url_refused',
      message: `This url cannot be a webhook: ${why}`,
      param: 'url',
    });
  }
}

/**
 * What can be judged of a url by its text; where its name leads is judged at each attempt.
 * @throws WebhookUrlRefusedError
 */
export function webhookUrl(text: string, rules: WebhookRules): URL {
  const url = URL.parse(text);
  if (url === null) throw new WebhookUrlRefusedError('it is not a complete url.');
  if (url.username !== '' || url.password !== '') throw new WebhookUrlRefusedError('it holds a user name or password.');
  if (rules.allowLoopback && isLoopback(url) && /^https?:$/.test(url.protocol)) return url;
  if (url.protocol !== 'https:') throw new WebhookUrlRefusedError('it must begin with https.');
  if (isRefusedAddress(url.hostname)) throw new WebhookUrlRefusedError('its address is not a public one.');
  return url;
}

export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
