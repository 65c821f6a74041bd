// An agent that was put together in code, as a harness: so its durable runs are tasks like all others, and one host drives
// them (E-006).

import { createDelegateTools, type RunChild } from './sub-agents.ts';
import { ConfigurationError } from '../core/errors.ts';
import { nativeCapabilities } from '../harnesses/native/native-adapter.ts';
import { runLoop } from '../engine/run-loop.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { HarnessAdapter, HarnessSession, OpenSessionOptions, TurnOptions } from '../harnesses/harness.ts';
import type { ModelChoice } from '../core/model-choice.ts';
import type { RunId } from '../core/ids.ts';
import type { RunState } from '../core/run-state.ts';

export interface AgentAdapterOptions {
  readonly content: ContentStore;
  readonly runChild: RunChild;
  /** Calls of a run go in circles (E-560). */
  onRepetition(runId: RunId): void;
}

/** The base names the agent as it is now: another version is another harness, and never takes this one's runs (E-053). */
export function baseOf({ ref }: AssembledAgent): string {
  return `agent-${ref.name}-${ref.digest.slice(0, 12)}`;
}

export function createAgentAdapter(agent: AssembledAgent, options: AgentAdapterOptions): HarnessAdapter {
  const base = baseOf(agent);
  return {
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
    openSession: async (session) => openAgentSession(agent, session, options),
  };
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
  { content, runChild, onRepetition }: AgentAdapterOptions,
): HarnessSession {
  const run = (state: RunState, { signal, pause, rules, compactions }: TurnOptions, recovering: boolean) => {
    let current = state;
    const delegates = createDelegateTools(agent.subagents, { current: () => current, runChild });
    const parts = { ...agent.engine, content, tools: [...agent.engine.tools, ...delegates] };
    return runLoop(parts, {
      state,
      history,
      todos,
      workspace: agent.workspace ?? workspace,
      signal,
      pause,
      rules,
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
