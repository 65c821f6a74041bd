import { beginningOf } from './beginning-of.ts';
import { createUhpView } from '../views/uhp-view.ts';
import { NotFoundError, RequestError } from '../core/errors.ts';
import type { FrameBatch, FrameSource } from './frame-feeds.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

export interface Cursor {
  readonly runId: RunId;
  /** The last `sequence_number` seen; null = none. */
  readonly after: number | null;
  /** Null = as the task was asked for (UD-24). The two forms are numbered apart. */
  readonly reinsEvents: boolean | null;
}

/** Opens the stream of a task: its events behind the cursor, encoded; then live ones; ends after the terminal event. */
export type OpenFrames = (signal: AbortSignal) => AsyncIterable<FrameBatch>;

/**
 * What a re-attaching reader gets (UD-17): a stream, or null because it has the terminal event.
 * @throws RequestError  400 `reins_cursor_out_of_range`; 410 `reins_event_log_expired` (UD-18).
 */
export async function followTask(services: Services, cursor: Cursor): Promise<OpenFrames | null> {
  const { runId, after } = cursor;
  if (await services.store.isPruned(runId)) throw await logExpired(services, runId);
  const source = await sourceOf(services, cursor);
  if (after !== null) {
    const { last, ended } = await lastFrame(services, source);
    if (after > last) throw outOfRange(last);
    if (ended && after === last) return null;
  }
  return (signal) => services.frames.follow(source, { after: after ?? -1, signal });
}

async function sourceOf(
  { store }: Services,
  { runId, reinsEvents }: Pick<Cursor, 'runId' | 'reinsEvents'>,
): Promise<FrameSource> {
  const first = await beginningOf({ store }, runId);
  if (first === null) throw new NotFoundError('response');
  const own = first.data.task?.reinsEvents ?? false;
  return { runId, sessionId: first.sessionId, reinsEvents: reinsEvents ?? own };
}

/** The number of the last event so far: nothing is encoded to learn it. */
async function lastFrame({ log }: Services, source: FrameSource): Promise<{ last: number; ended: boolean }> {
  const view = createUhpView({ ...source, emit: false });
  for await (const events of log.readAll(source.runId)) for (const event of events) view.push(event);
  return { last: view.sequence - 1, ended: view.ended };
}

function outOfRange(last: number): RequestError {
  return new RequestError({
    status: 400,
    errorType: 'invalid_request_error',
    code: 'reins_cursor_out_of_range',
    message: 'The cursor is beyond the last event of this response.',
    param: 'starting_after',
    detail: { last_sequence_number: last },
  });
}

async function logExpired({ store }: Services, runId: RunId): Promise<RequestError> {
  const response = (await store.run(runId))?.response;
  return new RequestError({
    status: 410,
    errorType: 'invalid_request_error',
    code: 'reins_event_log_expired',
    message: 'The events of this response are past their retention; read the response itself.',
    detail: { response_id: runId, status: response?.['status'] ?? null },
  });
}
