import type { RunConfig } from '../core/run-config.ts';
import type { RunId } from '../core/ids.ts';
import type { UnfinishedRun } from '../stores/store.ts';

/**
 * Somebody else who sees to it that runs are worked on: it says when, the log says what (E-870, E-873). What it cannot be
 * told now it is told by the next scan: none of this throws for a scheduler that is away.
 */
export interface RunScheduler {
  /** Whether a run of that configuration is its to start; null: nobody knows how it is configured. */
  takes(config: RunConfig | null): boolean;
  /** The run was admitted. */
  start(runId: RunId): Promise<void>;
  /** A run that was parked may go on, or shall stop. */
  wake(runId: RunId): Promise<void>;
  /** Of runs that nobody is seen to work on, those that are its own; it makes sure that it knows of them. To be asked each second. */
  tend(runs: readonly UnfinishedRun[]): Promise<ReadonlySet<RunId>>;
}
