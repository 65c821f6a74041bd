// The newest events of runs that somebody follows, as they were published. A follower that keeps up reads from here and
// shares the arrays with every other one; one that fell behind reads the store. Bounded per run and in all, so that neither
// one loud run nor many quiet ones grow memory. What all followers have is forgotten at once: events that die young cost
// the garbage collector nothing, and nearly every event could.

import type { RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';

export interface RecentEvents {
  add(runId: RunId, events: readonly RunEvent[], bytes: number): void;
  /** Every event after the cursor, or undefined where some of them are no longer here. */
  after(runId: RunId, cursor: number): readonly RunEvent[] | undefined;
  /** Nobody needs the events up to `through` from here any more. */
  forget(runId: RunId, through: number): void;
  drop(runId: RunId): void;
}

interface Window {
  readonly batches: { readonly events: readonly RunEvent[]; readonly bytes: number }[];
  count: number;
  bytes: number;
}

export interface RecentEventsBounds {
  readonly eventsPerRun: number;
  readonly bytesPerRun: number;
  readonly bytes: number;
}

export function createRecentEvents(bounds: RecentEventsBounds): RecentEvents {
  /** In the order of their last addition: the first is the one to give up. */
  const windows = new Map<RunId, Window>();
  let bytesInAll = 0;

  function drop(runId: RunId): void {
    bytesInAll -= windows.get(runId)?.bytes ?? 0;
    windows.delete(runId);
  }

  function shift(window: Window): void {
    const oldest = window.batches.shift();
    if (oldest === undefined) return;
    window.count -= oldest.events.length;
    window.bytes -= oldest.bytes;
    bytesInAll -= oldest.bytes;
  }

  return {
    add(runId, events, bytes) {
      // Others may have written in between: what stands before a hole is no use to anybody.
      const newest = windows.get(runId)?.batches.at(-1)?.events.at(-1)?.seq;
      if (newest !== undefined && newest + 1 !== events[0]?.seq) drop(runId);
      const window = windows.get(runId) ?? { batches: [], count: 0, bytes: 0 };
      windows.delete(runId);
      windows.set(runId, window);
      window.batches.push({ events, bytes });
      window.count += events.length;
      window.bytes += bytes;
      bytesInAll += bytes;
      while (window.count > bounds.eventsPerRun || window.bytes > bounds.bytesPerRun) shift(window);
      while (bytesInAll > bounds.bytes) {
        const [stalest] = windows.keys();
        if (stalest === undefined) return;
        drop(stalest);
      }
    },
    after(runId, cursor) {
      const batches = windows.get(runId)?.batches ?? [];
      // The usual follower is one batch behind: look from the end.
      let from = batches.length;
      while (from > 0 && (batches[from - 1]?.events[0]?.seq ?? 0) > cursor) from -= 1;
      const [next] = batches[from]?.events ?? [];
      if (next?.seq !== cursor + 1) return undefined;
      const ahead = batches.slice(from);
      return ahead.length === 1 ? ahead[0]?.events : ahead.flatMap(({ events }) => events);
    },
    forget(runId, through) {
      const window = windows.get(runId);
      if (window === undefined) return;
      const { batches } = window;
      for (let [oldest] = batches; (oldest?.events.at(-1)?.seq ?? Infinity) <= through; [oldest] = batches)
        shift(window);
    },
    drop,
  };
}
