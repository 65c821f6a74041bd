// A session as it is read when it is opened (C-037), and its older turns (C-038). A turn is read as the log of its events;
// where that is kept no more, or is very long, as the response that it left.

import { spentByAll } from '../../views/session-spending.ts';
import { foldStored } from '../state/from-history.ts';
import { earlierRows } from '../state/load-earlier.ts';
import { mayPass } from './call-failures.ts';
import { UhpError, type Client, type TaskEvent, type TurnItem } from '../../client/index.ts';
import type { ActionBody } from '../state/action.ts';
import type { Kept } from './kept.ts';
import type { StoredTurn } from '../state/stored-turn.ts';

/** An answer of this many pieces is read as what it came to. */
const maxEvents = 20_000;

export async function readSession(
  client: Client,
  sessionId: string,
  { kept, signal }: { readonly kept: Kept; readonly signal: AbortSignal },
): Promise<ActionBody> {
  const [session, items] = await Promise.all([
    client.sessions.get(sessionId, { signal }),
    client.sessions.turns(sessionId, { signal }),
  ]);
  const last = items.at(-1);
  const running = last?.status === 'in_progress' ? last : null;
  const { turns, more } = await readBack({ client, signal }, running === null ? items : items.slice(0, -1));
  return {
    type: 'session_loaded',
    session,
    turns,
    more,
    spent: spentByAll(items),
    running: running === null ? null : { ...startOf(running), replayUntil: kept.readCursor(running.id) },
    ...kept.readDraft(sessionId),
  };
}

/** Who asked for what, and when. */
export function startOf({ id, user, created_at }: TurnItem) {
  return { responseId: id, user, startedMs: created_at * 1_000 };
}

export async function readEarlier(
  client: Client,
  { sessionId, upTo }: { readonly sessionId: string; readonly upTo: string },
  signal: AbortSignal,
): Promise<ActionBody> {
  const items = await client.sessions.turns(sessionId, { signal });
  const end = items.findIndex(({ id }) => id === upTo);
  return { type: 'earlier_loaded', ...(await readBack({ client, signal }, items.slice(0, end + 1), upTo)) };
}

interface Reading {
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** From the last one backwards, until there are enough rows. @param beside  A turn whose rows do not count. */
async function readBack(by: Reading, items: readonly TurnItem[], beside?: string) {
  const turns: StoredTurn[] = [];
  let [rows, left] = [0, items.length];
  while (left > 0 && rows < earlierRows) {
    const item = items[--left];
    if (item === undefined) break;
    const turn = await readTurn(by, item);
    turns.unshift(turn);
    if (item.id !== beside) rows += foldStored(turn).rows.length;
  }
  return { turns, more: left > 0 };
}

async function readTurn({ client, signal }: Reading, item: TurnItem): Promise<StoredTurn> {
  const { responseId: id, user, startedMs } = startOf(item);
  const events = await readLog(client, id, signal);
  const source =
    events === null
      ? ({ kind: 'response', response: await client.responses.get(id, { signal }) } as const)
      : ({ kind: 'log', events } as const);
  return { id, user, startedMs, source };
}

/** Null: it is not to be had. */
async function readLog(client: Client, responseId: string, signal: AbortSignal): Promise<readonly TaskEvent[] | null> {
  const events: TaskEvent[] = [];
  try {
    for await (const { event } of client.streamOnce({ responseId, after: -1, reinsEvents: true }, { signal })) {
      if (event === null) continue;
      if (events.push(event) > maxEvents) return null;
      if (
        event.type === 'response.completed' ||
        event.type === 'response.incomplete' ||
        event.type === 'response.failed'
      )
        return events;
    }
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UhpError && !mayPass(error)) return null;
    throw error;
  }
}
