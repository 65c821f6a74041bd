// What is heard of the turn at work (C-013).
//
// E1. An event counts once: its number is above the cursor of its response, and the next one. A gap is repaired by reading.
// E2. What belongs to another turn, or comes after the end, is nothing.
// E3. Number 0 begins the turn anew: a stream that is read from the start replaces what was put together otherwise.

import { endTurn, titleOf } from './run-turn.ts';
import { doubtPause } from './pause.ts';
import { detailsAfter } from './turn-details.ts';
import { growRows, restart } from './grow-rows.ts';
import { saveDraft } from './save-draft.ts';
import { steerWaiting } from './queue.ts';
import { upsertApproval } from './approvals.ts';
import { andThen, changeTurn, stay, withEffects, withPage, type Reduced } from './reduced.ts';
import { initialState, sessionIdOf, turnOf, type ConsoleState } from './state.ts';
import { responseOf, type Activity, type Turn } from './turn.ts';
import type { Action, Origin } from './action.ts';
import type { Effect } from './effect.ts';
import type { TurnEvent } from './turn-event.ts';

type Received = Extract<Action, { type: 'received' }>;

export function receive(state: ConsoleState, { turn: id, from, events, atMs }: Received): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id) return stay(state);
  if (from.kind === 'agent') return takeAll(state, events, atMs);
  switch (standingOf(turn, from)) {
    case 'seen':
      return stay(state);
    case 'gap':
      return reread(state, turn, from.responseId);
    case 'next': {
      const shown = from.number <= turn.replayUntil ? events.filter(({ type }) => type !== 'reasoning_delta') : events;
      const named = name(advance(state, turn, from.number), from.responseId);
      return andThen(andThen(named, doubtPause), (next) => takeAll(next, shown, atMs));
    }
  }
}

function standingOf(turn: Turn, { responseId, number }: Extract<Origin, { kind: 'task' }>): 'seen' | 'next' | 'gap' {
  const known = responseOf(turn);
  if ((known !== null && known !== responseId) || number <= turn.cursor) return 'seen';
  return number === turn.cursor + 1 ? 'next' : 'gap';
}

function reread(state: ConsoleState, turn: Turn, responseId: string): Reduced {
  if (turn.link.kind === 'rereading') return stay(state);
  const named = changeTurn(state, { link: { kind: 'rereading' }, request: { kind: 'named', responseId } });
  return withEffects(
    named,
    { type: 'detach', turn: turn.id },
    { type: 'reread', turn: turn.id, responseId, delayMs: 0 },
  );
}

function advance(state: ConsoleState, turn: Turn, number: number): ConsoleState {
  const live = turn.link.kind === 'live' && turn.link.tries === 0;
  const change = live ? { cursor: number } : { cursor: number, link: { kind: 'live', tries: 0 } as const };
  if (number > 0) return changeTurn(state, change);
  const anew = restart({ rows: state.rows, turn });
  return withPage(state, { rows: anew.rows, turn: { ...anew.turn, ...change } });
}

/** From now on the task can be stopped, and read again after a loss. */
function name(state: ConsoleState, responseId: string): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.request.kind === 'named') return stay(state);
  const named = changeTurn(state, { request: { kind: 'named', responseId } });
  const known = { ...named, responses: new Map(state.responses).set(turn.id, responseId) };
  const effects: Effect[] = state.phase.name === 'stopping' ? [{ type: 'cancel', turn: turn.id, responseId }] : [];
  // The list says of its session that it runs; one that is new comes into the list with its name.
  if (sessionIdOf(state) !== null) effects.push({ type: 'loadSessions', cursor: null });
  return withEffects(known, ...effects);
}

export function takeAll(state: ConsoleState, events: readonly TurnEvent[], atMs: number): Reduced {
  let reduced = stay(state);
  for (const event of events) reduced = andThen(reduced, (next) => takeEvent(next, event, atMs));
  return reduced;
}

function takeEvent(state: ConsoleState, event: TurnEvent, atMs: number): Reduced {
  const turn = turnOf(state);
  if (turn === null) return stay(state);
  const page = { rows: state.rows, turn };
  if (event.type === 'ended') return endTurn(state, page, { end: event, atMs });
  const grown = withActivity(withDetails(withPage(state, growRows(page, event, atMs)), event), event, atMs);
  switch (event.type) {
    case 'created':
      return openedBy(grown, event);
    case 'tool_start':
      return andThen(announceCalls(grown, atMs), steerWaiting);
    case 'tool_result':
      return announceCalls(grown, atMs);
    case 'todos_updated':
      return stay({ ...grown, todos: event.todos });
    case 'approval_required':
    case 'recovery_required':
      return andThen(upsertApproval(grown, event.approval), steerWaiting);
    case 'approval_decided':
      return upsertApproval(grown, event.approval);
    case 'user_message':
      return dropRead(grown, event.messageId);
    case 'file_changed':
    case 'model_switched':
    case 'compacted':
    case 'budget_reached':
    case 'gap':
    case 'item_added':
    case 'text_delta':
    case 'text_whole':
    case 'reasoning_delta':
    case 'attempt_reset':
    case 'waiting':
      return stay(grown);
  }
}

function dropRead(state: ConsoleState, messageId: string): Reduced {
  const chips = state.queue.chips.filter(({ id }) => id !== messageId);
  if (chips.length === state.queue.chips.length) return stay(state);
  const next = { ...state, queue: { ...state.queue, chips } };
  return withEffects(next, saveDraft(next));
}

function openedBy(state: ConsoleState, { sessionId, responseId }: Extract<TurnEvent, { type: 'created' }>): Reduced {
  if (sessionId === null || sessionIdOf(state) === sessionId) return stay(state);
  const asked = state.rows.findLast(({ kind }) => kind === 'user');
  const title = asked?.kind === 'user' ? titleOf(asked.text) : '';
  const opened: ConsoleState = {
    ...state,
    session: { kind: 'open', id: sessionId, title, tip: responseId, paused: 'no' },
    files: [],
    todos: null,
    spent: {},
    share: { kind: 'unknown' },
  };
  // What was kept for a session without a name is now kept for this one.
  const unnamed = saveDraft(initialState);
  return withEffects(opened, { type: 'navigate', sessionId }, unnamed, saveDraft(opened), {
    type: 'loadSessions',
    cursor: null,
  });
}

function withDetails(state: ConsoleState, event: TurnEvent): ConsoleState {
  const turn = turnOf(state);
  const details = turn === null ? null : detailsAfter(turn.details, event);
  return turn === null || details === null || details === turn.details ? state : changeTurn(state, { details });
}

function withActivity(state: ConsoleState, event: TurnEvent, atMs: number): ConsoleState {
  const turn = turnOf(state);
  const activity = turn === null ? null : activityAfter(turn.activity, event, atMs);
  return turn === null || activity === null || activity === turn.activity ? state : changeTurn(state, { activity });
}

function activityAfter(before: Activity, event: TurnEvent, atMs: number): Activity {
  switch (event.type) {
    case 'waiting':
      return event.on === 'retry'
        ? { kind: 'retrying', untilMs: atMs + event.seconds * 1_000 }
        : {
            kind: 'waiting',
            on: event.on,
            name: event.name,
            sinceMs: atMs - event.seconds * 1_000,
            heardMs: event.heardSecondsAgo === null ? null : atMs - event.heardSecondsAgo * 1_000,
          };
    case 'attempt_reset':
      return { kind: 'retrying', untilMs: event.retryInMs === null ? null : atMs + event.retryInMs };
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_start':
    case 'tool_result':
      return before.kind === 'working' ? before : { kind: 'working' };
    case 'created':
    case 'item_added':
    case 'text_whole':
    case 'todos_updated':
    case 'approval_required':
    case 'recovery_required':
    case 'approval_decided':
    case 'user_message':
    case 'model_switched':
    case 'compacted':
    case 'file_changed':
    case 'budget_reached':
    case 'gap':
    case 'ended':
      return before;
  }
}

const tellEveryMs = 10_000;

function announceCalls(state: ConsoleState, atMs: number): Reduced {
  const turn = turnOf(state);
  if (turn === null || atMs - turn.toldMs < tellEveryMs) return stay(state);
  const { calls } = turn.details;
  const text = calls === 1 ? '1 tool called' : `${calls} tools called`;
  return withEffects(changeTurn(state, { toldMs: atMs }), { type: 'announce', text, urgency: 'status' });
}
