import type { PermissionLevel, ToolRetry } from './tool.ts';

/** Retrying of model calls; one owner, the core (E-200). Seconds, as the seed names them. */
export interface RetryPolicy {
  /** Calls per step in all; 1 = off. */
  readonly attempts: number;
  readonly backoffSeconds: number;
  readonly maxBackoffSeconds: number;
  /** Added on top of the wait, never below it (E-201). */
  readonly jitter: number;
  /** Longest wait that a server may ask for inside a run (E-202). */
  readonly maxRetryAfterSeconds: number;
  /** What a longer one leads to: the next member of the chain, if there is one, or the end of the run. */
  readonly onLongRetryAfter: 'fail-over' | 'fail';
  /** Whole-call limit; null = from the reply budget (E-304). */
  readonly callTimeoutSeconds: number | null;
  /** For providers that answer promptly; null = the idle limit (E-303). */
  readonly streamFirstEventTimeoutSeconds: number | null;
  /** null = off. */
  readonly streamIdleTimeoutSeconds: number | null;
  /** Transient failures of a member after which the next one is called, inside the same attempt (E-350). */
  readonly switchAfter: number;
  /** How long a struck member is left out. */
  readonly cooldownSeconds: number;
  /** A 429 that asks for a shorter wait is waited out on the same member (E-355). */
  readonly stayBelowSeconds: number;
  readonly fallbackMode: 'switch' | 'fail';
  /** When a member whose quota is spent is tried again, where it did not say (E-354). */
  readonly quotaProbeSeconds: number;
}

/** Notices while something is slow; `firstAfterSeconds: null` turns them off (E-330). */
export interface ProgressPolicy {
  readonly firstAfterSeconds: number | null;
  readonly repeatEverySeconds: number;
  /** Whether a slow tool call is noticed as well (E-334). */
  readonly tools: boolean;
}

export interface ToolPolicy {
  readonly defaultTimeoutSeconds: number;
  readonly maxConcurrent: number;
  /** How long a handler that ignores its signal is waited for (E-536). */
  readonly abandonAfterSeconds: number;
  readonly defaultPermission: PermissionLevel;
  /** For tools that name none; null = a failed call is the model's to repeat. */
  readonly retry: ToolRetry | null;
}

/** Shortening of what the model reads (E-440, E-441). Tokens are estimates. */
export interface CompactionPolicy {
  readonly enabled: boolean;
  /** The newest tool output, in tokens, that pruning keeps; it is done only where it frees `pruneFreesTokens`. */
  readonly pruneKeepsTokens: number;
  readonly pruneFreesTokens: number;
  readonly summaryTokens: number;
  readonly maxSummaries: number;
}

/** Marks for providers whose prompt cache has to be asked for. */
export interface PromptCachePolicy {
  readonly ttl: '5m' | '1h';
}

export interface EnginePolicies {
  readonly retry: RetryPolicy;
  readonly progress: ProgressPolicy;
  readonly tools: ToolPolicy;
  readonly compaction: CompactionPolicy;
  /** null = no marks. */
  readonly promptCache: PromptCachePolicy | null;
}

export const defaultPolicies: EnginePolicies = {
  retry: {
    attempts: 4,
    backoffSeconds: 0.5,
    maxBackoffSeconds: 60,
    jitter: 0.25,
    maxRetryAfterSeconds: 60,
    onLongRetryAfter: 'fail-over',
    callTimeoutSeconds: null,
    streamFirstEventTimeoutSeconds: 20,
    streamIdleTimeoutSeconds: 180,
    switchAfter: 1,
    cooldownSeconds: 0,
    stayBelowSeconds: 0,
    fallbackMode: 'switch',
    quotaProbeSeconds: 900,
  },
  progress: { firstAfterSeconds: 10, repeatEverySeconds: 15, tools: false },
  tools: {
    defaultTimeoutSeconds: 300,
    maxConcurrent: 8,
    abandonAfterSeconds: 5,
    defaultPermission: 'allow',
    retry: null,
  },
  compaction: {
    enabled: true,
    pruneKeepsTokens: 40_000,
    pruneFreesTokens: 20_000,
    summaryTokens: 8_000,
    maxSummaries: 3,
  },
  promptCache: { ttl: '5m' },
};

/** The wait before attempt `failedAttempt + 1`: never earlier than the server asked for (E-201). */
export function retryWaitMs(
  policy: RetryPolicy,
  failed: { readonly attempt: number; readonly retryAfterMs: number | null; readonly fraction: number },
): number {
  const backoffMs = Math.min(policy.backoffSeconds * 2 ** (failed.attempt - 1), policy.maxBackoffSeconds) * 1000;
  const base = Math.max(backoffMs, failed.retryAfterMs ?? 0);
  return Math.round(base * (1 + policy.jitter * failed.fraction));
}

/** The whole-call limit in ms: 32,000 reply tokens give 960 s (E-304). */
export function callTimeoutMs(policy: RetryPolicy, replyBudget: number | null): number {
  const fromBudget = Math.max(300, ((replyBudget ?? 32_000) * 3600) / 128_000 + 60);
  return (policy.callTimeoutSeconds ?? fromBudget) * 1000;
}
