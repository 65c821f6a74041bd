// The workflow of one run: asks the core what comes next and schedules it. It knows the run only by what its activities tell
// of the log, has no effect of its own, and costs nothing while the run waits (E-870, E-871).
//
// F1. The log decides: whatever an activity returns is how the run stands, and the next command is made from that (E-873).
// F2. It is the same whenever it is replayed: nothing but the core and Temporal's own calls is used here. A change of what
//     is scheduled, or in which order, goes behind `patched()` (E-886).
// F3. A history never grows for long: between two steps it begins anew, and takes along what it knows of the owner (E-881).
// F4. Whatever ends it, the run is closed first (E-884).

import {
  CancellationScope,
  condition,
  continueAsNew,
  ContinueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import { decide, type Command } from '../../engine/decide.ts';
import { wakeSignal, type Activities, type Closing, type RunInput, type Standing } from './contract.ts';

/** Workers are lost; everything else is an outcome, or final (E-874, E-876). */
const retry = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds' } as const;
const options = { retry, cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const satisfies ActivityOptions;

/** It only reads. */
const quick = proxyActivities<Activities>({ ...options, startToCloseTimeout: '30 seconds' });
/** Its own watches bound what happens in it; the heartbeat tells a lost worker from a slow model, or a large folder (E-877). */
const slow = proxyActivities<Activities>({ ...options, startToCloseTimeout: '7 days', heartbeatTimeout: '20 seconds' });

/** Histories are to end well below what Temporal refuses (51,200). */
const mostEvents = 8_000;
/** How long a word of a later release is left to its workers. */
const laterReleaseMs = 5_000;

export async function reinsRunV1({ runId, generation }: RunInput): Promise<void> {
  const scope = CancellationScope.current();
  let input: RunInput = { v: 1, runId, ...(generation === undefined ? {} : { generation }) };
  let isWoken = false;
  setHandler(defineSignal(wakeSignal), () => {
    isWoken = true;
  });
  /** False: the time was up. */
  const woken = async (withinMs?: number): Promise<boolean> => {
    const told = withinMs === undefined ? await condition(() => isWoken) : await condition(() => isWoken, withinMs);
    if (told !== false) isWoken = false;
    return told !== false;
  };

  async function advance(run: Standing): Promise<Standing> {
    switch (run.at) {
      case 'over':
        return run;
      case 'parked':
        await woken();
        return quick['reins.load.v1'](input);
      case 'ready':
        return slow['reins.append.v1']({ ...input, generation: run.generation });
      case 'open': {
        const command = decide(run.outline);
        const waitMs = waitOf(command) - Date.now();
        if (waitMs > 0 && !run.isFlagged && (await woken(waitMs))) return quick['reins.load.v1'](input);
        return perform(command, { ...input, generation: run.generation, why: 'due' });
      }
      default:
        // A worker of a later release said it, and one of those will be asked what comes next (E-886).
        run satisfies never;
        await woken(laterReleaseMs);
        return quick['reins.load.v1'](input);
    }
  }

  try {
    let run: Standing = await quick['reins.load.v1'](input);
    while (run.at !== 'over') {
      if (run.at !== 'parked') input = { ...input, generation: run.generation };
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      const isLong = continueAsNewSuggested || historyLength >= mostEvents;
      // The next history would not hear of a cancel that this one has been told of.
      if (isLong && !scope.consideredCancelled) await continueAsNew<typeof reinsRunV1>(input);
      run = await advance(run);
    }
  } catch (cause) {
    if (cause instanceof ContinueAsNew) throw cause;
    // What was being cancelled is not given to another worker, so that it failed says nothing.
    const why = isCancellation(cause) || scope.consideredCancelled ? 'cancelled' : 'failed';
    const closing = { generation: 0, ...input, why } as const;
    await CancellationScope.nonCancellable(() => slow['reins.close.v1'](closing));
    throw cause;
  }
}

/** The moment before which a retry may not begin; it is stored, so it is the same for whoever asks (E-214). */
function waitOf(command: Command): number {
  return command.do === 'call-model' ? (command.notBeforeMs ?? 0) : 0;
}

function perform(command: Command, { why, ...stretch }: Closing): Promise<Standing> {
  switch (command.do) {
    case 'open-step':
    case 'call-model':
      return slow['reins.callModel.v1'](stretch);
    case 'run-tools':
      return slow['reins.runTool.v1'](stretch);
    case 'refuse-calls':
    case 'collect-tools':
    case 'park':
      return slow['reins.append.v1'](stretch);
    case 'finish':
      return slow['reins.close.v1']({ ...stretch, why });
    case 'none':
      return quick['reins.load.v1'](stretch);
  }
}
