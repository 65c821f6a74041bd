// What workflow and workers say to each other. Histories outlive releases: a name or a field that stands here is never changed
// and never taken away, and who reads ignores what it does not know (E-886). Pure: the workflow imports it.

import type { Outline } from '../../engine/decide.ts';
import type { RunId } from '../../core/ids.ts';

/** The name under which the workflow is exported. */
export const workflowType = 'reinsRunV1';
/** Of two runs' workflows no two have one id, whoever starts them (E-870). */
export const workflowIdOf = (runId: RunId) => `reins-run:${runId}`;
/** A hint that the store has news of the run; it carries nothing (E-880). */
export const wakeSignal = 'reins.wake.v1';

/** All that a workflow is started with, and goes on with in a new history: the log has the rest (E-881). */
export interface RunInput {
  readonly v: 1;
  readonly runId: RunId;
  /** Of the owner that the workflow knows of; absent: it knows nothing of the run. */
  readonly generation?: number;
}

/** One stretch of a run: nothing where its owner's generation is not that any more (E-875). */
export interface Stretch extends RunInput {
  readonly generation: number;
}

export interface Closing extends Stretch {
  /** `due`: the core says that it has ended; else what happened to its workflow. */
  readonly why: 'due' | 'cancelled' | 'failed';
}

/** How a run stands, by its log (E-873). */
export type Standing =
  | { readonly v: 1; readonly at: 'over' }
  /** Parked: nothing is to be done until it is woken. */
  | { readonly v: 1; readonly at: 'parked' }
  /** Parked, and its next leg can begin. */
  | { readonly v: 1; readonly at: 'ready'; readonly generation: number }
  | {
      readonly v: 1;
      readonly at: 'open';
      readonly generation: number;
      readonly outline: Outline;
      /** Somebody wants it to stop or to pause: no wait is waited out. */
      readonly isFlagged: boolean;
    };

/** Activities under their lasting names (E-871). */
export interface Activities {
  'reins.load.v1'(input: RunInput): Promise<Standing>;
  /** Opens the step, where none is open, and calls its model once. */
  'reins.callModel.v1'(input: Stretch): Promise<Standing>;
  /** The calls of one reply, to the end of their step. */
  'reins.runTool.v1'(input: Stretch): Promise<Standing>;
  /** What only the log hears of: answers that need no tool, a park, the beginning of a leg. */
  'reins.append.v1'(input: Stretch): Promise<Standing>;
  'reins.close.v1'(input: Closing): Promise<Standing>;
}
