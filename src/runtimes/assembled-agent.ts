// An agent with everything it works with, made once and used by all of its runs, whichever runtime drives them.

import {
  agentRefOf,
  limitsOf,
  policiesOf,
  runConfigOf,
  type AgentRunConfig,
  type ParsedAgentConfig,
} from './agent-config.ts';
import { ConfigurationError } from '../core/errors.ts';
import { delegateTool, type SubAgent } from './sub-agents.ts';
import type { AgentRef } from '../core/run-event.ts';
import type { Limits } from '../core/run-config.ts';
import type { Catalogue } from '../engine/models/catalogue.ts';
import type { EngineParts, Fallback } from '../engine/engine-parts.ts';
import type { Hooks } from '../engine/hooks.ts';
import type { Model, OpenedModel } from '../engine/model.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { Tracer } from '@opentelemetry/api';

export interface AssembledAgent extends AsyncDisposable {
  readonly ref: AgentRef;
  readonly config: ParsedAgentConfig;
  /** Without content store: that is the runtime's. */
  readonly engine: Omit<EngineParts, 'content'>;
  /** Absent: no file tools, and tools are run in the current folder. */
  readonly workspace: string | null;
  readonly hooks: readonly Hooks[];
  readonly tracer: Tracer | null;
  readonly subagents: readonly SubAgent[];
  /** @throws ConfigurationError  The model cannot be served. */
  chooseModel(requested: string | undefined): ModelRef;
  limits(own: Partial<Limits> | undefined): Limits;
  runConfig(base: string): AgentRunConfig;
}

export interface AssembleOptions {
  readonly config: ParsedAgentConfig;
  readonly engine: Omit<EngineParts, 'content' | 'openModel' | 'policies' | 'fallbacks'>;
  readonly workspace: string | null;
  readonly hooks: readonly Hooks[];
  readonly tracer: Tracer | null;
  readonly subagents: readonly SubAgent[];
  /** Of the caller; the catalogue is not asked then. */
  readonly model: Model | null;
  readonly catalogue: Catalogue;
  close(): Promise<void>;
}

/** @throws ConfigurationError  Parts that contradict the configuration, a model or tool that can never work. */
export function assembleAgent(options: AssembleOptions): AssembledAgent {
  const { config, model, catalogue, workspace, hooks, tracer, subagents } = options;
  const own = model === null ? null : ({ provider: model.provider, model: model.modelId } satisfies ModelRef);
  if (own !== null) refuseContradictions(config, own);
  refuseTwins([...options.engine.tools.map(({ name }) => name), ...subagents.map(({ name }) => delegateTool(name))]);
  const fallbacks = config.fallbacks.map(({ provider, model: name, maxTokens }): Fallback => ({
    model: inCatalogue(catalogue, provider === undefined ? name : `${provider}/${name}`),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  }));
  const openModel = async (ref: ModelRef): Promise<OpenedModel> =>
    own !== null && model !== null && ref.provider === own.provider && ref.model === own.model
      ? { model, traits: {}, maxOutputTokens: null, accepts: ['image/*', 'application/pdf'] }
      : catalogue.open(ref);
  const chooseModel = (requested: string | undefined): ModelRef => {
    if (own === null) return inCatalogue(catalogue, nameOf(config, requested));
    if (requested === undefined || requested === own.model) return own;
    throw new ConfigurationError(`The agent was given the model '${own.model}', and is asked for '${requested}'.`);
  };
  chooseModel(undefined);
  return {
    ref: agentRefOf(config),
    config,
    engine: { ...options.engine, policies: policiesOf(config), fallbacks, openModel },
    workspace,
    hooks,
    tracer,
    subagents,
    chooseModel,
    limits: (limits) => limitsOf(config, limits),
    runConfig: (base) => runConfigOf(config, base),
    [Symbol.asyncDispose]: () => options.close(),
  };
}

/** The name to look up; null: the default model. */
function nameOf({ model, provider }: ParsedAgentConfig, requested = model): string | null {
  if (provider === undefined) return requested ?? null;
  if (provider === 'demo' && (requested === undefined || requested === 'demo')) return 'demo';
  if (requested === undefined) throw new ConfigurationError(`Name a model of the provider '${provider}'.`);
  return requested.startsWith(`${provider}/`) ? requested : `${provider}/${requested}`;
}

function inCatalogue(catalogue: Catalogue, name: string | null): ModelRef {
  const choice = catalogue.choose(name);
  if (!choice.available) throw new ConfigurationError(`The model '${choice.id}' cannot be served: ${choice.why}`);
  return choice.ref;
}

/** E-025. */
function refuseContradictions({ provider, model, fallbacks }: ParsedAgentConfig, own: ModelRef): void {
  if (provider !== undefined && provider !== own.provider.split('.')[0])
    throw new ConfigurationError(
      `The agent names the provider '${provider}', and was given a model of '${own.provider}'.`,
    );
  if (model !== undefined && model !== own.model)
    throw new ConfigurationError(`The agent names the model '${model}', and was given '${own.model}'.`);
  if (fallbacks.length > 0)
    throw new ConfigurationError('Fallbacks are names; an agent that was given a model of its own cannot have them.');
}

function refuseTwins(names: readonly string[]): void {
  const twin = names.find((name, at) => names.indexOf(name) < at);
  if (twin !== undefined) throw new ConfigurationError(`Two tools of the agent are called '${twin}'.`);
}
