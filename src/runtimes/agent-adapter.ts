// Agents that were put together in code, as harnesses: so their durable runs are tasks like all others, and one host drives
// them (E-006).
//
// B1. Sessions, rules and keys belong to an agent by its name, and outlive a change of it. A run belongs to the agent as it
//     was: it goes on with the same configuration or not at all (E-053).
// B2. A sub-agent is one by the path that leads to it: two of one name, with other tools, are two.

import { createDelegateTools, type ChildRun, type SubAgent } from './sub-agents.ts';
import { ConfigurationError } from '../core/errors.ts';
import { nativeCapabilities } from '../harnesses/native/native-adapter.ts';
import { runLoop } from '../engine/run-loop.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { HarnessAdapter, HarnessSession, OpenSessionOptions, TurnOptions } from '../harnesses/harness.ts';
import type { ModelChoice } from '../core/model-choice.ts';
import type { RunId } from '../core/ids.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunState } from '../core/run-state.ts';

export interface AgentAdapterOptions {
  readonly content: ContentStore;
  /** @param base  That of the child. */
  readonly runChild: (child: ChildRun, base: string) => Promise<RunResult>;
  /** Calls of a run go in circles (E-560). */
  readonly onRepetition: (runId: RunId) => void;
}

/** Of an agent by its name, whatever it is like (B1). */
export function agentBase(name: string): string {
  return `agent-${name}`;
}

/** Adapters of agents and of all that work for them: each under its name, and under what it is like now. */
export function createAgentAdapters(
  agents: readonly AssembledAgent[],
  options: AgentAdapterOptions,
): readonly HarnessAdapter[] {
  const below = (parent: string, { name, agent }: SubAgent): readonly HarnessAdapter[] =>
    adaptersOf(agent, childBase(parent, name));
  const adaptersOf = (agent: AssembledAgent, base: string): readonly HarnessAdapter[] => [
    ...createAgentAdapter(agent, base, options),
    ...agent.subagents.flatMap((child) => below(base, child)),
  ];
  return agents.flatMap((agent) => adaptersOf(agent, agentBase(agent.ref.name)));
}

function childBase(parent: string, name: string): string {
  return `${parent}.${name}`;
}

function createAgentAdapter(
  agent: AssembledAgent,
  name: string,
  options: AgentAdapterOptions,
): readonly HarnessAdapter[] {
  const base = `${name}@${agent.ref.digest.slice(0, 12)}`;
  const adapter: HarnessAdapter = {
    base,
    label: agent.ref.name,
    agent: { ref: agent.ref, config: agent.runConfig(base), limits: (own) => agent.limits(own) },
    probe: async () => ({
      installed: true,
      version: agent.ref.version,
      problem: null,
      models: [],
      defaultModel: agent.config.model ?? '',
      capabilities: nativeCapabilities,
    }),
    chooseModel: async (requested) => choose(agent, requested),
    openSession: async (session) => openAgentSession(agent, session, { ...options, name }),
  };
  return [{ ...adapter, base: name }, adapter];
}

function choose(agent: AssembledAgent, requested: string | null): ModelChoice {
  try {
    const ref = agent.chooseModel(requested ?? undefined);
    return { available: true, id: ref.model, ref };
  } catch (cause) {
    if (cause instanceof ConfigurationError) return { available: false, id: requested ?? '', why: cause.message };
    throw cause;
  }
}

function openAgentSession(
  agent: AssembledAgent,
  { history, todos, workspace }: OpenSessionOptions,
  { content, runChild, onRepetition, name }: AgentAdapterOptions & { readonly name: string },
): HarnessSession {
  const run = (state: RunState, options: TurnOptions, recovering: boolean) => {
    const { signal, pause, compactions } = options;
    let current = state;
    const delegates = createDelegateTools(agent.subagents, {
      current: () => current,
      runChild: (child) => runChild(child, childBase(name, child.child.name)),
    });
    const parts = { ...agent.engine, content, tools: [...agent.engine.tools, ...delegates] };
    return runLoop(parts, {
      state,
      history,
      todos,
      workspace: agent.workspace ?? workspace,
      signal,
      pause,
      rules: () => options.rules(),
      compactions,
      recovering,
      people: { how: 'park' },
      onRepetition: () => onRepetition(state.runId),
      onState: (next) => {
        current = next;
      },
    });
  };
  return {
    prompt: (state, options) => run(state, options, false),
    attach: (state, { cause, ...options }) => run(state, options, cause === 'recovery'),
    async [Symbol.asyncDispose]() {},
  };
}
