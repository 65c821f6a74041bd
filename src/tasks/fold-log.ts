import { createUhpFrames, type UhpFrames } from '../views/uhp-frames.ts';
import { evolve, initialRunState, type RunState } from '../core/run-state.ts';
import { DamageError } from '../core/errors.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface FoldedLog {
  readonly state: RunState;
  /** Response and stream so far, in the form that the task was asked for. Whoever folded it may go on with it. */
  readonly frames: UhpFrames;
  /** The last event that is folded. */
  readonly lastSeq: number;
  /** Why the log cannot be read to its end; what stands before the damage is folded (E-804). */
  readonly damage: DamageError | null;
}

/**
 * State and response of a run, from its log; for a new run that is its `run-started`.
 * @throws StorageError  The store cannot be read now.
 */
export async function foldLog(
  { log }: Pick<Services, 'log'>,
  { runId, sessionId }: Pick<RunRecord, 'runId' | 'sessionId'>,
): Promise<FoldedLog> {
  let state = initialRunState(runId, sessionId);
  let frames: UhpFrames | null = null;
  let lastSeq = 0;
  const open = () =>
    createUhpFrames({ runId, sessionId, reinsEvents: state.task?.reinsEvents ?? false, encode: false });
  try {
    for await (const events of log.readAll(runId)) {
      for (const event of events) state = evolve(state, event);
      frames ??= open();
      frames.push(events);
      lastSeq = events.at(-1)?.seq ?? lastSeq;
    }
  } catch (cause) {
    if (!(cause instanceof DamageError)) throw cause;
    return { state, frames: frames ?? open(), lastSeq, damage: cause };
  }
  return { state, frames: frames ?? open(), lastSeq, damage: null };
}
