import { ReinsError } from '../../core/errors.ts';

export type McpFailure =
  /** There is no connection, and none can be made now: the call was not begun. */
  | { readonly how: 'unreachable' }
  /** The server has forgotten this session: the call was not begun. */
  | { readonly how: 'session-gone' }
  /** The connection broke while the call ran. */
  | { readonly how: 'lost' }
  | { readonly how: 'rate-limited'; readonly answer: string }
  /** The server answered that it will not do this. */
  | { readonly how: 'refused'; readonly answer: string };

/** A call that gave no result. `message` is for the model; what went wrong below is the `cause`, for the log. */
export class McpCallError extends ReinsError {
  readonly how: McpFailure['how'];
  constructor(server: string, failure: McpFailure, cause?: unknown) {
    super(sentence(`The MCP server '${server}'`, failure), { cause });
    this.how = failure.how;
  }
}

function sentence(server: string, failure: McpFailure): string {
  switch (failure.how) {
    case 'unreachable':
    case 'session-gone':
      return `${server} cannot be reached now; nothing was done.`;
    case 'lost':
      return `${server} stopped during the call, which may have been done in part.`;
    case 'rate-limited':
      return `${server} limits the rate of calls; the same call may work later. ${failure.answer}`;
    case 'refused':
      return `${server} refused the call: ${failure.answer}`;
  }
}
