// Agents that were put together in code, as harnesses: so their durable runs are tasks like all others, and one host drives
// them (E-006).
//
// B1. Sessions, rules and keys belong to an agent by its name, and outlive a change of it. A run belongs to the agent as it
//     was: it goes on with the same configuration or not at all (E-053).
// B2. A sub-agent is one by the path that leads to it: two of one name, with other tools, are two.

import { createDelegateTools, type ChildRun } from './sub-agents.ts';
import { ConfigurationError } from '../core/errors.ts';
import { nativeCapabilities, openEngineSession } from '../harnesses/native/native-adapter.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { EngineParts } from '../engine/engine-parts.ts';
import type { HarnessAdapter, HarnessSession, OpenSessionOptions } from '../harnesses/harness.ts';
import type { ModelChoice } from '../core/model-choice.ts';
import type { RunId } from '../core/ids.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunState } from '../core/run-state.ts';

export interface AgentAdapterOptions {
  readonly content: ContentStore;
  /** @param base  That of the child. @param pause  Aborts when the run that it works for shall be paused. */
  readonly runChild: (child: ChildRun, o: { readonly base: string; readonly pause: AbortSignal }) => Promise<RunResult>;
  /** Calls of a run go in circles (E-560). */
  readonly onRepetition: (runId: RunId) => void;
  readonly dress?: TurnDress;
}

/** What a turn gets of who asked for it, beside what its agent is. */
export interface TurnDress {
  /** The run as its turn takes it, from what its log says. */
  state(state: RunState): RunState;
  parts(parts: EngineParts, current: () => RunState): EngineParts;
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
  return allOf(agents).flatMap(({ name, agent }) => createAgentAdapter(agent, name, options));
}

/** Agents and all that work for them, by the bases of their runs. */
export function agentsByBase(agents: readonly AssembledAgent[]): ReadonlyMap<string, AssembledAgent> {
  return new Map(allOf(agents).map(({ name, agent }) => [baseOf(name, agent), agent]));
}

interface NamedAgent {
  readonly name: string;
  readonly agent: AssembledAgent;
}

function allOf(agents: readonly AssembledAgent[]): readonly NamedAgent[] {
  const withThoseBelow = (name: string, agent: AssembledAgent): readonly NamedAgent[] => [
    { name, agent },
    ...agent.subagents.flatMap((each) => withThoseBelow(childBase(name, each.name), each.agent)),
  ];
  return agents.flatMap((agent) => withThoseBelow(agentBase(agent.ref.name), agent));
}

function baseOf(name: string, { ref }: AssembledAgent): string {
  return `${name}@${ref.digest.slice(0, 12)}`;
}

function childBase(parent: string, name: string): string {
  return `${parent}.${name}`;
}

function createAgentAdapter(
  agent: AssembledAgent,
  name: string,
  options: AgentAdapterOptions,
): readonly HarnessAdapter[] {
  const base = baseOf(name, agent);
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
  session: OpenSessionOptions,
  { content, runChild, onRepetition, dress, name }: AgentAdapterOptions & { readonly name: string },
): HarnessSession {
  return openEngineSession({
    ...session,
    ...(dress === undefined ? {} : { dress: (state) => dress.state(state) }),
    workspace: agent.workspace ?? session.workspace,
    onRepetition,
    parts({ current, pause }) {
      const delegates = createDelegateTools(agent.subagents, {
        current,
        runChild: (child) => runChild(child, { base: childBase(name, child.child.name), pause }),
      });
      const parts = { ...agent.engine, content, tools: [...agent.engine.tools, ...delegates] };
      return dress?.parts(parts, current) ?? parts;
    },
  });
}
