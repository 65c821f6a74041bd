// Turns begin and end here, one after the other. Every end leads to `ready`, or to the next message that waits (C-010, C-045).

import { collapse, shorten } from './utf8.ts';
import { endLine } from './end-line.ts';
import { finishTurn } from './finish-turn.ts';
import { foldPrompt } from './prompt-fold.ts';
import { newTurn, responseOf, type SendEffect, type Turn } from './turn.ts';
import { push, type Page } from './page.ts';
import { andThen, stay, withEffects, withRows, type Reduced } from './reduced.ts';
import { saveDraft } from './save-draft.ts';
import { sessionIdOf, type Chip, type ConsoleState, type Queue } from './state.ts';
import { spentByAll } from '../../views/session-spending.ts';
import type { Effect } from './effect.ts';
import type { TurnEnd } from './turn-event.ts';

export type Message = Pick<Chip, 'id' | 'text' | 'attachments'>;

/** A message goes out as a turn of its own. */
export function startTurn(before: ConsoleState, message: Message, atMs: number): Reduced {
  const state = atFork(toNewest(before));
  const effect = sendOf(state, message);
  const { transport } = state.preferences;
  const turn = newTurn({ id: message.id, transport, request: { kind: 'unsent', effect }, startedMs: atMs });
  const page = push({ rows: state.rows, turn }, { kind: 'user', text: message.text });
  const begun: ConsoleState = {
    ...withRows(state, page.rows),
    phase: { name: 'busy', turn: page.turn },
    queue: { ...state.queue, resting: false },
    composer: { ...state.composer, fork: null },
  };
  return withEffects(
    begun,
    saveDraft(begun),
    effect,
    { type: 'follow' },
    { type: 'announce', text: 'Working', urgency: 'status' },
  );
}

export function toNewest(state: ConsoleState): ConsoleState {
  return state.newest === null ? state : { ...state, rows: state.newest, newest: null, earlier: 'more' };
}

/** What the new branch does not have leaves the page. */
function atFork(state: ConsoleState): ConsoleState {
  const { fork } = state.composer;
  if (fork === null) return state;
  const last =
    fork.kind === 'start'
      ? -1
      : state.rows.findLastIndex(({ turn }) => (state.responses.get(turn) ?? turn) === fork.responseId);
  return { ...state, rows: state.rows.slice(0, last + 1), earlier: 'none' };
}

function sendOf(
  { session, composer, rows, preferences }: ConsoleState,
  { id, text, attachments }: Message,
): SendEffect {
  const { model, harness, cwd, fork } = composer;
  if (preferences.transport === 'agent')
    return { type: 'sendSimple', turn: id, prompt: foldPrompt(rows, text), model, cwd };
  const tip = session.kind === 'open' ? session.tip : null;
  return {
    type: 'send',
    turn: id,
    delayMs: 0,
    text,
    attachments,
    previousResponseId: fork === null ? tip : fork.kind === 'after' ? fork.responseId : null,
    fork: fork?.kind === 'after',
    model,
    harness,
  };
}

/** The turn is over. What a person stopped has not failed, whatever it says of itself. */
export function endTurn(
  state: ConsoleState,
  page: Page,
  { end, atMs }: { readonly end: TurnEnd; readonly atMs: number },
): Reduced {
  const { turn } = page;
  const finished = end.ending.kind === 'finished' || end.ending.kind === 'chat-finished';
  const ending = state.phase.name === 'stopping' && !finished ? ({ kind: 'stopped' } as const) : end.ending;
  const { rows } = finishTurn(page, { ...end, ending }, atMs);
  const responseId = responseOf(turn);
  const ended: ConsoleState = {
    ...withRows(state, rows),
    phase: { name: 'ready' },
    session:
      state.session.kind === 'open' && responseId !== null ? { ...state.session, tip: responseId } : state.session,
    queue: settleQueue(state.queue, finished),
    lastTurn: { id: turn.id, responseId, details: turn.details, spent: end.spent, tookMs: atMs - turn.startedMs },
    spent: spentByAll([state.spent, end.spent]),
    composer: finished && end.cwd !== null ? { ...state.composer, cwd: end.cwd } : state.composer,
  };
  const line = endLine(ending);
  const effects = withEffects(
    ended,
    { type: 'detach', turn: turn.id },
    { type: 'announce', text: line.text, urgency: line.kind === 'error' ? 'alert' : 'status' },
    ...afterEnd(ended, turn),
  );
  return andThen(effects, (next) => sendNext(next, atMs));
}

function afterEnd(state: ConsoleState, { transport, details }: Turn): readonly Effect[] {
  if (transport === 'agent') return [{ type: 'saveRows', rows: state.rows }];
  const sessionId = sessionIdOf(state);
  const list: Effect = { type: 'loadSessions', cursor: null };
  return sessionId === null || details.files.length === 0 ? [list] : [list, { type: 'loadFiles', sessionId }];
}

/** What the task did not read any more waits again. */
function settleQueue({ chips, resting }: Queue, finished: boolean): Queue {
  return {
    chips: chips.map((chip): Chip => (chip.state === 'waiting' ? chip : { ...chip, state: 'waiting' })),
    resting: resting || !finished,
  };
}

/** The first message that waits, unless the queue rests. */
export function sendNext(state: ConsoleState, atMs: number): Reduced {
  const [next, ...chips] = state.queue.chips;
  if (state.phase.name !== 'ready' || state.queue.resting || next === undefined) return stay(state);
  return startTurn({ ...state, queue: { ...state.queue, chips } }, next, atMs);
}

/** Of a session that is named after its first message. */
export function titleOf(text: string): string {
  return shorten(collapse(text.trim().split('\n')[0] ?? ''), 80);
}
