import { head, toWellFormed } from '../../core/text.ts';
import type { McpFailure } from './mcp-call-error.ts';
import { namesRateLimit } from './rate-limit.ts';
import { replyLost } from './watch-replies.ts';

const maxAnswerUnits = 2000;
const notBegun = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** What an error of a call means. `isAnswer`: it is the server's own, by JSON-RPC; else transport or SDK made it. */
export function failureOf(error: unknown, { isAnswer }: { readonly isAnswer: boolean }): McpFailure {
  const code = codeOf(error);
  const answer = error instanceof Error ? head(toWellFormed(error.message), maxAnswerUnits) : '';
  if (isAnswer && code !== replyLost)
    return namesRateLimit(answer) ? { how: 'rate-limited', answer } : { how: 'refused', answer };
  if (code === 429) return { how: 'rate-limited', answer: '' };
  // 404 is what the protocol says of a session that is gone; some servers say 400 and name it.
  if (code === 404 || (code === 400 && /session/i.test(answer))) return { how: 'session-gone' };
  if (typeof code === 'number' && code >= 400) return { how: 'refused', answer: `HTTP status ${code}.` };
  const cause = error instanceof Error ? codeOf(error.cause) : undefined;
  return notBegun.test(String(cause)) ? { how: 'unreachable' } : { how: 'lost' };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
