// The one way from a draft to a stored event. All events are built here, field by field in one order: a replayed event then
// prints the same bytes as the live one (B051), and folds see objects of one shape.

import type { RunId, SessionId } from '../core/ids.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { UnnumberedEvent } from './store.ts';

/** What the log knows of an event and its producer does not. */
export interface EventStamp {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly at: number;
  readonly leg: number;
}

export function stampEvent(draft: EventDraft, { runId, sessionId, at, leg }: EventStamp): UnnumberedEvent {
  const { type, step, attempt, block, agentPath, data } = draft;
  // Each delta passes here: spreading optional fields would cost as much as all the rest.
  const event =
    block === undefined
      ? { v: 1, runId, sessionId, at, leg, step, attempt, type, data }
      : { v: 1, runId, sessionId, at, leg, step, attempt, block, type, data };
  // `type` and `data` come from one draft and belong together; the compiler loses that when they are taken apart.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (agentPath === undefined ? event : { ...event, agentPath }) as UnnumberedEvent;
}

export function numberEvent(event: UnnumberedEvent, seq: number): RunEvent {
  return { ...event, seq };
}

/** Both at once, for a log that numbers events as they come: a delta is then made once. */
export function numberedEvent(draft: EventDraft, stamp: EventStamp, seq: number): RunEvent {
  const { type, step, attempt, block, agentPath, data } = draft;
  if (block === undefined || agentPath !== undefined) return numberEvent(stampEvent(draft, stamp), seq);
  const { runId, sessionId, at, leg } = stamp;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- As above.
  return { v: 1, runId, sessionId, at, leg, step, attempt, block, type, data, seq } as RunEvent;
}

/** Numbers the events of one append: `after + 1`, `after + 2` … (L1). */
export function numberEvents(events: readonly UnnumberedEvent[], after: number): RunEvent[] {
  return events.map((event, index) => numberEvent(event, after + 1 + index));
}

/** True for the event after which a log holds nothing more (E-122). */
export function endsLog(event: RunEvent): boolean {
  if (event.type !== 'run-result') return false;
  const { status } = event.data;
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
