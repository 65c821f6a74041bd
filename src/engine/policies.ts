/** Retrying of model calls; one owner, the core (E-200). Seconds, as the seed names them. */
export interface RetryPolicy {
  /** Calls per step in all; 1 = off. */
  readonly attempts: number;
  readonly backoffSeconds: number;
  readonly maxBackoffSeconds: number;
  /** Added on top of the wait, never below it (E-201). */
  readonly jitter: number;
  /** Longest wait that a server may ask for inside a run; beyond it the run fails (E-202). */
  readonly maxRetryAfterSeconds: number;
  /** Whole-call limit; null = from the reply budget (E-304). */
  readonly callTimeoutSeconds: number | null;
  /** For providers that answer promptly; null = the idle limit (E-303). */
  readonly streamFirstEventTimeoutSeconds: number | null;
  /** null = off. */
  readonly streamIdleTimeoutSeconds: number | null;
}

/** Notices while something is slow; `firstAfterSeconds: null` turns them off (E-330). */
export interface ProgressPolicy {
  readonly firstAfterSeconds: number | null;
  readonly repeatEverySeconds: number;
}

export interface ToolPolicy {
  readonly defaultTimeoutSeconds: number;
  readonly maxConcurrent: number;
  /** How long a handler that ignores its signal is waited for (E-536). */
  readonly abandonAfterSeconds: number;
}

export interface EnginePolicies {
  readonly retry: RetryPolicy;
  readonly progress: ProgressPolicy;
  readonly tools: ToolPolicy;
}

export const defaultPolicies: EnginePolicies = {
  retry: {
    attempts: 4,
    backoffSeconds: 0.5,
    maxBackoffSeconds: 60,
    jitter: 0.25,
    maxRetryAfterSeconds: 60,
    callTimeoutSeconds: null,
    streamFirstEventTimeoutSeconds: 20,
    streamIdleTimeoutSeconds: 180,
  },
  progress: { firstAfterSeconds: 10, repeatEverySeconds: 15 },
  tools: { defaultTimeoutSeconds: 300, maxConcurrent: 8, abandonAfterSeconds: 5 },
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
