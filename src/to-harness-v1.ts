import { assembleFrom } from './agent.ts';
import { builtinToolsOf } from './runtimes/harness-v1/builtin-tools.ts';
import { ConfigurationError, RuntimeStateError } from './core/errors.ts';
import { dressParts } from './runtimes/harness-v1/host-tools.ts';
import { dressState } from './runtimes/harness-v1/turn-settings.ts';
import { openRuntime, type AgentDefinition, type RuntimeOptions } from './runtime.ts';
import { silentLogger } from './core/logger.ts';
import { startSession } from './runtimes/harness-v1/session.ts';
import { systemClock } from './system.ts';
import { turnPlace } from './runtimes/harness-v1/resume-state.ts';
import type { ReinsHarnessV1 } from './runtimes/harness-v1/harness-v1.ts';
import type { Runtime } from './runtimes/runtime.ts';

export interface ToHarnessV1Options extends Omit<RuntimeOptions, 'agents'> {
  /** Kebab-case; states that were given out belong to it. Absent: `reins-` and the agent's name. */
  readonly harnessId?: string;
}

/**
 * An agent as an adapter of the AI SDK's harness specification, for its `HarnessAgent`. Its turns are durable runs: they go
 * on without their host, and any process with the same agent and store can look at them and go on with them (P-080 to
 * P-082). The agent works in its own workspace on this machine, whatever sandbox the host has.
 * @throws ConfigurationError  An agent that can never work, or an id that is none.
 */
export function toHarnessV1(
  { config = {}, parts = {} }: AgentDefinition,
  { harnessId: id, ...options }: ToHarnessV1Options = {},
): ReinsHarnessV1 {
  const { clock = systemClock, logger = silentLogger } = options;
  const agent = assembleFrom(config, { clock, logger, ...parts });
  const { name } = agent.ref;
  const harnessId = id ?? `reins-${name.toLowerCase().replaceAll('_', '-')}`;
  if (!/^[a-z0-9]+(-+[a-z0-9]+)*$/.test(harnessId))
    throw new ConfigurationError('The harnessId must be in kebab-case.');
  const builtinTools = builtinToolsOf(agent);
  const listed = new Set(Object.keys(builtinTools));
  const { maxConcurrent } = agent.config.tools;
  let opened: Runtime | null = null;
  let isClosed = false;
  return {
    specificationVersion: 'harness-v1',
    harnessId,
    builtinTools,
    supportsBuiltinToolApprovals: true,
    supportsBuiltinToolFiltering: true,
    lifecycleStateSchema: turnPlace,
    async doStart(start) {
      if (isClosed) throw new RuntimeStateError('This harness is closed.');
      opened ??= openRuntime([agent], options, { state: dressState, parts: dressParts });
      return startSession({ runtime: opened, agent: name, harnessId, listed, maxConcurrent }, start);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await (opened ?? agent)[Symbol.asyncDispose]();
    },
  };
}
