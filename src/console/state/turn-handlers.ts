import { attached, failRead, loseStream, pollOnly, readResponse, winSlot } from './keep-link.ts';
import { failSteer } from './queue.ts';
import { endTurn } from './run-turn.ts';
import { bareEnd, endingOf } from './end-line.ts';
import { failCancel, markSent } from './stop-turn.ts';
import { receive, takeAll } from './receive.ts';
import { refuseDecision, takeDecision } from './approvals.ts';
import { stay } from './reduced.ts';
import { takeBack } from './take-back.ts';
import { turnOf } from './state.ts';
import type { Handlers } from './handlers.ts';
import type { TurnAction } from './action.ts';

export const turnHandlers: Handlers<TurnAction['type']> = {
  sent: (state, { turn }) => stay(markSent(state, turn)),
  received: receive,
  answered: (state, { turn, events, atMs }) =>
    turnOf(state)?.id === turn ? takeAll(state, events, atMs) : stay(state),
  refused(state, { turn: id, status, message, atMs }) {
    const turn = turnOf(state);
    if (turn === null || turn.id !== id) return stay(state);
    const end = bareEnd(endingOf({ text: message, status }));
    return endTurn(state, { rows: state.rows, turn }, { end, atMs });
  },
  signed_out: takeBack,
  attached: (state, { turn }) => attached(state, turn),
  stream_lost: loseStream,
  poll_only: (state, { turn }) => pollOnly(state, turn),
  slot_won: (state, { turn }) => winSlot(state, turn),
  response_read: readResponse,
  read_failed: failRead,
  cancel_failed: (state, { turn, message }) => failCancel(state, turn, { id: `stop ${turn}`, text: message }),
  // It stands as a chip until the task has read it.
  steered: (state) => stay(state),
  steer_failed: failSteer,
  decided: (state, { approval }) => takeDecision(state, approval),
  decide_failed: refuseDecision,
};
