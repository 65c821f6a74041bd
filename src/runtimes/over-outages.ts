// Reading on where a log cannot be read: the hole is named once, nothing that was given is given again (E-150, E-151).

import { sleep } from '../core/clock.ts';
import { StorageError } from '../core/errors.ts';
import type { RunEvent, RunEventOf } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { Services } from '../tasks/services.ts';

/** A store that cannot be read is asked again as often. */
const retryMs = 1_000;

export interface OutageOptions {
  readonly sessionId: SessionId;
  readonly after: number;
  readonly signal?: AbortSignal;
}

/**
 * Events of a run behind a cursor, as the log follows them. Over damaged events it goes on behind them; while the store
 * cannot be read at all it waits. Both are told by a `gap` with `event_history_unavailable`, once an outage: with `to`, its
 * number is that of the last event it stands for.
 */
export async function* overOutages(
  sources: Pick<Services, 'store' | 'log' | 'clock'>,
  runId: RunId,
  { sessionId, after, signal }: OutageOptions,
): AsyncGenerator<readonly RunEvent[]> {
  let cursor = after;
  let told = false;
  const isLeft = () => signal?.aborted === true;
  while (!isLeft()) {
    try {
      for await (const events of sources.log.follow(runId, {
        after: cursor,
        ...(signal === undefined ? {} : { signal }),
      })) {
        cursor = events.at(-1)?.seq ?? cursor;
        told = false;
        yield events;
      }
      return;
    } catch (cause) {
      if (!(cause instanceof StorageError) || isLeft()) throw cause;
    }
    const to = await endOfDamage(sources, runId, cursor);
    if (to !== null || !told) yield [gap({ runId, sessionId, atMs: sources.clock.now(), cursor, to })];
    told = to === null;
    if (to === null) await sleep(sources.clock, retryMs, signal);
    cursor = to ?? cursor;
  }
}

export function isOutage(event: RunEvent | undefined): event is RunEventOf<'gap'> {
  return event?.type === 'gap' && event.data.reason === 'event_history_unavailable';
}

function gap(o: {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly atMs: number;
  readonly cursor: number;
  readonly to: number | null;
}): RunEvent {
  const { runId, sessionId, atMs, cursor, to } = o;
  const data = { reason: 'event_history_unavailable', from: cursor + 1, ...(to === null ? {} : { to }) } as const;
  return { v: 1, seq: to ?? cursor, runId, sessionId, at: atMs, leg: 0, step: 0, attempt: 0, type: 'gap', data };
}

/** The number of the last event that is damaged; null: it is the store that cannot be read, or there is nothing behind. */
async function endOfDamage({ store }: Pick<Services, 'store'>, runId: RunId, cursor: number): Promise<number | null> {
  const readable = async (after: number) => {
    try {
      await store.readEvents(runId, { after, limit: 1 });
      return true;
    } catch (cause) {
      if (cause instanceof StorageError) return false;
      throw cause;
    }
  };
  const last = (await store.run(runId).catch(() => null))?.lastSeq ?? null;
  // The end itself can always be read, as there is nothing behind it.
  if (last === null || last <= cursor || (await readable(cursor)) || !(await readable(last))) return null;
  let [damaged, sound] = [cursor, last];
  while (sound - damaged > 1) {
    const middle = Math.floor((damaged + sound) / 2);
    if (await readable(middle)) sound = middle;
    else damaged = middle;
  }
  return sound;
}
