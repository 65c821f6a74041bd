// The configuration of an agent: plain JSON, checked whole where it is given, frozen, and hashed, so that a stored run can
// say which agent it belongs to (E-020).

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, toJsonValue, type JsonObject } from '../core/json.ts';
import { ConfigurationError } from '../core/errors.ts';
import { deepFreeze } from '../core/deep-freeze.ts';
import { defaultPolicies, type EnginePolicies } from '../engine/policies.ts';
import { type AgentRef } from '../core/run-event.ts';
import { noBudgets, type Limits, type RunConfig, type RunPermissions } from '../core/run-config.ts';

const positive = z.number().positive();
const seconds = z.number().nonnegative();
const count = z.int().min(0);
const some = z.int().min(1);
const level = z.enum(['allow', 'ask', 'deny']);
const toolRetry = z.strictObject({
  attempts: some.default(3),
  backoffSeconds: seconds.default(0.5),
  maxBackoffSeconds: seconds.default(30),
  retryErrorResults: z.boolean().default(false),
});

const schema = z.strictObject({
  /** What the agent is called: in logs, traces, and where it is somebody's sub-agent. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'use 1 to 64 letters, digits, - and _')
    .default('agent'),
  version: z.string().nullable().default(null),
  /** A canonical id, a provider's own name, or `<provider>/<name>`; absent: the default model. */
  model: z.string().min(1).optional(),
  provider: z.string().min(1).optional(),
  /** Tried in order where the model before it does not answer (E-350). */
  fallbacks: z
    .array(
      z.strictObject({ provider: z.string().min(1).optional(), model: z.string().min(1), maxTokens: some.optional() }),
    )
    .default([]),
  /** Output tokens of one reply; null: the model's limit, at most 32,000. */
  maxTokens: some.nullable().default(null),
  systemPrompt: z.string().nullable().default(null),
  temperature: z.number().min(0).max(2).nullable().default(null),
  /** Gives the agent a task list (E-640). */
  planning: z.boolean().default(false),
  /** JSON Schema that the final answer has to fit; sent to the provider. */
  outputSchema: z.record(z.string(), z.json()).optional(),
  disabledTools: z.array(z.string()).default([]),
  permissionMode: z.enum(['allow-all', 'allow-edits', 'allow-reads']).default('allow-all'),
  toolPermissions: z.record(z.string(), level).default({}),
  /** Offers `ask_user_questions` (E-611). */
  questions: z.boolean().default(false),
  limits: z
    .strictObject({
      maxSteps: count.default(50),
      maxToolRounds: count.nullable().default(null),
      maxOutputTokens: some.nullable().default(null),
      maxTotalTokens: some.nullable().default(null),
      maxCostDollars: positive.nullable().default(null),
      inputCostPerM: seconds.nullable().default(null),
      outputCostPerM: seconds.nullable().default(null),
      maxSeconds: positive.nullable().default(null),
      maxContextTokens: some.nullable().default(null),
      maxResultChars: z.int().min(1000).default(noBudgets.maxResultChars),
      maxTruncationRecoveries: count.default(3),
      finalAnswerOnLimit: z.boolean().default(true),
      loopGuard: z
        .strictObject({
          maxPeriod: some.default(4),
          threshold: z.int().min(2).default(3),
          history: some.default(64),
          breakAfterLaps: z.int().min(2).nullable().default(10),
        })
        .nullable()
        .prefault({}),
    })
    .prefault({}),
  retry: z
    .strictObject({
      attempts: some.default(defaultPolicies.retry.attempts),
      backoffSeconds: seconds.default(defaultPolicies.retry.backoffSeconds),
      maxBackoffSeconds: seconds.default(defaultPolicies.retry.maxBackoffSeconds),
      jitter: z.number().min(0).max(10).default(defaultPolicies.retry.jitter),
      maxRetryAfterSeconds: seconds.default(defaultPolicies.retry.maxRetryAfterSeconds),
      onLongRetryAfter: z.enum(['fail-over', 'fail']).default(defaultPolicies.retry.onLongRetryAfter),
      callTimeoutSeconds: positive.nullable().default(defaultPolicies.retry.callTimeoutSeconds),
      streamFirstEventTimeoutSeconds: positive.nullable().default(defaultPolicies.retry.streamFirstEventTimeoutSeconds),
      streamIdleTimeoutSeconds: positive.nullable().default(defaultPolicies.retry.streamIdleTimeoutSeconds),
      switchAfter: some.default(defaultPolicies.retry.switchAfter),
      cooldownSeconds: seconds.default(defaultPolicies.retry.cooldownSeconds),
      stayBelowSeconds: seconds.default(defaultPolicies.retry.stayBelowSeconds),
      fallbackMode: z.enum(['switch', 'fail']).default(defaultPolicies.retry.fallbackMode),
      quotaProbeSeconds: seconds.default(defaultPolicies.retry.quotaProbeSeconds),
    })
    .prefault({}),
  progress: z
    .strictObject({
      firstAfterSeconds: positive.nullable().default(defaultPolicies.progress.firstAfterSeconds),
      repeatEverySeconds: positive.default(defaultPolicies.progress.repeatEverySeconds),
      tools: z.boolean().default(defaultPolicies.progress.tools),
    })
    .prefault({}),
  tools: z
    .strictObject({
      defaultTimeoutSeconds: positive.default(defaultPolicies.tools.defaultTimeoutSeconds),
      maxConcurrent: some.default(defaultPolicies.tools.maxConcurrent),
      abandonAfterSeconds: seconds.default(defaultPolicies.tools.abandonAfterSeconds),
      defaultPermission: level.default(defaultPolicies.tools.defaultPermission),
      retry: toolRetry.nullable().default(null),
    })
    .prefault({}),
  compaction: z
    .strictObject({
      enabled: z.boolean().default(defaultPolicies.compaction.enabled),
      pruneKeepsTokens: count.default(defaultPolicies.compaction.pruneKeepsTokens),
      pruneFreesTokens: count.default(defaultPolicies.compaction.pruneFreesTokens),
      summaryTokens: some.default(defaultPolicies.compaction.summaryTokens),
      maxSummaries: count.default(defaultPolicies.compaction.maxSummaries),
    })
    .prefault({}),
  promptCache: z
    .strictObject({ ttl: z.enum(['5m', '1h']).default('5m') })
    .nullable()
    .prefault({}),
  approvals: z
    .strictObject({
      /** Of a direct run without a callback (E-522). */
      direct: z.enum(['deny', 'park']).default('deny'),
      expiresAfterSeconds: positive.nullable().default(null),
      onExpiry: z.enum(['deny', 'cancel-run']).default('deny'),
      /** Of a durable run: whether a manual call with an unknown outcome waits for a person (E-542). */
      onUnknown: z.enum(['park', 'tell-model']).default('park'),
    })
    .prefault({}),
});

/** What a caller writes; everything is optional. */
export type AgentConfig = z.input<typeof schema>;
export type ParsedAgentConfig = z.output<typeof schema>;

/** @throws ConfigurationError  Names the first wrong key and what is right there. */
export function parseAgentConfig(config: AgentConfig): ParsedAgentConfig {
  const parsed = schema.safeParse(config);
  if (parsed.success) return deepFreeze(parsed.data);
  const issue = parsed.error.issues[0];
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : (issue?.path ?? []);
  throw new ConfigurationError(
    `The agent's configuration is wrong at '${path.join('.')}': ${issue?.message ?? 'not valid'}.`,
  );
}

/** Which agent a run belongs to. A version that the caller names stands beside the hash, it does not replace it (E-053). */
export function agentRefOf(config: ParsedAgentConfig): AgentRef {
  const hash = createHash('sha256').update(canonicalJson(toJsonValue(config)));
  return { name: config.name, version: config.version, digest: hash.digest('hex').slice(0, 32) };
}

export function policiesOf({ retry, progress, tools, compaction, promptCache }: ParsedAgentConfig): EnginePolicies {
  return { retry, progress, tools, compaction, promptCache };
}

/** The agent's limits with those of one run over them. @throws ConfigurationError  A value that cannot be. */
export function limitsOf(config: ParsedAgentConfig, own: Partial<Limits> = {}): Limits {
  return parseAgentConfig({ limits: { ...config.limits, ...own } }).limits;
}

export type AgentRunConfig = RunConfig & { readonly permissions: RunPermissions };

/** What is stored with each run of the agent. */
export function runConfigOf(config: ParsedAgentConfig, base: string): AgentRunConfig {
  const { approvals, permissionMode, toolPermissions, questions, temperature, outputSchema } = config;
  return {
    base,
    systemPrompt: config.systemPrompt,
    instructions: null,
    disabledTools: config.disabledTools,
    planning: config.planning,
    maxTokens: config.maxTokens,
    permissions: {
      mode: permissionMode,
      tools: toolPermissions,
      onUnknown: approvals.onUnknown,
      questions,
      expiresAfterSeconds: approvals.expiresAfterSeconds,
      onExpiry: approvals.onExpiry,
    },
    ...(temperature === null ? {} : { temperature }),
    ...(outputSchema === undefined ? {} : { outputSchema: outputSchema satisfies JsonObject }),
  };
}
