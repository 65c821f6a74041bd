// What the page reads of the server when it opens, and beside the conversation.

import type { Client } from '../../client/index.ts';
import type { ActionBody } from '../state/action.ts';
import type { Approval } from '../state/wire.ts';
import type { Effect } from '../state/effect.ts';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

export async function listSessions(
  client: Client,
  { cursor: from }: Pick<Of<'loadSessions'>, 'cursor'>,
): Promise<ActionBody> {
  const page = await client.sessions.list(from === null ? {} : { cursor: from });
  return { type: 'sessions_loaded', sessions: page.sessions, next: page.next_cursor, from };
}

const mostApprovals = 500;

export async function listApprovals(
  client: Client,
  { sessionId }: { readonly sessionId: string },
): Promise<ActionBody> {
  const approvals: Approval[] = [];
  for (let cursor: string | null = null; approvals.length < mostApprovals;) {
    const page: Awaited<ReturnType<Client['approvals']['list']>> = await client.approvals.list({
      session: sessionId,
      status: 'all',
      cursor,
    });
    approvals.push(...page.approvals);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  // Newest first as they come; they are decided in the order in which they were asked.
  return { type: 'approvals_loaded', sessionId, approvals: approvals.toReversed() };
}

/** A share that there is not is not asked for: the browser would write the refusal down as a fault of the page. */
export async function readShare(client: Client, { sessionId }: { readonly sessionId: string }): Promise<ActionBody> {
  const { reins_shared: isShared = false } = await client.sessions.get(sessionId);
  return { type: 'shared', share: isShared ? await client.sessions.getShare(sessionId) : null };
}

/** A server without one of them has the others. */
export async function readCatalogue(client: Client): Promise<ActionBody> {
  const [facts, models, harnesses] = await Promise.all([
    client.probe(),
    client.models().catch(() => null),
    client.harnesses.list().catch(() => []),
  ]);
  return { type: 'catalogue_loaded', models, harnesses, steering: facts.capabilities.reins_steering };
}
