import type { Observers } from './observers.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { RunLog } from '../stores/run-log.ts';

/**
 * Tells each run that is written here to observers of its own, from the first event of a leg to its last.
 * @param observe  Who watches a run that begins so; null: nobody.
 */
export function watchRuns(
  log: RunLog,
  observe: (start: RunEventOf<'run-started'>) => Observers | null,
): ReadonlyMap<RunId, Observers> {
  const watching = new Map<RunId, Observers>();
  log.onPublish((runId, events) => {
    // What a person has said may have come in before it.
    const start = events.find((event) => event.type === 'run-started');
    if (start !== undefined && !watching.has(runId)) {
      const observers = observe(start);
      if (observers !== null) watching.set(runId, observers);
    }
    const observers = watching.get(runId);
    if (observers === undefined) return;
    observers.see(events);
    if (events.at(-1)?.type === 'run-result') watching.delete(runId);
  });
  return watching;
}
