import type { Clock } from '../../core/clock.ts';
import type { Homes } from './homes.ts';
import type { JudgeCall } from './judge.ts';
import type { Lease, LeaseOptions } from '../relay/lease.ts';
import type { LeaseBudget } from '../relay/run-meter.ts';
import type { Logger } from '../../core/logger.ts';
import type { ModelChoice, ModelListing } from '../../core/model-choice.ts';
import type { ModelRef } from '../../core/outcome.ts';
import type { ProcessPool } from './process-pool.ts';
import type { ProviderName } from '../../core/provider-names.ts';
import type { Random } from '../../core/random.ts';
import type { ResolvedMcpServer } from './runtime.ts';
import type { RunState } from '../../core/run-state.ts';
import type { SilenceLimits } from './turn-silence.ts';
import type { TreeWatch } from '../../process/watch-trees.ts';
import type { WarmLimits } from './warm-sessions.ts';

/** The models that a runtime can be given, by the operator's credentials. */
export interface RuntimeModels {
  list(among: readonly ProviderName[]): readonly ModelListing[];
  choose(requested: string | null, among: readonly ProviderName[]): ModelChoice;
  /** By what name the provider of the reference knows the model. */
  nativeName(ref: ModelRef): string;
}

/** What a harness brings to its runs, ready to be handed over. */
export interface RuntimeExtras {
  readonly mcpServers: readonly ResolvedMcpServer[];
  readonly skillFolders: readonly string[];
  /** What could not be had, as `mcp:<name>`. */
  readonly degraded: readonly string[];
}

export interface ForeignParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly homes: Homes;
  readonly models: RuntimeModels;
  /** What a run may use at most, whatever it was given itself. Absent: no limit. */
  readonly leaseBudget?: LeaseBudget;
  /** Starts the relay when it is needed first. */
  relay(): Promise<{ readonly url: string; lease(options: LeaseOptions): Lease }>;
  readonly judge: JudgeCall;
  extras(state: RunState, workspace: string): Promise<RuntimeExtras>;
  readonly warm: WarmLimits;
  /** Shared by all adapters of a server. */
  readonly pool: ProcessPool;
  /** Null: nothing is watched. */
  readonly watch: TreeWatch | null;
  readonly silence: SilenceLimits;
}
