// How the page stays with a task (C-039, C-040). A lost stream is no end: the task goes on, and is taken up again after the last
// event that was seen.
//
// L1. The next stream follows the cursor of its response, or begins at 0 where there is none to trust; then event 0 begins the
//     turn anew.
// L2. While there is no stream the response is read every 4 seconds. One that has ended ends the turn.
// L3. Whoever asks for a stream closes the one before it.

import { bareEnd } from './end-line.ts';
import { endOf } from './from-uhp.ts';
import { endTurn } from './run-turn.ts';
import { eventsOfResponse } from './from-history.ts';
import { growRows, restart } from './grow-rows.ts';
import { responseOf, type Link, type Turn } from './turn.ts';
import { andThen, changeTurn, stay, withEffects, withPage, type Reduced } from './reduced.ts';
import { sessionIdOf, turnOf, type ConsoleState } from './state.ts';
import type { Action } from './action.ts';
import type { Effect } from './effect.ts';
import type { UhpResponse } from './wire.ts';

type Of<T extends Action['type']> = Extract<Action, { type: T }>;

export const pollEveryMs = 4_000;
const [firstDelayMs, longestDelayMs] = [500, 8_000];
/** Servers send a sign of life every 15 seconds (UD-80). */
const deadAfterMs = 45_000;

/** Half a second, doubled up to eight, each less by up to a half, so that not all tabs come at once. */
export function backoffMs(tries: number, random: number): number {
  return Math.round(Math.min(firstDelayMs * 2 ** Math.min(tries - 1, 10), longestDelayMs) * (1 - random / 2));
}

export function loseStream(state: ConsoleState, { turn: id, why, random, atMs }: Of<'stream_lost'>): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id || turn.link.kind === 'polling') return stay(state);
  if (turn.transport === 'agent') return endEarly(state, turn, atMs);
  const responseId = responseOf(turn);
  if (responseId !== null && why === 'unknown-cursor')
    return withEffects(changeTurn(state, { link: { kind: 'rereading' } }), {
      type: 'reread',
      turn: id,
      responseId,
      delayMs: 0,
    });
  const tries = triesOf(turn.link) + 1;
  const delayMs = backoffMs(tries, random);
  const now = { ...state, nowMs: atMs };
  const lost = changeTurn(now, { link: { kind: 'lost', tries, untilMs: atMs + delayMs } });
  const again = connectAgain(turn, delayMs);
  return responseId === null || tries > 1
    ? withEffects(lost, ...again)
    : withEffects(lost, ...again, { type: 'reread', turn: id, responseId, delayMs: pollEveryMs });
}

/** Bytes that end are no end (V21): here nobody can take the turn up again. */
function endEarly(state: ConsoleState, turn: Turn, atMs: number): Reduced {
  const end = bareEnd({ kind: 'error', detail: 'stream ended early' });
  return endTurn(state, { rows: state.rows, turn }, { end, atMs });
}

function triesOf(link: Link): number {
  return link.kind === 'polling' || link.kind === 'rereading' ? 0 : link.tries;
}

/** A task without a name is asked for again under its key: it is begun once. */
function connectAgain({ id, request, cursor }: Turn, delayMs: number): readonly Effect[] {
  if (request.kind === 'named')
    return [{ type: 'attach', turn: id, responseId: request.responseId, after: cursor, delayMs }];
  return request.effect.type === 'send' ? [{ ...request.effect, delayMs }] : [];
}

export function attached(state: ConsoleState, id: string): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id) return stay(state);
  const live = changeTurn(state, { link: { kind: 'live', tries: triesOf(turn.link) } });
  const sessionId = sessionIdOf(state);
  return sessionId === null ? stay(live) : withEffects(live, { type: 'loadApprovals', sessionId });
}

/** The page is seen, or the network is back: what waited for its time is done now (B150). */
export function connectNow(state: ConsoleState, silentMs: number): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.transport === 'agent') return stay(state);
  const { link } = turn;
  const dead = link.kind === 'live' && silentMs >= deadAfterMs;
  if (link.kind !== 'lost' && !dead) return stay(state);
  return withEffects(changeTurn(state, { link: { kind: 'opening', tries: triesOf(link) } }), ...connectAgain(turn, 0));
}

/** This tab has no stream any more, and no slot for one. */
export function pollOnly(state: ConsoleState, id: string): Reduced {
  const turn = turnOf(state);
  const responseId = turn === null ? null : responseOf(turn);
  if (turn === null || turn.id !== id || responseId === null || turn.link.kind === 'polling') return stay(state);
  return withEffects(
    changeTurn(state, { link: { kind: 'polling' } }),
    { type: 'detach', turn: id },
    { type: 'reread', turn: id, responseId, delayMs: 0 },
  );
}

export function winSlot(state: ConsoleState, id: string): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id || turn.link.kind !== 'polling') return stay(state);
  return fromStart(state, turn);
}

function fromStart(state: ConsoleState, turn: Turn): Reduced {
  return withEffects(
    changeTurn(state, { link: { kind: 'opening', tries: 0 }, cursor: -1 }),
    ...connectAgain({ ...turn, cursor: -1 }, 0),
  );
}

/** The response as it stands: the answer to a read, or to a cancel. */
export function readResponse(state: ConsoleState, { turn: id, response, atMs }: Of<'response_read'>): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id || responseOf(turn) !== response.id) return stay(state);
  const heard = turn.cursor >= 0 && (turn.link.kind === 'live' || turn.link.kind === 'opening');
  if (response.status !== 'in_progress')
    return endTurn(state, heard ? { rows: state.rows, turn } : rebuilt(state, turn, { response, atMs }), {
      end: endOf(response),
      atMs,
    });
  switch (turn.link.kind) {
    case 'live':
    case 'opening':
      return stay(state);
    case 'lost':
      return andThen(serverAnswers(state, turn, atMs), (next) => pollAgain(next, turn));
    case 'polling':
      return pollAgain(withPage(state, rebuilt(state, turn, { response, atMs })), turn);
    case 'rereading':
      return fromStart(state, turn);
  }
}

/** Who is answered need not wait any longer for a stream. What is being tried already is not tried anew. */
function serverAnswers(state: ConsoleState, turn: Turn, atMs: number): Reduced {
  if (turn.link.kind !== 'lost' || turn.link.untilMs <= atMs) return stay(state);
  return withEffects(changeTurn(state, { link: { ...turn.link, untilMs: atMs } }), ...connectAgain(turn, 0));
}

function rebuilt(
  state: ConsoleState,
  turn: Turn,
  { response, atMs }: { readonly response: UhpResponse; readonly atMs: number },
) {
  const before = restart({ rows: state.rows, turn });
  const kept = { ...before, turn: { ...before.turn, details: turn.details } };
  return eventsOfResponse(response).reduce((page, event) => growRows(page, event, atMs), kept);
}

function pollAgain(state: ConsoleState, turn: Turn): Reduced {
  const responseId = responseOf(turn);
  return responseId === null
    ? stay(state)
    : withEffects(state, { type: 'reread', turn: turn.id, responseId, delayMs: pollEveryMs });
}

export function failRead(state: ConsoleState, { turn: id, random, atMs }: Of<'read_failed'>): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.id !== id) return stay(state);
  if (turn.link.kind === 'lost' || turn.link.kind === 'polling') return pollAgain(state, turn);
  if (turn.link.kind !== 'rereading') return stay(state);
  const delayMs = backoffMs(1, random);
  const lost = changeTurn(state, { link: { kind: 'lost', tries: 1, untilMs: atMs + delayMs }, cursor: -1 });
  return andThen(withEffects(lost, ...connectAgain({ ...turn, cursor: -1 }, delayMs)), (next) => pollAgain(next, turn));
}
