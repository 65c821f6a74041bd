// Messages that wait while the agent works (C-045, C-046). A task that can be steered is given them at its next step; otherwise
// each is a turn of its own.

import { isOpen } from './tool-card.ts';
import { isUndecided } from './from-uhp.ts';
import { responseOf, type Turn } from './turn.ts';
import { stay, withEffects, type Reduced } from './reduced.ts';
import { turnOf, type Chip, type ConsoleState } from './state.ts';
import type { Action } from './action.ts';

export function addChip(state: ConsoleState, chip: Omit<Chip, 'state'>): Reduced {
  const added: ConsoleState = {
    ...state,
    queue: { ...state.queue, chips: [...state.queue.chips, { ...chip, state: 'waiting' }] },
  };
  return atBoundary(added) ? steerWaiting(added) : stay(added);
}

/** A step is under way whose end will read what comes now: a call runs, or a person is waited for. */
function atBoundary(state: ConsoleState): boolean {
  const turn = turnOf(state);
  if (turn === null) return false;
  if (state.approvals.some(({ approval }) => isUndecided(approval) && approval.response_id === responseOf(turn)))
    return true;
  const card = state.rows.findLast((row) => row.kind === 'tool_run' && row.turn === turn.id);
  return card?.kind === 'tool_run' && card.items.some(isOpen);
}

/** The task gets what waits, in order. A message with files is a turn of its own, and none overtakes it. */
export function steerWaiting(state: ConsoleState): Reduced {
  const turn = turnOf(state);
  const responseId = turn === null ? null : responseOf(turn);
  if (turn === null || responseId === null || !canSteer(state, turn)) return stay(state);
  const { chips } = state.queue;
  const first = chips.findIndex(({ attachments }) => attachments.length > 0);
  const going = chips.slice(0, first < 0 ? chips.length : first).filter((chip) => chip.state === 'waiting');
  if (going.length === 0) return stay(state);
  const ids = new Set(going.map(({ id }) => id));
  const steering = chips.map((chip): Chip => (ids.has(chip.id) ? { ...chip, state: 'steering' } : chip));
  return withEffects(
    { ...state, queue: { ...state.queue, chips: steering } },
    ...going.map(({ id, text }) => ({ type: 'steer', responseId, messageId: id, text }) as const),
  );
}

function canSteer(state: ConsoleState, turn: Turn): boolean {
  return state.phase.name === 'busy' && turn.transport === 'task' && state.catalogue.steering;
}

export function changeChip(state: ConsoleState, id: string, change: (chip: Chip) => Chip | null): ConsoleState {
  const chips = state.queue.chips.flatMap((chip) => (chip.id === id ? (change(chip) ?? []) : chip));
  return { ...state, queue: { ...state.queue, chips } };
}

/** It was not taken in: it goes out as a turn, or with the next step. */
export function failSteer(state: ConsoleState, { messageId, why }: Extract<Action, { type: 'steer_failed' }>): Reduced {
  const waiting = changeChip(state, messageId, (chip) => ({ ...chip, state: 'waiting' }));
  return stay(why === 'unsupported' ? { ...waiting, catalogue: { ...waiting.catalogue, steering: false } } : waiting);
}

/** What a message that waits is waiting for. */
export function chipNote(state: ConsoleState, chip: Chip): string {
  if (chip.state === 'steering')
    return state.approvals.some(({ approval }) => isUndecided(approval))
      ? 'Read after your decision'
      : 'Read at the next step';
  return state.queue.resting ? 'Rests until you send again' : 'Goes out next';
}
