import { z } from 'zod';
import type { JsonObject, JsonValue } from '../core/json.ts';
import type { InputMessage } from '../core/input-file.ts';
import type { Limits } from '../core/run-config.ts';

/** What a caller asks for, parsed at the door. Names that the caller may have invented are plain strings. */
export interface TaskBody {
  /** Files among them are taken in when the task is (UD-44). */
  readonly messages: readonly InputMessage[];
  readonly instructions: string | null;
  readonly inputItems: readonly JsonValue[];
  readonly model: string | null;
  readonly harnessId: string | null;
  readonly previousResponseId: string | null;
  readonly store: boolean;
  readonly background: boolean;
  readonly maxOutputTokens: number | null;
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  readonly metadata: JsonObject;
  readonly reinsEvents: boolean;
  /** Begins a new session with what `previousResponseId` left (UD-28). */
  readonly fork: boolean;
  readonly ignoredFields: readonly string[];
  /** Over those of an agent that was put together in code. */
  readonly limits?: Partial<Limits>;
}

/** A new session's first task that asks for nothing beside what it says. */
export const plainTask: Omit<TaskBody, 'messages'> = {
  instructions: null,
  inputItems: [],
  model: null,
  harnessId: null,
  previousResponseId: null,
  store: true,
  background: false,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  metadata: {},
  reinsEvents: false,
  fork: false,
  ignoredFields: [],
};

const name = z.string().nullable().default(null);
const number = z.number().nullable().default(null);
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('file'),
    filename: z.string(),
    mediaType: z.string(),
    text: z.string(),
    path: z.string().exactOptional(),
  }),
  z.object({ type: z.literal('named-file'), fileId: z.string(), filename: name, param: z.string() }),
  z.object({
    type: z.literal('media'),
    mediaType: z.string(),
    filename: z.string().exactOptional(),
    path: z.string().exactOptional(),
    ref: z.string(),
    bytes: z.number(),
  }),
]);
const budget = z.number().nullable();
const loopGuard = z.object({
  maxPeriod: z.number(),
  threshold: z.number(),
  history: z.number(),
  breakAfterLaps: budget,
});
const limits = z.object({
  maxSteps: z.number().exactOptional(),
  maxToolRounds: budget.exactOptional(),
  maxOutputTokens: budget.exactOptional(),
  maxTotalTokens: budget.exactOptional(),
  maxCostDollars: budget.exactOptional(),
  inputCostPerM: budget.exactOptional(),
  outputCostPerM: budget.exactOptional(),
  maxSeconds: budget.exactOptional(),
  maxContextTokens: budget.exactOptional(),
  maxResultChars: z.number().exactOptional(),
  maxTruncationRecoveries: z.number().exactOptional(),
  finalAnswerOnLimit: z.boolean().exactOptional(),
  loopGuard: loopGuard.nullable().exactOptional(),
});
const storedBody = z.object({
  messages: z.array(z.object({ content: z.array(part), messageId: z.string().exactOptional() })),
  instructions: name,
  inputItems: z.array(z.json()).default([]),
  model: name,
  harnessId: name,
  previousResponseId: name,
  store: z.boolean().default(true),
  background: z.boolean().default(false),
  maxOutputTokens: number,
  maxStep: number,
  timeoutSeconds: number,
  metadata: z.record(z.string(), z.json()).default({}),
  reinsEvents: z.boolean().default(false),
  fork: z.boolean().default(false),
  ignoredFields: z.array(z.string()).default([]),
  limits: limits.exactOptional(),
});

/** The body that was stored to be started later; what it did not know yet is absent. Null: it is damaged. */
export function storedTaskBody(stored: JsonObject): TaskBody | null {
  return storedBody.safeParse(stored).data ?? null;
}
