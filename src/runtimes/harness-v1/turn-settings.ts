// What a host sets for one turn, kept with its run: whichever process goes on with it finds the same.

import { allowAll } from '../../core/run-config.ts';
import { HarnessV1UnsupportedError } from './unsupported-error.ts';
import { isJsonObject, toJsonValue, type JsonObject } from '../../core/json.ts';
import { z } from 'zod';
import type { PermissionMode } from '../../core/run-config.ts';
import type { RunState } from '../../core/run-state.ts';
import type { HostSkill, TurnSettingsGiven } from './harness-v1.ts';

const object = z.record(z.string(), z.json());
const schema = z.object({
  tools: z.array(z.object({ name: z.string(), description: z.string(), inputSchema: object })),
  instructions: z.string().nullable(),
  skills: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      content: z.string(),
      files: z.array(z.object({ path: z.string(), content: z.string() })),
    }),
  ),
  mode: z.enum(['allow-all', 'allow-edits', 'allow-reads']),
  filter: z.object({ mode: z.enum(['allow', 'deny']), names: z.array(z.string()) }).nullable(),
  outputSchema: object.nullable(),
});

export interface TurnSettings {
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: JsonObject }[];
  readonly instructions: string | null;
  readonly skills: readonly Required<HostSkill>[];
  readonly mode: PermissionMode;
  readonly filter: { readonly mode: 'allow' | 'deny'; readonly names: readonly string[] } | null;
  readonly outputSchema: JsonObject | null;
}

const key = 'reins_harness_turn';

/** @throws HarnessV1UnsupportedError  JSON without a schema is asked for. */
export function settingsOf(given: TurnSettingsGiven): TurnSettings {
  const {
    tools,
    skills,
    instructions = null,
    permissionMode: mode = 'allow-all',
    builtinToolFiltering,
    responseFormat,
  } = given;
  const isJson = responseFormat?.type === 'json';
  const outputSchema = isJson ? asObject(responseFormat.schema) : null;
  if (isJson && outputSchema === null) throw new HarnessV1UnsupportedError('A JSON answer needs a schema.');
  return {
    tools: tools.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      inputSchema: asObject(inputSchema) ?? { type: 'object' },
    })),
    instructions,
    skills: skills.map(({ name, description, content, files = [] }) => ({
      name,
      description,
      content,
      files,
    })),
    mode,
    filter:
      builtinToolFiltering === undefined
        ? null
        : { mode: builtinToolFiltering.mode, names: builtinToolFiltering.toolNames },
    outputSchema,
  };
}

function asObject(value: unknown): JsonObject | null {
  const json = toJsonValue(value);
  return isJsonObject(json) ? json : null;
}

export function toMetadata(settings: TurnSettings): JsonObject {
  return { [key]: toJsonValue(settings) };
}

/** Null: the run is of no such host, or works for one that is. */
export function settingsIn(metadata: JsonObject | undefined): TurnSettings | null {
  return schema.safeParse(metadata?.[key]).data ?? null;
}

/** The run with what its host has set, over what its agent is. */
export function dressState(state: RunState): RunState {
  const settings = settingsIn(state.task?.metadata);
  const { config } = state;
  if (settings === null || config === null) return state;
  const { permissions = allowAll } = config;
  const { mode, filter, instructions, outputSchema } = settings;
  const above = mode === 'allow-all' ? {} : { above: { ...allowAll, ...permissions.above, mode } };
  return {
    ...state,
    config: {
      ...config,
      instructions: [config.instructions, instructions].filter(Boolean).join('\n\n') || null,
      disabledTools: [...config.disabledTools, ...(filter?.mode === 'deny' ? filter.names : [])],
      // The host knows no way to ask about a call whose outcome is unknown.
      permissions: { ...permissions, ...above, onUnknown: 'tell-model' },
      ...(outputSchema === null ? {} : { outputSchema }),
    },
  };
}
