import type { Observers } from './observers.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { RunLog } from '../stores/run-log.ts';

type Start = RunEventOf<'run-started'>;

export interface RunWatch {
  get(runId: RunId): Observers | undefined;
  /** A leg that began so goes on here, without an event that says so. */
  join(start: Start): void;
  /** It goes on elsewhere. */
  leave(runId: RunId): void;
}

export interface WatchOptions {
  /** Who watches a run that begins so; null: nobody. */
  observe(start: Start): Observers | null;
  /** Whether a run that is admitted here is worked on by who joins it. Absent: none is. */
  isJoined?(start: Start): boolean;
}

/** Tells each run that is written here to observers of its own, from the first event of a leg to its last. */
export function watchRuns(log: RunLog, options: WatchOptions): RunWatch {
  const watching = new Map<RunId, Observers>();
  const begin = (start: Start) => {
    const observers = options.observe(start);
    if (observers !== null) watching.set(start.runId, observers);
    return observers;
  };
  const leave = (runId: RunId) => {
    watching.get(runId)?.leave();
    watching.delete(runId);
  };
  log.onPublish((runId, events) => {
    // What a person has said may have come in before it.
    const start = events.find((event) => event.type === 'run-started');
    if (start !== undefined && !watching.has(runId)) begin(start);
    const observers = watching.get(runId);
    if (observers === undefined) return;
    observers.see(events);
    if (events.at(-1)?.type === 'run-result') watching.delete(runId);
    else if (start !== undefined && start.leg === 1 && options.isJoined?.(start) === true) leave(runId);
  });
  return {
    get: (runId) => watching.get(runId),
    join: (start) => (watching.get(start.runId) ?? begin(start))?.join(start),
    leave,
  };
}
