import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';

/** Events of one leg of a run behind `after`. */
export type FollowRun = (runId: RunId, after: number) => AsyncIterable<readonly RunEvent[]>;

/**
 * A run's events with those of its sub-agents among them, where they happened: a delegated call is at work alone, so its
 * run's events stand between its dispatch and what follows. They carry the path to their agent (E-905).
 */
export async function* withChildren(
  events: AsyncIterable<readonly RunEvent[]>,
  follow: FollowRun,
): AsyncGenerator<readonly RunEvent[]> {
  const names = new Map<string, string>();
  const read = new Map<RunId, number>();
  for await (const batch of events) {
    let shown: RunEvent[] = [];
    for (const event of batch) {
      shown.push(event);
      if (event.type === 'tool-call-start') names.set(event.data.id, event.data.name.replace(/^delegate_/, ''));
      if (event.type !== 'tool-dispatched' || event.data.childRunId === undefined) continue;
      yield shown;
      shown = [];
      const { childRunId, id } = event.data;
      for await (const inner of withChildren(follow(childRunId, read.get(childRunId) ?? 0), follow)) {
        const own = inner.filter(({ runId }) => runId === childRunId).at(-1);
        if (own !== undefined) read.set(childRunId, own.seq);
        yield inner.map((each) => ({ ...each, agentPath: [names.get(id) ?? '', ...(each.agentPath ?? [])] }));
      }
    }
    if (shown.length > 0) yield shown;
  }
}
