// A session as it is read when it is opened (C-037), and its older turns (C-038): the newest first, a page at a time.
//
// R1. A turn that finished and called nothing is in the list of turns already: it costs no request, but for the newest one, of
//     which more is told.
// R2. Of any other the log of its events is read: only that says which calls failed and what a person said meanwhile. Where it
//     is kept no more, or is very long, the response that it left.
// R3. A few are read at once, and each log to its end: a request that is broken off is a fault in the browser's console.

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
/** Of six connections to a host that a browser opens, four may be streams of its tabs (C-040). */
const readAtOnce = 2;
/** Rows of a session that is opened. */
const firstRows = 128;

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
  const { turns, more } = await readBack({ client, signal }, running === null ? items : items.slice(0, -1), {
    rows: firstRows,
  });
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
  const earlier = await readBack({ client, signal }, items.slice(0, end + 1), { rows: earlierRows, beside: upTo });
  return { type: 'earlier_loaded', ...earlier };
}

interface Reading {
  readonly client: Client;
  readonly signal: AbortSignal;
}

interface Page {
  /** So many are enough. */
  readonly rows: number;
  /** A turn whose rows do not count. */
  readonly beside?: string;
}

/** From the last one backwards, until there are enough rows. */
async function readBack(by: Reading, items: readonly TurnItem[], { rows: enough, beside }: Page) {
  const turns: StoredTurn[] = [];
  let [rows, left] = [0, items.length];
  while (left > 0 && rows < enough) {
    const next = items.slice(Math.max(0, left - readAtOnce), left);
    const read = await Promise.all(
      next.map((item) => readTurn(by, item, beside === undefined && item === items.at(-1))),
    );
    turns.unshift(...read);
    left -= next.length;
    for (const turn of read) if (turn.id !== beside) rows += foldStored(turn).rows.length;
  }
  return { turns, more: left > 0 };
}

async function readTurn({ client, signal }: Reading, item: TurnItem, isNewest: boolean): Promise<StoredTurn> {
  const { responseId: id, user, startedMs } = startOf(item);
  const { reins_took_ms: tookMs, assistant: text } = item;
  const facts = { id, user, startedMs, ...(tookMs === undefined ? {} : { tookMs }) };
  if (!isNewest && item.status === 'completed' && item.tools.length === 0)
    return { ...facts, source: { kind: 'answer', text, spent: spentByAll([item]) } };
  const events = await readLog(client, id, signal);
  if (events !== null) return { ...facts, source: { kind: 'log', events } };
  return { ...facts, source: { kind: 'response', response: await client.responses.get(id, { signal }) } };
}

/** Null: it is not to be had. */
async function readLog(client: Client, responseId: string, signal: AbortSignal): Promise<readonly TaskEvent[] | null> {
  const events: TaskEvent[] = [];
  try {
    for await (const { event } of client.streamOnce({ responseId, after: -1, reinsEvents: true }, { signal })) {
      if (event === null) continue;
      if (events.push(event) > maxEvents) return null;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UhpError && !mayPass(error)) return null;
    throw error;
  }
  return events.some(isTerminal) ? events : null;
}

function isTerminal({ type }: TaskEvent): boolean {
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed';
}
