// Which conversation is open (C-037, C-054). Whatever was at work in the one before goes on without the page.

import { foldStored, type Folded } from './from-history.ts';
import { newTurn, type Turn } from './turn.ts';
import { pausedBy } from './pause.ts';
import { push } from './page.ts';
import { maxRows, stay, withEffects, type Reduced } from './reduced.ts';
import { saveDraft } from './save-draft.ts';
import { initialState, turnOf, type ConsoleState, type EndedTurn } from './state.ts';
import type { Action, RunningTurn } from './action.ts';
import type { Effect } from './effect.ts';
import type { Row } from './row.ts';
import type { StoredTurn } from './stored-turn.ts';

type Of<T extends Action['type']> = Extract<Action, { type: T }>;

/** Nothing of a conversation; what is not of one stays. */
function blank(state: ConsoleState): ConsoleState {
  const { network, sessions, catalogue, preferences, notices, nowMs } = state;
  const composer = { ...initialState.composer, model: state.composer.model, harness: state.composer.harness };
  return { ...initialState, network, sessions, catalogue, preferences, notices, nowMs, composer };
}

export function boot(state: ConsoleState, { preferences, draft }: Of<'booted'>): Reduced {
  if (state.phase.name !== 'boot') return stay(state);
  const ready: ConsoleState = {
    ...state,
    phase: { name: 'ready' },
    preferences,
    composer: { ...state.composer, ...draft },
  };
  return withEffects(ready, { type: 'loadSessions', cursor: null });
}

export function openSession(state: ConsoleState, sessionId: string | null): Reduced {
  const turn = turnOf(state);
  const effects: Effect[] = [saveDraft(state)];
  if (turn !== null) effects.push({ type: 'detach', turn: turn.id });
  effects.push({ type: 'navigate', sessionId });
  if (sessionId === null)
    return withEffects({ ...blank(state), phase: { name: 'ready' } }, ...effects, {
      type: 'focus',
      target: { kind: 'composer' },
    });
  const loading: ConsoleState = { ...blank(state), session: { kind: 'loading', id: sessionId } };
  return withEffects(loading, ...effects, { type: 'loadSession', sessionId });
}

export function takeSession(state: ConsoleState, action: Of<'session_loaded'>): Reduced {
  const { session, turns, more, running, spent, draft, chips } = action;
  if (state.session.kind !== 'loading' || state.session.id !== session.id) return stay(state);
  const folded = turns.map(foldStored);
  const rows = folded.flatMap((turn) => turn.rows);
  const read = new Set(folded.flatMap((turn) => turn.read));
  const opened: ConsoleState = {
    ...state,
    phase: { name: 'ready' },
    session: {
      kind: 'open',
      id: session.id,
      title: session.title,
      tip: turns.at(-1)?.id ?? null,
      paused: pausedBy(session),
    },
    rows: rows.slice(-maxRows),
    lastTurn: endedBy(turns.at(-1), folded.at(-1)),
    earlier: more || rows.length > maxRows ? 'more' : 'none',
    spent,
    todos: folded.findLast(({ todos }) => todos !== null)?.todos ?? null,
    composer: { ...state.composer, ...draft },
    // What a task has read waits no more; and nothing is sent because a page was opened.
    queue: {
      chips: chips.filter(({ id }) => !read.has(id)).map((chip) => ({ ...chip, state: 'waiting' })),
      resting: running === null,
    },
  };
  const reads: readonly Effect[] = [
    { type: 'loadApprovals', sessionId: session.id },
    { type: 'loadFiles', sessionId: session.id },
    { type: 'follow' },
  ];
  return running === null ? withEffects(opened, ...reads) : takeUp(opened, running, reads);
}

function endedBy(turn: StoredTurn | undefined, folded: Folded | undefined): EndedTurn | null {
  if (turn === undefined || folded === undefined) return null;
  const { details, spent } = folded;
  return { id: turn.id, responseId: turn.id, details, spent, tookMs: turn.tookMs ?? null };
}

/** The task that is at work is followed from its start; event 0 begins its rows. */
function takeUp(state: ConsoleState, running: RunningTurn, reads: readonly Effect[]): Reduced {
  const { responseId, user, startedMs, replayUntil } = running;
  const turn: Turn = {
    ...newTurn({ id: responseId, transport: 'task', request: { kind: 'named', responseId }, startedMs }),
    replayUntil,
  };
  const page = push({ rows: state.rows, turn }, { kind: 'user', text: user });
  const busy: ConsoleState = { ...state, rows: page.rows.slice(-maxRows), phase: { name: 'busy', turn: page.turn } };
  return withEffects(busy, ...reads, { type: 'attach', turn: turn.id, responseId, after: -1, delayMs: 0 });
}

/** Only where it is news: the open session is at rest, and has not shown this task. */
export function takeFound(state: ConsoleState, { sessionId, running }: Of<'task_found'>): Reduced {
  const { session, phase, newest, rows, responses } = state;
  const { responseId } = running;
  const shown = (newest ?? rows).some(({ turn }) => (responses.get(turn) ?? turn) === responseId);
  if (phase.name !== 'ready' || session.kind !== 'open' || session.id !== sessionId || shown) return stay(state);
  return takeUp(newest === null ? state : { ...state, rows: newest, newest: null, earlier: 'more' }, running, []);
}

/** What this browser kept of the simple mode. */
export function restoreRows(
  state: ConsoleState,
  rows: readonly Row[],
  draft: Partial<ConsoleState['composer']>,
): Reduced {
  if (turnOf(state) !== null) return stay(state);
  return withEffects(
    {
      ...blank(state),
      phase: { name: 'ready' },
      rows: rows.slice(-maxRows),
      composer: { ...state.composer, ...draft },
    },
    { type: 'follow' },
  );
}

/** Shown as what it is; it is never made into a new session. */
export function missSession(state: ConsoleState, { sessionId, message }: Of<'session_missing'>): Reduced {
  if (state.session.kind !== 'loading' || state.session.id !== sessionId) return stay(state);
  const missing: ConsoleState = {
    ...state,
    phase: { name: 'ready' },
    session: { kind: 'missing', id: sessionId, message },
  };
  return withEffects(missing, { type: 'announce', text: message, urgency: 'alert' });
}
