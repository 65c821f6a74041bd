import { runLoop, type EngineParts, type RunLoopOptions } from '../../engine/run-loop.ts';
import type { Capabilities, HarnessAdapter, HarnessSession, OpenSessionOptions, TurnOptions } from '../harness.ts';
import type { ModelChoice, ModelListing } from '../../core/model-choice.ts';
import type { RunState } from '../../core/run-state.ts';

/** The models behind the engine: what the catalogue offers the adapter. */
export interface NativeModels {
  list(): readonly ModelListing[];
  choose(requested: string | null): ModelChoice;
  readonly defaultModel: string;
}

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'stream',
  approvals: 'none',
  questions: 'no',
  steer: 'none',
  cancel: 'in-band',
  resume: 'chosen-id',
  disabledTools: 'block',
  maxStep: 'exact',
  usage: 'per-step',
};

/** The engine that ships with Reins, as one harness among others. */
export function createNativeAdapter(parts: EngineParts, models: NativeModels): HarnessAdapter {
  return {
    base: 'native',
    label: 'Reins',
    probe: async () => ({
      installed: true,
      version: null,
      problem: null,
      models: models.list(),
      defaultModel: models.defaultModel,
      capabilities,
    }),
    chooseModel: async (requested) => models.choose(requested),
    openSession: async (options) => openNativeSession(parts, options),
  };
}

function openNativeSession(parts: EngineParts, { history, workspace }: OpenSessionOptions): HarnessSession {
  const run = (state: RunState, { signal }: TurnOptions, how: Pick<RunLoopOptions, 'recovering'>) =>
    runLoop(parts, { state, history, workspace, signal, ...how });
  return {
    prompt: (state, options) => run(state, options, { recovering: false }),
    attach: (state, options) => run(state, options, { recovering: true }),
    async [Symbol.asyncDispose]() {},
  };
}
