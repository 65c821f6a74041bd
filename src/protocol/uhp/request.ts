// `POST /v1/responses`, parsed at the door: strict on types, loose on unknown fields.
//
// Q1. What holds for every body (`parse-body.ts`): `null` is absent, a wrong type is refused, text is well-formed.
// Q2. What is present and without effect is named, never refused (U-201, U-202, UD-46).

import * as z from 'zod';
import { InvalidInputError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { InputMessage } from '../../core/input-file.ts';
import { parseInput } from './input.ts';
import { checkFields, readBody } from './parse-body.ts';

/** A task as asked for, every default filled in. */
export interface CreateResponse {
  readonly messages: readonly InputMessage[];
  /** `instructions`, then the system and developer items of the input, joined; null = none. */
  readonly instructions: string | null;
  /** The input as items, for `input_items` (U-211). */
  readonly inputItems: readonly JsonValue[];
  readonly model: string | null;
  readonly harnessId: string | null;
  readonly previousResponseId: string | null;
  readonly store: boolean;
  readonly stream: boolean;
  /** False where the stream wins (UD-06). */
  readonly background: boolean;
  readonly maxOutputTokens: number | null;
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  /** The client's own keys; what the server writes is not among them (UD-29). */
  readonly metadata: JsonObject;
  readonly reinsEvents: boolean;
  /** A new session from `previousResponseId` on (UD-28). */
  readonly fork: boolean;
  readonly ignoredFields: readonly string[];
  /** What two requests with one idempotency key are compared by (UD-11). */
  readonly bodyHashInput: JsonValue;
}

const budget = z.int('must be a whole number').min(1, 'must be at least 1').nullish();
const flag = z.boolean('must be true or false').nullish();
const name = z.string('must be a string').min(1, 'must not be empty').nullish();

export const createResponseBody = z.looseObject(
  {
    input: z.unknown().optional(),
    model: name,
    instructions: z.string('must be a string').nullish(),
    metadata: z.looseObject({ harness_id: name }, 'must be an object').nullish(),
    previous_response_id: name,
    stream: flag,
    store: flag,
    background: flag,
    max_output_tokens: budget,
    max_step: budget,
    timeout_seconds: budget,
  },
  'must be an object',
);

const maxMetadataBytes = 64 * 1024;

/** @throws InvalidInputError  With the dotted path of the first field at fault. */
export function parseCreateResponse(body: unknown): CreateResponse {
  const sent = readBody(body);
  const fields = checkFields(createResponseBody, sent);
  const stream = fields.stream ?? false;
  const store = fields.store ?? true;
  const background = fields.background ?? false;
  if (background && !store) {
    throw new InvalidInputError('background needs store: nothing could be read later.', 'background');
  }
  const input = parseInput(sent['input'] ?? null);
  const metadata = splitMetadata(isJsonObject(sent['metadata']) ? sent['metadata'] : {});
  return {
    messages: input.messages,
    instructions: joinInstructions([fields.instructions ?? '', ...input.instructions]),
    inputItems: input.items,
    model: fields.model ?? null,
    harnessId: fields.metadata?.harness_id ?? null,
    previousResponseId: fields.previous_response_id ?? null,
    store,
    stream,
    background: background && !stream,
    maxOutputTokens: fields.max_output_tokens ?? null,
    maxStep: fields.max_step ?? null,
    timeoutSeconds: fields.timeout_seconds ?? null,
    metadata: metadata.kept,
    reinsEvents: isSet(metadata.kept, 'reins_events'),
    fork: parseFork(metadata.kept, fields.previous_response_id ?? null),
    ignoredFields: [
      ...Object.keys(sent).filter((key) => !Object.hasOwn(createResponseBody.shape, key)),
      ...(background && stream ? ['background'] : []),
      ...metadata.dropped,
    ],
    bodyHashInput: Object.fromEntries(Object.entries(sent).filter(([key]) => key !== 'stream' && key !== 'background')),
  };
}

/** Metadata of the protocol is text, so the words will do. */
function isSet(metadata: JsonObject, key: 'reins_events' | 'reins_fork'): boolean {
  const value = metadata[key] ?? false;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new InvalidInputError(`metadata.${key} must be true or false.`, `metadata.${key}`);
}

function parseFork(metadata: JsonObject, previousResponseId: string | null): boolean {
  const fork = isSet(metadata, 'reins_fork');
  if (fork && previousResponseId === null)
    throw new InvalidInputError('metadata.reins_fork needs previous_response_id.', 'metadata.reins_fork');
  return fork;
}

const serverKeys = new Set([
  'session_id',
  'requested_model',
  'model_fallback',
  'model_fallback_reason',
  'ignored_fields',
  // Inputs of capabilities that this server does not have.
  'environment',
  'memory',
]);

function isServers(key: string): boolean {
  return serverKeys.has(key) || (key.startsWith('reins_') && key !== 'reins_events' && key !== 'reins_fork');
}

/** Parts the client's keys from those that only the server writes (UD-29). */
function splitMetadata(metadata: JsonObject): { readonly kept: JsonObject; readonly dropped: readonly string[] } {
  if (new TextEncoder().encode(JSON.stringify(metadata)).length > maxMetadataBytes) {
    throw new InvalidInputError(`metadata may hold at most ${maxMetadataBytes} bytes.`, 'metadata');
  }
  const entries = Object.entries(metadata).filter(([key]) => key !== 'harness_id');
  return {
    kept: Object.fromEntries(entries.filter(([key]) => !isServers(key))),
    dropped: entries.filter(([key]) => isServers(key)).map(([key]) => `metadata.${key}`),
  };
}

function joinInstructions(pieces: readonly string[]): string | null {
  return pieces.filter((piece) => piece !== '').join('\n\n') || null;
}
