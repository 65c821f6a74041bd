import type { BackgroundRuns } from './background-runs.ts';
import type { Clock } from '../core/clock.ts';
import type { FrameFeeds } from './frame-feeds.ts';
import type { HarnessRegistry } from '../harnesses/registry.ts';
import type { Logger } from '../core/logger.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { Random } from '../core/random.ts';
import type { Ownership } from './ownership.ts';
import type { PrincipalLimitSettings } from './principal-limits.ts';
import type { RunPermissions } from '../core/run-config.ts';
import type { RunScheduler } from './run-scheduler.ts';
import type { RunLog } from '../stores/run-log.ts';
import type { Uploads } from '../files/uploads.ts';
import type { SessionFiles } from '../files/session-files.ts';
import type { Store } from '../stores/store.ts';
import type { TokenPrices } from '../core/cost.ts';
import type { PrincipalFolders } from '../files/principal-folders.ts';
import type { ReasoningEffort } from '../core/reasoning-effort.ts';
import type { Workspaces } from '../files/workspaces.ts';

export interface TaskSettings {
  /** Budget of a task that names none, and the most it may ask for (UD-09). */
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly systemPrompt: string | null;
  /** Whether an agent keeps a task list where its harness does not say. */
  readonly planning: boolean;
  /** What may run without being asked, and how long what waits may do so, where a harness does not say (UR-02, E-606). */
  readonly permissions: RunPermissions;
  /** How long streams can be replayed and idempotency keys hold, after a task's end (UD-14, UD-62). */
  readonly streamRetentionSeconds: number;
  /** Sessions unused for that long expire; null = never (UD-61). */
  readonly sessionRetentionSeconds: number | null;
  /** Folders that a harness may name as its template (UD-88); absent: none. */
  readonly templates?: readonly string[];
  /** Hosts at which MCP servers of harnesses may lie though they are not public; absent: none. */
  readonly allowHosts?: readonly string[];
  /** Of the files of one skill or plugin; absent: 20 MiB (UD-63). */
  readonly maxBundleBytes?: number;
  /** Of one file (UD-63). */
  readonly maxUploadBytes: number;
  /** What principals may use (UR-53); absent: as much as they like. */
  readonly principalLimits?: PrincipalLimitSettings;
  /** How long the audit log is kept (UR-54); absent: 365 days. */
  readonly auditRetentionSeconds?: number;
  /** How long uploads are kept (UD-62). */
  readonly uploadRetentionSeconds: number;
  /** What a model costs, in dollars per million tokens; null: nobody knows. Absent: nobody ever does. */
  pricesOf?(model: ModelRef): TokenPrices | null;
  /** Base of the links in answers, without a slash at its end; known once the server listens, where none is set. */
  linkBase(): string;
}

/** All that the use cases need; each takes it as its first argument. */
export interface Services {
  readonly store: Store;
  readonly log: RunLog;
  readonly harnesses: HarnessRegistry;
  readonly workspaces: Workspaces;
  /** What tasks make is kept; null: it stays in the caller's own folder and nowhere else. */
  readonly files: SessionFiles | null;
  /** What clients send for their tasks; null: they send none. */
  readonly uploads: Uploads | null;
  readonly runs: BackgroundRuns;
  readonly frames: FrameFeeds;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly settings: TaskSettings;
  /** Names this process among owners of runs. */
  readonly owner: string;
  readonly ownership: Ownership;
  /** Who starts the runs that it takes; absent: each process starts what it admits. */
  readonly scheduler?: RunScheduler;
  /** Of turns that live no longer than the call that waits for them; absent: there are none. */
  readonly agentTurns?: AgentTurns;
}

export interface AgentTurns {
  readonly folders: PrincipalFolders;
  /** Whether a principal has such a folder (A-010, 15). */
  hasFolder(principal: string): boolean;
  /** Normalised. */
  readonly defaultCwd: string;
  /** Null: by the name of the model. */
  readonly reasoning: ReasoningEffort | null;
  /** What no answer may hold, of this server. */
  readonly secrets: readonly string[];
  /** Whether its agents have tools beside those for files and commands. */
  readonly hasOtherTools: boolean;
}
