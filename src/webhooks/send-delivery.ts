import { checkedAddresses, UrlRefusal, type HostRules } from '../net/public-host.ts';
import { isLoopback, webhookUrl, WebhookUrlRefusedError, type WebhookRules } from './webhook-url.ts';
import { pinnedAgent } from '../net/pinned-agent.ts';
import { untilAborted } from '../core/until-aborted.ts';

/** How an attempt ended: with an answer, or with a sentence on why there was none. */
export type Sent = { readonly httpStatus: number } | { readonly error: string };

export interface SendOptions extends WebhookRules {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Aborts when the attempt has taken too long, or the server closes. */
  readonly signal: AbortSignal;
  readonly lookup?: HostRules['lookup'];
}

/** One POST, no redirect followed, to an address that was checked (UR-52). The answer's body is not read. Never rejects. */
export async function sendDelivery(to: string, options: SendOptions): Promise<Sent> {
  const { headers, body, signal, allowLoopback, lookup } = options;
  try {
    const url = webhookUrl(to, options);
    const allowHosts = allowLoopback && isLoopback(url) ? [url.hostname] : [];
    const rules = { allowHosts, ...(lookup === undefined ? {} : { lookup }) };
    const agent = await pinnedAgent(await untilAborted(checkedAddresses(url.hostname, rules), signal));
    try {
      const { request } = await import('undici');
      const { statusCode } = await request(url, { method: 'POST', dispatcher: agent, headers, body, signal });
      return { httpStatus: statusCode };
    } finally {
      await agent.destroy();
    }
  } catch (cause) {
    return { error: sentenceOf(cause, signal) };
  }
}

/** What its owner reads: never more about the network than the url said. */
function sentenceOf(cause: unknown, signal: AbortSignal): string {
  if (cause instanceof UrlRefusal || cause instanceof WebhookUrlRefusedError) return cause.message;
  if (signal.aborted) return 'The receiver did not answer in time.';
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
  return code === null ? 'The receiver could not be reached.' : `The receiver could not be reached (${code}).`;
}
