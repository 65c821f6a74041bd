import { durationText } from './usage.ts';
import { hasExpired } from './verdict-text.ts';
import { needsPerson } from './approvals.ts';
import { isPaused } from './pause.ts';
import { responseOf, type Activity } from './turn.ts';
import { turnOf, type ConsoleState } from './state.ts';

/** The one status line (C-013, C-031); null: nothing is under way. What keeps a person waiting comes first. */
export function statusText(state: ConsoleState, nowMs = state.nowMs): string | null {
  const { phase } = state;
  if (phase.name === 'boot') return state.session.kind === 'loading' ? 'Loading…' : null;
  const turn = turnOf(state);
  if (turn === null) return state.network === 'offline' ? 'Offline' : null;
  if (phase.name === 'stopping') return 'Stopping…';
  if (state.network === 'offline') return 'Offline · the agent goes on';
  if (isReconnecting(state)) {
    const leftMs = nextTryMs(state, nowMs);
    return leftMs === null ? 'Reconnecting…' : `Reconnecting… · next try in ${durationText(leftMs)}`;
  }
  const asks = state.approvals.some(
    (card) => card.approval.response_id === responseOf(turn) && needsPerson(card) && !hasExpired(card.approval, nowMs),
  );
  if (asks) return 'Waiting for your decision';
  return isPaused(state) ? 'Paused' : activityText(turn.activity, nowMs);
}

export function isReconnecting(state: ConsoleState): boolean {
  const link = turnOf(state)?.link;
  return link?.kind === 'lost' || link?.kind === 'rereading' || (link?.kind === 'opening' && link.tries > 0);
}

/** How long it is still waited before the server is asked again; null: it is not, or for less than a person notices. */
export function nextTryMs(state: ConsoleState, nowMs = state.nowMs): number | null {
  const link = turnOf(state)?.link;
  const leftMs = link?.kind === 'lost' ? link.untilMs - nowMs : 0;
  return leftMs < 1_500 ? null : leftMs;
}

function activityText(activity: Activity, nowMs: number): string {
  switch (activity.kind) {
    case 'working':
      return 'Working…';
    case 'waiting': {
      const what = {
        model: 'the model',
        tool: activity.name ?? 'a tool',
        capacity: `a free place${activity.name === null ? '' : `, ${activity.name}`}`,
      }[activity.on];
      const heard = activity.heardMs === null ? '' : ` · last sign of it ${durationText(nowMs - activity.heardMs)} ago`;
      return `Waiting for ${what} · ${durationText(nowMs - activity.sinceMs)}${heard}`;
    }
    case 'retrying': {
      const left = activity.untilMs === null ? 0 : activity.untilMs - nowMs;
      return left > 0 ? `Retrying in ${durationText(left)}` : 'Retrying…';
    }
  }
}

/** `2/5 · <current item>` (C-052); null: there is no list. */
export function todoLine({ todos }: Pick<ConsoleState, 'todos'>): string | null {
  if (todos === null || todos.total === 0) return null;
  return `${todos.completed}/${todos.total}${todos.current === null ? '' : ` · ${todos.current}`}`;
}

/** Where to go on from, for whoever keeps it over a reload (C-002); null: nothing is under way. */
export function cursorOf(state: ConsoleState): { readonly responseId: string; readonly number: number } | null {
  const turn = turnOf(state);
  const responseId = turn === null ? null : responseOf(turn);
  return turn === null || responseId === null ? null : { responseId, number: turn.cursor };
}
