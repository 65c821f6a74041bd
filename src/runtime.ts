// Durable runs for programs: agents over a store, with no server (E chapter 1.3).

import { allowAll } from './core/run-config.ts';
import { assembleFrom, type AgentParts } from './agent.ts';
import { assembleServices, startUpkeep } from './assemble-services.ts';
import { agentsByBase, createAgentAdapters, type TurnDress } from './runtimes/agent-adapter.ts';
import { ConfigurationError } from './core/errors.ts';
import { createDurableRuntime } from './runtimes/durable-runtime.ts';
import { observersOf } from './runtimes/observers.ts';
import { watchRuns, type RunWatch } from './runtimes/watch-runs.ts';
import { createRegistry } from './harnesses/registry.ts';
import { createRunChild } from './runtimes/durable-children.ts';
import { dirname, resolve } from 'node:path';
import { fixedWorkspace } from './files/workspaces.ts';
import { keepHealth } from './keep-health.ts';
import { mkdirSync } from 'node:fs';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { silentLogger, type Logger } from './core/logger.ts';
import { superviseRuns } from './tasks/supervise-runs.ts';
import { systemClock } from './system.ts';
import type { AgentConfig } from './runtimes/agent-config.ts';
import type { AssembledAgent } from './runtimes/assembled-agent.ts';
import type { Clock } from './core/clock.ts';
import type { OwnershipPolicy } from './tasks/ownership.ts';
import type { Runtime } from './runtimes/runtime.ts';
import type { RunScheduler } from './tasks/run-scheduler.ts';
import type { Services } from './tasks/services.ts';
import type { Store } from './stores/store.ts';

/**
 * Where runs are kept: a file on this machine, nowhere but in this process, or a store of the caller's, closed with the runtime.
 * `scheduled`: in such a store, and begun by somebody else, as `reins/temporal` makes it.
 */
export type RuntimeDriver =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'store'; readonly store: Store }
  | { readonly kind: 'scheduled'; readonly store: Store; open(services: () => Services): SchedulerLink };

/** A scheduler, and this process's work for it. */
export interface SchedulerLink {
  readonly scheduler: RunScheduler;
  /** Null: it does nothing for it. */
  work(services: Services, watch: RunWatch): { stop(): Promise<void> } | null;
  close(): Promise<void>;
}

export interface AgentDefinition {
  /** `config.name` is what runs are submitted to. */
  readonly config?: AgentConfig;
  readonly parts?: AgentParts;
}

export interface RuntimeOptions {
  readonly agents: readonly AgentDefinition[];
  /** Absent: the file `.reins/runs.sqlite` below the current folder. */
  readonly driver?: RuntimeDriver;
  readonly retention?: {
    /** Replay of events and idempotency keys, from the end of a run (E-845); absent: a day. */
    readonly deltaSeconds?: number;
  };
  readonly recovery?: {
    /** How long a run whose agent is in no process waits for one before it fails (E-833); absent: 600. */
    readonly agentWaitSeconds?: number;
  };
  readonly logger?: Logger;
  readonly clock?: Clock;
}

const defaultDeltaSeconds = 86_400;
const defaultDrainMs = 10_000;

/**
 * Opens the store, takes over what an earlier process left, and goes on with it.
 * @throws ConfigurationError  An agent that can never work, or two of one name.
 * @throws StorageError  The store cannot be opened.
 */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { clock = systemClock, logger = silentLogger } = options;
  const agents = options.agents.map(({ config = {}, parts = {} }) => assembleFrom(config, { clock, logger, ...parts }));
  return openRuntime(agents, options);
}

/** @param dress  What turns of their runs get beside what their agents are. Absent: nothing. */
export function openRuntime(
  agents: readonly AssembledAgent[],
  options: Omit<RuntimeOptions, 'agents'>,
  dress?: TurnDress,
): Runtime {
  const { clock = systemClock, logger = silentLogger } = options;
  const names = agents.map(({ ref }) => ref.name);
  if (agents.length === 0 || new Set(names).size < names.length)
    throw new ConfigurationError('A runtime needs at least one agent, and each needs a name of its own.');
  const store = openStore(options.driver);
  const byBase = agentsByBase(agents);
  for (const { engine } of byBase.values()) keepHealth(engine.health, { store, logger });
  const adapters = createAgentAdapters(agents, {
    content: store,
    runChild: createRunChild(() => services),
    onRepetition: (runId) => observers.get(runId)?.fire('repetition'),
    ...(dress === undefined ? {} : { dress }),
  });
  const link = options.driver?.kind === 'scheduled' ? options.driver.open(() => services) : null;
  const services: Services = assembleServices({
    ...(link === null ? {} : { scheduler: link.scheduler }),
    store,
    clock,
    logger,
    workspaces: fixedWorkspace('.'),
    files: null,
    uploads: null,
    harnesses: createRegistry(adapters),
    policy: policyOf(options),
    settings: {
      timeoutSeconds: Number.MAX_SAFE_INTEGER,
      maxTimeoutSeconds: Number.MAX_SAFE_INTEGER,
      systemPrompt: null,
      planning: false,
      permissions: allowAll,
      streamRetentionSeconds: options.retention?.deltaSeconds ?? defaultDeltaSeconds,
      sessionRetentionSeconds: null,
      maxUploadBytes: 1_000_000,
      uploadRetentionSeconds: 60,
      linkBase: () => 'http://127.0.0.1',
    },
  });
  const observers = watchRuns(services.log, {
    observe({ data }) {
      const agent = byBase.get(data._config?.base ?? data._base ?? '');
      return agent === undefined ? null : observersOf(agent);
    },
    isJoined: ({ data }) => link?.scheduler.takes(data._config ?? null) ?? false,
  });
  const upkeep = startUpkeep(services, superviseRuns(services));
  const worker = link?.work(services, observers);
  return createDurableRuntime(services, agents, {
    async close({ drainMs = defaultDrainMs } = {}) {
      await Promise.all([worker?.stop(), services.runs.drain({ withinMs: drainMs })]);
      await upkeep.stop();
      await link?.close();
      await services.log.close();
      await services.ownership.leave();
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
      await store[Symbol.asyncDispose]();
    },
  });
}

function openStore(driver: RuntimeDriver = { kind: 'sqlite', path: '.reins/runs.sqlite' }): Store {
  switch (driver.kind) {
    case 'store':
    case 'scheduled':
      return driver.store;
    case 'memory':
      return openSqlite(':memory:');
    case 'sqlite': {
      const path = resolve(driver.path);
      mkdirSync(dirname(path), { recursive: true });
      return openSqlite(path);
    }
  }
}

function policyOf({ recovery = {} }: Pick<RuntimeOptions, 'recovery'>): Partial<OwnershipPolicy> {
  const { agentWaitSeconds } = recovery;
  return agentWaitSeconds === undefined ? {} : { agentWaitMs: agentWaitSeconds * 1_000 };
}
