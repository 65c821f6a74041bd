import { runLoop } from '../../engine/run-loop.ts';
import type { EngineParts } from '../../engine/engine-parts.ts';
import type { ToolSource } from '../../engine/tool.ts';
import type { Capabilities, HarnessAdapter, HarnessSession, OpenSessionOptions, TurnOptions } from '../harness.ts';
import type { ModelChoice, ModelListing } from '../../core/model-choice.ts';
import type { LeftBy, TaskFacts } from '../../core/run-event.ts';
import type { RunConfig } from '../../core/run-config.ts';
import type { RunId, SessionId } from '../../core/ids.ts';
import type { RunState } from '../../core/run-state.ts';

/** The models behind the engine: what the catalogue offers the adapter. */
export interface NativeModels {
  list(): readonly ModelListing[];
  choose(requested: string | null): ModelChoice;
  readonly defaultModel: string;
}

/** Of the engine, whoever puts it to use. */
export const nativeCapabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'stream',
  approvals: 'every-call',
  questions: 'yes',
  steer: 'next-step',
  cancel: 'in-band',
  resume: 'chosen-id',
  disabledTools: 'block',
  maxStep: 'exact',
  usage: 'per-step',
  denial: 'goes-on',
  tree: 'proven',
  fork: 'yes',
  compact: 'yes',
  hostTools: 'no',
  mcp: ['http', 'sse', 'stdio'],
  skills: 'folder',
  servedModel: 'told',
  resets: 'told',
  sandbox: 'own',
};

/** Tools that a harness brings beside those that all have. */
export interface HarnessTools {
  /** For one turn; to be disposed of when its session is. */
  open(run: ExtendedRun, workspace: string): AsyncDisposable & { readonly sources: readonly ToolSource[] };
  /** Ends what is kept for the next turn of a session. */
  forgetSession(sessionId: SessionId): Promise<void>;
}

/** What of a run's state says which tools those are. */
export interface ExtendedRun extends Pick<RunState, 'sessionId'> {
  readonly config: Pick<RunConfig, 'extensions'> | null;
  readonly task: Pick<TaskFacts, 'harnessId'> | null;
}

/** The engine that ships with Reins, as one harness among others. */
export function createNativeAdapter(parts: EngineParts, models: NativeModels, own?: HarnessTools): HarnessAdapter {
  return {
    base: 'native',
    label: 'Reins',
    mcpTransports: ['http', 'sse', 'stdio'],
    keepsDirectory: true,
    probe: async () => ({
      installed: true,
      version: null,
      problem: null,
      models: models.list(),
      defaultModel: models.defaultModel,
      capabilities: nativeCapabilities,
    }),
    chooseModel: async (requested) => models.choose(requested),
    openSession: async (options) =>
      own === undefined ? openEngineSession({ ...options, parts: () => parts }) : openExtended(parts, own, options),
    ...(own === undefined ? {} : { forgetSession: (sessionId) => own.forgetSession(sessionId) }),
  };
}

/** With the tools of its harness, which live as long as the session. */
function openExtended(parts: EngineParts, own: HarnessTools, options: OpenSessionOptions): HarnessSession {
  const opened = new AsyncDisposableStack();
  const session = openEngineSession({
    ...options,
    parts({ current }) {
      const { sources } = opened.use(own.open(current(), options.workspace));
      return { ...parts, sources: [...(parts.sources ?? []), ...sources] };
    },
  });
  return {
    ...session,
    async [Symbol.asyncDispose]() {
      await session[Symbol.asyncDispose]();
      await opened.disposeAsync();
    },
  };
}

export interface EngineSession extends OpenSessionOptions {
  /** The run as a turn takes it. Absent: as its log says. */
  dress?(state: RunState): RunState;
  /** What a turn works with. */
  parts(turn: { readonly current: () => RunState; readonly pause: AbortSignal }): EngineParts;
  /** Calls of a run go in circles (E-560). */
  onRepetition?(runId: RunId): void;
}

/** A session of the engine, whose runs wait for people. */
export function openEngineSession(session: EngineSession): HarnessSession {
  const { history, todos, workspace } = session;
  const run = (logged: RunState, options: TurnOptions, leftBy: LeftBy | null) => {
    const { signal, pause, compactions, leaveBefore } = options;
    const state = session.dress?.(logged) ?? logged;
    let current = state;
    return runLoop(session.parts({ current: () => current, pause }), {
      leavesOutages: true,
      state,
      history,
      todos,
      workspace,
      signal,
      pause,
      rules: () => options.rules(),
      compactions,
      ...(leaveBefore === undefined ? {} : { leaveBefore }),
      recovering: leftBy !== null,
      ...(leftBy === null ? {} : { leftBy }),
      people: { how: 'park' },
      onRepetition: () => session.onRepetition?.(state.runId),
      onState: (next) => {
        current = next;
      },
    });
  };
  return {
    prompt: (state, options) => run(state, options, null),
    attach: (state, { cause, leftBy, ...options }) => run(state, options, cause === 'recovery' ? leftBy : null),
    async [Symbol.asyncDispose]() {},
  };
}
