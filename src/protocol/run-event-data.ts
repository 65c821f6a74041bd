// What an event may hold, for events that come from outside: of a file that somebody brings. A type that is missing or reads
// something else does not compile; keys that are not known here are dropped.

import * as z from 'zod';
import { approvalIds, fileIds, harnessIds, runIds, sessionIds } from '../core/ids.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import type { PublicEvent } from '../core/public-event.ts';
import type { RunEventType } from '../core/run-event.ts';

/** The data of an event, its private fields left out (E-104). */
export type PublicData<T extends RunEventType> = Extract<PublicEvent, { type: T }>['data'];

function idOf<I>({ parse }: { readonly parse: (text: string) => I | undefined }): z.ZodType<I> {
  return z.string().transform((text, context) => {
    const id = parse(text);
    if (id === undefined) context.addIssue('An id of another kind.');
    return id ?? z.NEVER;
  });
}

const text = z.string();
const flag = z.boolean();
const count = z.number().int().nonnegative();
const amount = z.number().nonnegative();
const orNull = <T extends z.ZodType>(schema: T) => schema.nullable();
const may = <T extends z.ZodType>(schema: T) => schema.exactOptional();
const texts = z.array(text);
/** It was read from JSON. */
const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const runId = idOf(runIds);
const model = z.object({ provider: text, model: text });
const usage = z.object({
  inputTokens: orNull(count),
  outputTokens: orNull(count),
  cacheReadInputTokens: orNull(count),
  cacheCreationInputTokens: orNull(count),
  thinkingTokens: orNull(count),
});
const content = z.array(
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text }),
    z.object({ type: z.literal('file'), filename: text, mediaType: text, text, path: may(text) }),
    z.object({
      type: z.literal('media'),
      mediaType: text,
      filename: may(text),
      path: may(text),
      ref: text,
      bytes: count,
    }),
  ]),
);
const stopReason = z.enum([
  'end-turn',
  'tool-use',
  'stop-sequence',
  'max-tokens',
  'refusal',
  'safety',
  'pause-turn',
  'other',
  'empty-reply',
  'max-steps',
  'max-cost',
  'max-total-tokens',
  'max-time',
  'loop',
  'cancelled',
]);
const error = z.object({
  type: z.enum([
    'AdapterOverflowError',
    'AdapterProtocolError',
    'AgentUnavailableError',
    'AuthenticationError',
    'CallTimeoutError',
    'ContextOverflowError',
    'HarnessError',
    'IncompleteStreamError',
    'LeaseLostError',
    'MaxStepsError',
    'ProviderError',
    'QuotaExhaustedError',
    'RecoveryExhaustedError',
    'StorageError',
    'ToolProtocolError',
  ]),
  message: text,
  retryable: flag,
  provider: may(text),
  model: may(text),
  status: may(z.number()),
  causes: may(z.array(z.object({ type: text, message: text }))),
});
const limits = z.object({
  maxSteps: count,
  maxToolRounds: orNull(count),
  maxOutputTokens: orNull(count),
  maxTotalTokens: orNull(count),
  maxCostDollars: orNull(amount),
  inputCostPerM: orNull(amount),
  outputCostPerM: orNull(amount),
  cacheReadCostPerM: may(amount),
  cacheWriteCostPerM: may(amount),
  maxSeconds: orNull(amount),
  maxContextTokens: orNull(count),
  maxResultChars: count,
  maxTruncationRecoveries: count,
  finalAnswerOnLimit: flag,
  loopGuard: orNull(z.object({ maxPeriod: count, threshold: count, history: count, breakAfterLaps: orNull(count) })),
});
const task = z.object({
  harnessId: idOf(harnessIds),
  createdAt: amount,
  metadata: jsonObject,
  ignoredFields: texts,
  store: flag,
  background: flag,
  previousResponseId: orNull(runId),
  reinsEvents: flag,
  view: z.literal(1),
  inputItems: z.array(json),
  linkBase: may(text),
  modelFallback: may(z.object({ requested: text, reason: text })),
  forkedFrom: may(runId),
  quota: may(z.array(z.enum(['tokens', 'cost']))),
});
const wordsOf = <K extends 'text' | 'thinking'>(kind: K) =>
  z.object({ block: count, kind: z.literal(kind), start: count, end: count });
const replay = z.enum(['manual', 'safe', 'idempotent']);
const outcome = z.enum(['ok', 'error', 'timeout', 'invalid', 'denied', 'answered', 'unknown', 'cancelled', 'not-run']);
const todo = z.object({ content: text, status: z.enum(['pending', 'in_progress', 'completed']) });
const spill = z.object({ ref: text, bytes: count });
const kindOfAsking = z.enum(['approval', 'question', 'recovery']);
const pending = z.object({
  approvalId: idOf(approvalIds),
  kind: kindOfAsking,
  executionKey: text,
  runId,
  step: count,
  agentPath: may(texts),
  call: z.object({ id: text, name: text, input: json }),
  argsDigest: text,
  replay,
  toolAttempt: count,
  status: z.enum(['pending', 'approved', 'denied', 'answered', 'expired', 'cancelled', 'uncertain', 'resolved']),
  requestedAtMs: amount,
  expiresAtMs: orNull(amount),
  reason: may(text),
  questions: may(
    z.array(
      z.object({
        id: text,
        question: text,
        options: may(texts),
        allowMultiple: may(flag),
        allowFreeForm: may(flag),
      }),
    ),
  ),
  toolIdentity: may(text),
  usage: may(usage),
});

const call = { id: text, name: text, input: json, executionKey: text };

export const runEventData = {
  'run-started': z.object({
    leg: count,
    cause: z.enum(['submit', 'resume', 'decision', 'recovery', 'retry']),
    input: may(z.array(z.object({ content, messageId: may(text) }))),
    task: may(task),
    requestId: may(text),
    metadata: may(jsonObject),
    agent: may(z.object({ name: text, version: orNull(text), digest: text })),
    parent: may(z.object({ runId, executionKey: text, depth: count })),
    model,
    limits,
  }),
  'user-message': z.object({ messageId: text, content, mode: z.enum(['steer', 'engine']), purpose: may(text) }),
  'step-started': z.object({
    purpose: z.enum(['reply', 'continuation', 'final-answer']),
    continues: may(count),
    model,
    replyBudget: orNull(count),
    tokensEstimated: may(amount),
    degraded: may(texts),
  }),
  'text-delta': text,
  'thinking-delta': text,
  'tool-call-delta': z.object({ id: text, name: text, partialJson: text }),
  'thinking-complete': text,
  'text-complete': text,
  'turn-complete': z.object({
    finishReason: stopReason,
    rawFinishReason: orNull(text),
    parts: z.array(
      z.discriminatedUnion('kind', [
        wordsOf('text'),
        wordsOf('thinking'),
        z.object({ block: count, kind: z.literal('tool-call'), id: text }),
      ]),
    ),
    calls: z.array(z.object({ id: text, name: text, arguments: text })),
    usage: orNull(usage),
    usageIncomplete: flag,
    served: orNull(model),
    empty: may(flag),
  }),
  'attempt-reset': z.object({
    step: count,
    attempt: count,
    nextAttempt: count,
    reason: z.enum([
      'transient-error',
      'stalled',
      'incomplete',
      'call-timeout',
      'context-overflow',
      'malformed-reply',
      'steered',
      'crash',
      'worker-lost',
    ]),
    shown: flag,
    retryInMs: amount,
    error: may(error),
    usage: may(usage),
  }),
  'model-switched': z.object({ kind: z.enum(['failover', 'reported']), from: model, to: model, reason: text }),
  waiting: z.object({
    on: z.enum(['model', 'retry', 'tool', 'capacity']),
    seconds: amount,
    name: may(text),
    position: may(count),
    lastByteMs: may(amount),
  }),
  'tool-call-start': z.object({ ...call, willRun: flag }),
  'tool-dispatched': z.object({
    id: text,
    executionKey: text,
    toolAttempt: count,
    argsDigest: text,
    replay,
    timeoutMs: orNull(amount),
    authority: text,
    childRunId: may(runId),
  }),
  'tool-output-delta': z.object({ id: text, name: text, text }),
  'tool-call-complete': z.object({
    ...call,
    outcome,
    toolAttempt: count,
    durationMs: amount,
    usage: may(orNull(usage)),
    usageIncomplete: may(flag),
  }),
  'tool-result': z.object({
    toolCallId: text,
    name: text,
    content: text,
    isError: flag,
    spill: may(spill),
    media: may(z.array(z.object({ ref: text, bytes: count, mediaType: text }))),
  }),
  'todos-updated': z.object({ todos: z.array(todo), completed: count, total: count, inProgress: orNull(text) }),
  'file-changed': z.object({
    kind: z.enum(['create', 'modify', 'delete']),
    path: text,
    executionKey: may(text),
    bytes: may(count),
    sha256: may(text),
    fileId: may(idOf(fileIds)),
  }),
  'approval-required': pending,
  'recovery-required': pending,
  'approval-decided': z.object({
    approvalId: idOf(approvalIds),
    executionKey: text,
    kind: kindOfAsking,
    decision: z.enum(['approve', 'deny', 'answer', 'decline', 'result', 'retry', 'abort', 'expired', 'cancelled']),
    by: text,
    note: may(text),
    ruleId: may(text),
    output: may(z.object({ content: text, isError: flag })),
  }),
  compacted: z.object({
    trigger: z.enum(['auto', 'overflow', 'manual']),
    method: z.enum(['prune', 'summary', 'trim']),
    tokensBefore: count,
    tokensAfter: count,
    throughSeq: count,
    summary: may(text),
    usage: orNull(usage),
    usageIncomplete: may(flag),
  }),
  'budget-reached': z.object({
    budget: z.enum(['steps', 'tool-rounds', 'cost', 'tokens', 'output-tokens', 'time', 'loop']),
    limit: amount,
    used: amount,
    then: z.enum(['final-answer', 'stop', 'fail']),
  }),
  'step-finished': z.object({
    finishReason: orNull(stopReason),
    usage: orNull(usage),
    usageIncomplete: flag,
    served: orNull(model),
    requested: model,
    calls: count,
    attempts: count,
    durationMs: amount,
  }),
  gap: z.object({
    reason: z.enum([
      'event_history_unavailable',
      'events_pruned',
      'deltas_lost',
      'log_limit',
      'files-limit',
      'files-unchecked',
    ]),
    from: may(count),
    to: may(count),
    step: may(count),
    attempt: may(count),
  }),
  error,
  'run-result': z.object({
    runId,
    sessionId: idOf(sessionIds),
    requestId: orNull(text),
    status: z.enum(['running', 'completed', 'paused', 'awaiting-input', 'cancelled', 'failed']),
    stopReason: orNull(stopReason),
    output: text,
    partialOutput: orNull(text),
    usage: orNull(usage),
    usageIncomplete: flag,
    cost: z.object({ dollars: orNull(amount), estimated: flag }),
    error: orNull(error),
    pending: z.array(pending),
    todos: orNull(z.array(todo)),
    steps: count,
    attempts: count,
    model: z.object({ requested: model, served: orNull(model), fallback: flag, reason: orNull(text) }),
    undelivered: texts,
    unstopped: texts,
    startedAtMs: amount,
    endedAtMs: amount,
  }),
} satisfies { readonly [T in RunEventType]: z.ZodType<PublicData<T>> };

/** With every key but private ones, and without `readonly`. */
type Whole<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? Whole<E>[]
    : { -readonly [K in keyof T as K extends `_${string}` ? never : K]-?: Whole<T[K]> };
type Equal<A, B> = [A, B] extends [B, A] ? true : false;
/** Types whose schema lacks a key or a word: what reads less is a schema of the type, too. */
type ReadsLess = {
  [T in RunEventType]: Equal<Whole<PublicData<T>>, Whole<z.output<(typeof runEventData)[T]>>> extends true ? never : T;
}[RunEventType];
null satisfies [ReadsLess] extends [never] ? null : ReadsLess;
