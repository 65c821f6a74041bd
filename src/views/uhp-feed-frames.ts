import { createUhpView } from './uhp-view.ts';
import { encodeComment, encodeUnnumberedSse } from '../protocol/sse.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';

/** The first thing a feed says: from here on nothing is missed. */
export const feedOpening = encodeComment('open');

/**
 * One task's events as a harness's feed shows them (UD-79): as in the task's own stream, with the ids of response and
 * session, and without an `id:` line, as the feed cannot be resumed.
 */
export function createFeedFrames(source: {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly reinsEvents: boolean;
}): { push(event: EventDraft | RunEvent): readonly string[] } {
  const view = createUhpView({ ...source, emit: true });
  const ids = { response_id: source.runId, session_id: source.sessionId };
  return { push: (event) => view.push(event).map((wire) => encodeUnnumberedSse(JSON.stringify({ ...wire, ...ids }))) };
}
