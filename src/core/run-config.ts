// What a run is configured with, as its first event holds it: budgets, permissions, what its harness brings. Of a running task
// nothing of it changes (E-053).

import type { JsonObject } from './json.ts';
import type { ReasoningEffort } from './reasoning-effort.ts';

/** Budgets of a run; `null` = none. `maxSteps: 0` = no limit (E chapter 1). */
export interface Limits {
  readonly maxSteps: number;
  /** Replies whose calls run; a protocol's `max_step` (UD-02). */
  readonly maxToolRounds: number | null;
  /** Output tokens over all calls of the run; a protocol's `max_output_tokens` (UD-03). */
  readonly maxOutputTokens: number | null;
  /** Input and output tokens together, over all calls. */
  readonly maxTotalTokens: number | null;
  readonly maxCostDollars: number | null;
  /** Dollars per million tokens; null = unknown, then 3 and 15, and the cost is marked as estimated. */
  readonly inputCostPerM: number | null;
  readonly outputCostPerM: number | null;
  /** Of what was read from the cache and written into it; absent: as other input. */
  readonly cacheReadCostPerM?: number;
  readonly cacheWriteCostPerM?: number;
  /** Time at work; waiting for a person does not count (UR-03). */
  readonly maxSeconds: number | null;
  /** null = the model's own window. */
  readonly maxContextTokens: number | null;
  /** Characters of a tool result that the model reads at once; more is paged (E-550). */
  readonly maxResultChars: number;
  /** How often a reply that was cut at its token limit is gone on with (E-400). */
  readonly maxTruncationRecoveries: number;
  readonly finalAnswerOnLimit: boolean;
  /** null = off. */
  readonly loopGuard: LoopGuard | null;
}

/** Repeated calls: a note after `threshold` laps of a cycle of at most `maxPeriod` calls, an end after `breakAfterLaps` (E-560). */
export interface LoopGuard {
  readonly maxPeriod: number;
  readonly threshold: number;
  /** Calls looked back at. */
  readonly history: number;
  /** null = never. */
  readonly breakAfterLaps: number | null;
}

export const noBudgets: Limits = {
  maxSteps: 0,
  maxToolRounds: null,
  maxOutputTokens: null,
  maxTotalTokens: null,
  maxCostDollars: null,
  inputCostPerM: null,
  outputCostPerM: null,
  maxSeconds: null,
  maxContextTokens: null,
  maxResultChars: 12_000,
  maxTruncationRecoveries: 3,
  finalAnswerOnLimit: true,
  loopGuard: { maxPeriod: 4, threshold: 3, history: 64, breakAfterLaps: 10 },
};

/** The agent as it was when the run was admitted; a later edit of the harness does not reach a running task (UD-35). */
export interface RunConfig {
  readonly base: string;
  readonly systemPrompt: string | null;
  readonly instructions: string | null;
  readonly disabledTools: readonly string[];
  /** Absent: everything is allowed, nobody is asked, and the model is told of unknown outcomes. */
  readonly permissions?: RunPermissions;
  /** Whether the agent keeps a task list (E-640). */
  readonly planning?: boolean;
  /** Output tokens of one reply; null or absent: the model's limit, at most 32,000. */
  readonly maxTokens?: number | null;
  readonly temperature?: number;
  /** Absent: the provider is told nothing. */
  readonly reasoning?: ReasoningEffort;
  /** Where in the workspace relative paths begin: segments joined by `/`; absent: at its root. */
  readonly directory?: string;
  /** The run works in its principal's own folder, and lives no longer than the call that waits for it. */
  readonly attached?: { readonly workspace: 'principal' | 'none' };
  /** JSON Schema that the final answer has to fit. */
  readonly outputSchema?: JsonObject;
  /** What lies in the workspace for a runtime – hooks, plugins, MCP files – is loaded (H-084). Absent: it is not. */
  readonly workspaceConfig?: true;
  /** MCP servers, skills and plugins of the harness, those that are enabled; absent: none. */
  readonly extensions?: HarnessExtensions;
}

/** What a harness brings beside its base (U-110, U-120, UP-37). Files are named by their bundle, secrets by their handle. */
export interface HarnessExtensions {
  readonly mcpServers: readonly HarnessMcpServer[];
  readonly skills: readonly { readonly name: string; readonly bundle: string }[];
  readonly plugins: readonly HarnessPlugin[];
  /** Skills of the base that the harness suppresses (U-124). */
  readonly suppressedSkills: readonly string[];
}

export interface HarnessMcpServer {
  readonly name: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  /** By header name: handles of values that the harness's record holds (UD-37). */
  readonly secretHeaders: Readonly<Record<string, string>>;
}

/** An installed package; placeholders are as in its files (UP-34). */
export interface HarnessPlugin {
  readonly name: string;
  readonly bundle: string;
  readonly mcpServers: readonly PluginServer[];
  readonly skills: readonly string[];
}

export type PluginServer =
  | {
      readonly name: string;
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly name: string;
      readonly transport: 'http' | 'sse';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** `allow-edits` asks before commands and the network, `allow-reads` before everything but reading (E-521). */
export type PermissionMode = 'allow-all' | 'allow-edits' | 'allow-reads';

export interface RunPermissions {
  readonly mode: PermissionMode;
  /** By tool name; a `deny` from any side wins (E-520). */
  readonly tools: Readonly<Record<string, 'allow' | 'ask' | 'deny'>>;
  /** Whether a manual call with an unknown outcome waits for a person (E-542). */
  readonly onUnknown: 'park' | 'tell-model';
  /** Whether the agent may ask its user (E-611). */
  readonly questions: boolean;
  /** How long an entry may stay open; null = for ever (E-606). */
  readonly expiresAfterSeconds: number | null;
  readonly onExpiry: 'deny' | 'cancel-run';
  /** Nobody can be asked: what would have to be is denied, and the run goes on. */
  readonly unattended?: true;
  /** Those of the run that this one works for: a call is as free as both allow (E-905). */
  readonly above?: RunPermissions;
}

/** An agent that may do everything, and asks nobody (UR-02). */
export const allowAll: RunPermissions = {
  mode: 'allow-all',
  tools: {},
  onUnknown: 'tell-model',
  questions: false,
  expiresAfterSeconds: null,
  onExpiry: 'deny',
};
