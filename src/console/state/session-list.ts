// The list of conversations, newest first, and the search in it (C-054).

import { stay, withEffects, type Reduced } from './reduced.ts';
import { openSession } from './open-session.ts';
import { pausedBy } from './pause.ts';
import { sessionIdOf, type ConsoleState, type SessionList } from './state.ts';
import type { Action } from './action.ts';
import type { UhpSession } from './wire.ts';

const searchDelayMs = 200;

export function takeSessions(
  state: ConsoleState,
  { sessions, next, from }: Extract<Action, { type: 'sessions_loaded' }>,
): Reduced {
  const given = new Set(sessions.map(({ id }) => id));
  const others = state.sessions.items.filter(({ id }) => !given.has(id));
  // The newest page, read again, says nothing of what lies behind it.
  const deeper = from === null && others.length > 0;
  const items = [...sessions, ...others].toSorted((a, b) => b.updated_at - a.updated_at);
  const list: SessionList = { ...state.sessions, items, next: deeper ? state.sessions.next : next, loading: false };
  const open = sessions.find(({ id }) => id === sessionIdOf(state));
  const listed = { ...state, sessions: list };
  return findMore(open === undefined ? listed : asTold(listed, open));
}

/** One of them, as it stands by now. */
export function seeSession(state: ConsoleState, session: UhpSession): Reduced {
  const items = state.sessions.items.map((each) => (each.id === session.id ? session : each));
  return stay(asTold({ ...state, sessions: { ...state.sessions, items } }, session));
}

/** What the open session is told of itself. */
function asTold(state: ConsoleState, told: UhpSession): ConsoleState {
  const { session } = state;
  if (session.kind !== 'open' || session.id !== told.id) return state;
  return { ...state, session: { ...session, title: told.title, paused: pausedBy(told) } };
}

/** Shown at once; an empty title changes nothing. */
export function renameSession(state: ConsoleState, sessionId: string, given: string): Reduced {
  const title = given.trim();
  const known = state.sessions.items.find(({ id }) => id === sessionId);
  if (title === '') return stay(state);
  const renamed = known === undefined ? state : seeSession(state, { ...known, title }).state;
  return withEffects(renamed, { type: 'renameSession', sessionId, title });
}

/** A search goes on through the pages that are not here yet. */
function findMore(state: ConsoleState): Reduced {
  const { applied, next, loading } = state.sessions;
  return applied === '' || next === null || loading ? stay(state) : moreSessions(state);
}

export function moreSessions(state: ConsoleState): Reduced {
  const { next, loading, items } = state.sessions;
  if (loading || (next === null && items.length > 0)) return stay(state);
  return withEffects(
    { ...state, sessions: { ...state.sessions, loading: true } },
    { type: 'loadSessions', cursor: next },
  );
}

export function changeSearch(state: ConsoleState, query: string): Reduced {
  return withEffects(
    { ...state, sessions: { ...state.sessions, query } },
    { type: 'settleSearch', delayMs: searchDelayMs },
  );
}

export function settleSearch(state: ConsoleState): Reduced {
  const { query } = state.sessions;
  return findMore({ ...state, sessions: { ...state.sessions, applied: query.trim(), highlighted: null } });
}

export function visibleSessions({ items, applied }: SessionList): readonly UhpSession[] {
  const words = applied.toLowerCase();
  if (words === '') return items;
  return items.filter(({ id, title }) => `${title}\n${id}`.toLowerCase().includes(words));
}

/** Arrow keys stop at both ends. */
export function moveHighlight(state: ConsoleState, by: -1 | 1): Reduced {
  const ids = visibleSessions(state.sessions).map(({ id }) => id as string);
  const at = state.sessions.highlighted === null ? -1 : ids.indexOf(state.sessions.highlighted);
  const next = at < 0 ? (by > 0 ? 0 : ids.length - 1) : Math.min(Math.max(at + by, 0), ids.length - 1);
  return stay({ ...state, sessions: { ...state.sessions, highlighted: ids[next] ?? null } });
}

export function forgetSession(state: ConsoleState, sessionId: string): Reduced {
  const without: ConsoleState = {
    ...state,
    sessions: { ...state.sessions, items: state.sessions.items.filter(({ id }) => id !== sessionId) },
  };
  return sessionIdOf(state) === sessionId ? openSession(without, null) : stay(without);
}

export type SessionMark = 'waiting' | 'paused' | 'running' | 'failed' | 'idle';

export function markOf({ status, reins_pending: pending = 0, reins_paused: isPaused }: UhpSession): SessionMark {
  if (pending > 0) return 'waiting';
  if (isPaused === true) return 'paused';
  return status === 'in_progress' ? 'running' : status === 'failed' ? 'failed' : 'idle';
}
