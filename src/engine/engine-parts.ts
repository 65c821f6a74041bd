import type { ChainMember } from './call-chain.ts';
import type { Clock } from '../core/clock.ts';
import type { ContentStore } from './content-store.ts';
import type { EnginePolicies } from './policies.ts';
import type { Logger } from '../core/logger.ts';
import type { Middleware } from './middleware.ts';
import type { ModelHealth } from './model-health.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { OpenedModel } from './model.ts';
import type { Random } from '../core/random.ts';
import type { Tool, ToolSource } from './tool.ts';

/** A model that answers where the requested one does not; names only, so that it can be stored (E-350). */
export interface Fallback {
  readonly model: ModelRef;
  /** Its own reply budget. */
  readonly maxTokens?: number;
}

/** What an engine works with, beyond one run. */
export interface EngineParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policies: EnginePolicies;
  readonly tools: readonly Tool[];
  /** Tools that come and go, asked before each step. */
  readonly sources?: readonly ToolSource[];
  readonly content: ContentStore;
  /** Strikes and blocks of providers, over all runs (E-215). */
  readonly health: ModelHealth;
  readonly middleware?: readonly Middleware[];
  readonly fallbacks?: readonly Fallback[];
  readonly openModel: (ref: ModelRef) => Promise<OpenedModel>;
  /** Takes secrets out of a text that others will read (E-071). */
  readonly redact?: (text: string) => string;
}

/** The models of a run in the order in which they are asked. */
export function chainOf({ fallbacks = [], openModel }: EngineParts, requested: ModelRef): readonly ChainMember[] {
  const primary: ChainMember = { ref: requested, open: () => openModel(requested) };
  return [
    primary,
    ...fallbacks.map(({ model: ref, maxTokens }): ChainMember => ({
      ref,
      open: () => openModel(ref),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    })),
  ];
}
