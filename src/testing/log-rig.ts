// A run log over a store and a manual clock, and readers of it, for tests of its write and read sides.

import { silentLogger } from '../core/logger.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { createRunLog, type RunLog, type RunLogOptions, type RunWriter } from '../stores/run-log.ts';
import type { Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { admissionOf, resultDraft } from './store-samples.ts';

export interface OpenedRun {
  readonly admission: Admission;
  readonly writer: RunWriter;
}

export interface LogRig {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly log: RunLog;
  readonly open: (name: string) => Promise<OpenedRun>;
}

/** A log over a store, without a window unless asked for; `faults` replaces some of the store's methods. */
export function logRig(
  real: Store,
  faults: (store: Store) => Partial<Store> = () => ({}),
  options: Partial<RunLogOptions> = {},
): LogRig {
  const store: Store = { ...real, ...faults(real) };
  const clock = createManualClock();
  const log = createRunLog({ store, clock, logger: silentLogger, windowMs: 0, ...options });
  return {
    store,
    clock,
    log,
    async open(name) {
      const admission = admissionOf(name);
      await log.admit(admission);
      const { runId, sessionId } = admission;
      return { admission, writer: log.writer({ runId, sessionId, generation: 1, lastSeq: 1, leg: 1 }) };
    },
  };
}

export interface Reader {
  readonly seen: RunEvent[];
  readonly done: Promise<void>;
  stop(): void;
}

export function read(log: RunLog, { runId }: Admission, after = 0, gate?: Promise<void>): Reader {
  const seen: RunEvent[] = [];
  const stop = new AbortController();
  const run = async () => {
    for await (const batch of log.follow(runId, { after, signal: stop.signal })) {
      seen.push(...batch);
      await gate;
    }
  };
  return { seen, done: run(), stop: () => stop.abort() };
}

export const seqs = (events: readonly RunEvent[]) => events.map(({ seq }) => seq);
export const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, index) => from + index);
export const lastSeq = async (store: Store, { admission }: OpenedRun) =>
  (await store.run(admission.runId))?.lastSeq ?? 0;
export const ending = { status: 'completed', response: null, atMs: 9 } as const;
export const end = ({ admission, writer }: OpenedRun, more: readonly EventDraft[] = []) =>
  writer.end([...more, resultDraft(admission.runId, admission.sessionId)], ending);
