import { stampEvent } from './event-shape.ts';
import type { Append, UnnumberedEvent } from './store.ts';

/** What is appended at once. */
export interface WriteBatch {
  readonly events: UnnumberedEvent[];
  /** They name lost deltas and go before the events. A gap alone is as dispensable as the deltas it names. */
  gaps: readonly UnnumberedEvent[];
  bytes: number;
  /** True once it holds a fact. */
  committed: boolean;
  end: Append['end'];
  /** Present once somebody waits for it. */
  stored: PromiseWithResolvers<void> | null;
  failures: number;
  firstFailureMs: number;
}

export function newBatch(): WriteBatch {
  return {
    events: [],
    gaps: [],
    bytes: 0,
    committed: false,
    end: undefined,
    stored: null,
    failures: 0,
    firstFailureMs: 0,
  };
}

/** Events that it adds to the log. */
export function sizeOf({ gaps, events }: WriteBatch): number {
  return gaps.length + events.length;
}

/** One gap for each attempt that lost live events; gaps that are lost themselves stay. */
export function gapsFor(lost: readonly UnnumberedEvent[]): readonly UnnumberedEvent[] {
  const gaps = new Map<string, UnnumberedEvent>();
  for (const event of lost) {
    if (event.type === 'waiting') continue;
    const { step, attempt } = event;
    const data = { reason: 'deltas_lost', step, attempt } as const;
    const key = `${event.type === 'gap' ? event.data.reason : data.reason}:${step}:${attempt}`;
    gaps.set(key, event.type === 'gap' ? event : stampEvent({ type: 'gap', step, attempt, data }, event));
  }
  return [...gaps.values()];
}
