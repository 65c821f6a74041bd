import { beginningOf } from './beginning-of.ts';
import { findLiveSession } from './find-in-scope.ts';
import { harnessIds } from '../core/ids.ts';
import { isPaused, responseOf } from './read-response.ts';
import { spentByAll } from '../views/session-spending.ts';
import { statusOf, toSession, toTurn, type TurnItem, type UhpSession, type UhpSpent } from '../views/session-views.ts';
import type { Services } from './services.ts';
import type { SessionFilter } from '../stores/session-store.ts';
import type { RunRecord, SessionRecord } from '../stores/store.ts';

export interface SessionQuery {
  /** May be invented, and then fits nothing. */
  readonly harness: string | null;
  readonly after: SessionFilter['after'] | null;
  readonly limit: number;
}

export interface SessionPage {
  readonly sessions: readonly UhpSession[];
  /** The last of the page, where more come after it. */
  readonly last: SessionRecord | null;
}

/** Live sessions of a principal, newest first (UD-51). */
export async function listSessions(
  services: Services,
  principal: string,
  { harness, after, limit }: SessionQuery,
): Promise<SessionPage> {
  const harnessId = harness === null ? null : harnessIds.parse(harness);
  if (harnessId === undefined) return { sessions: [], last: null };
  const records = await services.store.sessions({
    principal,
    limit: limit + 1,
    ...(harnessId === null ? {} : { harnessId }),
    ...(after === null || after === undefined ? {} : { after }),
  });
  const page = records.slice(0, limit);
  const sessions = await Promise.all(page.map((record) => sessionOf(services, record)));
  return { sessions, last: records.length > limit ? (page.at(-1) ?? null) : null };
}

/** @throws RequestError  Unknown, or expired (UD-61). */
export async function readSession(services: Services, principal: string, name: string): Promise<UhpSession> {
  const record = await findLiveSession(services, principal, name);
  const isShared = (await services.store.share(record.sessionId)) !== null;
  return { ...(await sessionOf(services, record)), ...(isShared ? { reins_shared: true } : {}) };
}

export async function sessionOf(services: Services, record: SessionRecord): Promise<UhpSession> {
  const { store } = services;
  const { sessionId, principal, runningRunId } = record;
  if (runningRunId !== null) {
    const open = await store.approvals({ principal, sessionId, status: 'open', limit: 100 });
    const run = await store.run(runningRunId);
    return toSession(record, { status: 'in_progress', pending: open.length, isPaused: run !== null && isPaused(run) });
  }
  const newest = (await store.tip(sessionId)) ?? (await store.runIdsOfSession(sessionId)).at(-1)?.runId;
  const run = newest === undefined ? null : await store.run(newest);
  const status =
    run === null ? 'completed' : run.deleted ? plain(run.status) : statusOf(await responseOf(services, run));
  return toSession(record, { status, pending: 0 });
}

/** Of a response that can be read no more. */
function plain(status: 'running' | 'completed' | 'cancelled' | 'failed'): UhpSession['status'] {
  return status === 'running' ? 'in_progress' : status;
}

export type TurnList = UhpSpent & { readonly turns: readonly TurnItem[] };

/** The tasks of a session that can be read, oldest first, and what they have used together (U-356). @throws RequestError */
export async function readTurns(services: Services, principal: string, name: string): Promise<TurnList> {
  const session = await findLiveSession(services, principal, name);
  const turns = await Array.fromAsync(turnsOf(services, session), ({ item }) => item);
  return { turns, ...spentByAll(turns) };
}

/** By its log: what was imported has ended before it was stored. Null: it has not. */
async function endOf({ store }: Services, { runId, status, lastSeq }: RunRecord): Promise<number | null> {
  if (status === 'running') return null;
  const [last] = await store.readEvents(runId, { after: lastSeq - 1, limit: 1 });
  return last?.at ?? null;
}

/** Each is read when it is asked for. @param page  Absent: all. */
export async function* turnsOf(
  services: Services,
  { sessionId }: SessionRecord,
  page?: { readonly after: number; readonly limit: number },
): AsyncGenerator<{ readonly turn: number; readonly item: TurnItem }> {
  const { store } = services;
  for (const runId of await store.responsesOfSession(sessionId, page)) {
    const run = await store.run(runId);
    if (run === null || run.deleted) continue;
    const inputItems = (await beginningOf({ store }, runId))?.data.task?.inputItems ?? [];
    const [response, files] = [await responseOf(services, run), await store.filesOfRun(runId)];
    const { createdAtMs } = run;
    const endedAtMs = await endOf(services, run);
    const item = toTurn({ runId, sessionId, createdAtMs, endedAtMs, response, inputItems, files });
    yield { turn: run.turn, item };
  }
}
