// An agent with everything it works with, made once and used by all of its runs, whichever runtime drives them.

import { agentRefOf, limitsOf, policiesOf, runConfigOf, type ParsedAgentConfig } from './agent-config.ts';
import { ConfigurationError } from '../core/errors.ts';
import type { AgentRef, Limits, RunConfig } from '../core/run-event.ts';
import type { Catalogue } from '../engine/models/catalogue.ts';
import type { EngineParts, Fallback } from '../engine/engine-parts.ts';
import type { Hooks } from '../engine/hooks.ts';
import type { Model, OpenedModel } from '../engine/model.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { SubAgent } from './sub-agents.ts';
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
  runConfig(base: string): RunConfig;
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

export function assembleAgent(options: AssembleOptions): AssembledAgent {
  const { config, model, catalogue, workspace, hooks, tracer, subagents } = options;
  refuseContradictions(config, model);
  const fallbacks = config.fallbacks.map(({ provider, model: name, maxTokens }): Fallback => ({
    model: inCatalogue(catalogue, provider === undefined ? name : `${provider}/${name}`),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  }));
  const own = model === null ? null : ({ provider: model.provider, model: model.modelId } satisfies ModelRef);
  const openModel = async (ref: ModelRef): Promise<OpenedModel> =>
    own !== null && model !== null && ref.provider === own.provider && ref.model === own.model
      ? { model, traits: {}, maxOutputTokens: null }
      : catalogue.open(ref);
  return {
    ref: agentRefOf(config),
    config,
    engine: { ...options.engine, policies: policiesOf(config), fallbacks, openModel },
    workspace,
    hooks,
    tracer,
    subagents,
    chooseModel: (requested) => own ?? inCatalogue(catalogue, nameOf(config, requested)),
    limits: (limits) => limitsOf(config, limits),
    runConfig: (base) => runConfigOf(config, base),
    [Symbol.asyncDispose]: () => options.close(),
  };
}

function nameOf({ model, provider }: ParsedAgentConfig, requested: string | undefined): string | null {
  const name = requested ?? model;
  if (name === undefined) return provider === 'demo' ? 'demo' : null;
  return provider === undefined || provider === 'demo' || name.startsWith(`${provider}/`)
    ? name
    : `${provider}/${name}`;
}

function inCatalogue(catalogue: Catalogue, name: string | null): ModelRef {
  const choice = catalogue.choose(name);
  if (!choice.available) throw new ConfigurationError(`The model '${choice.id}' cannot be served: ${choice.why}`);
  return choice.ref;
}

/** E-025. */
function refuseContradictions(config: ParsedAgentConfig, model: Model | null): void {
  if (model === null) return;
  if (config.provider !== undefined && config.provider !== model.provider.split('.')[0])
    throw new ConfigurationError(
      `The agent names the provider '${config.provider}', and was given a model of '${model.provider}'.`,
    );
  if (config.fallbacks.length > 0)
    throw new ConfigurationError('Fallbacks are names; an agent that was given a model of its own cannot have them.');
}
