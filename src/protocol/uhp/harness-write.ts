// The body that makes or changes a harness (U-103, U-104), parsed at the door.
//
// W1. Names may be in snake_case or in camelCase, as they are read; both, with different values, are refused (UD-33).
// W2. What only the server writes is dropped without a word, so that what was read can be written back (UD-32, Q-07).
// W3. Any other name that is not known is refused here, and not when a task meets it (B110).

import * as z from 'zod';
import { canonicalJson, type JsonObject, type JsonValue } from '../../core/json.ts';
import { checkFields, readBody } from './parse-body.ts';
import { InvalidInputError } from '../../core/errors.ts';

const text = z.string('must be a string');
const name = text.min(1, 'must not be empty').max(256, 'may have at most 256 characters');
const flag = z.boolean('must be true or false');
const budget = z.int('must be a whole number').min(1, 'must be at least 1');
const list = 'must be a list';

const files = z
  .array(z.object({ path: text, content: text.nullish(), content_b64: text.nullish() }, 'must be an object'), list)
  .nullish();
const bundle = { enabled: flag.nullish().transform((on) => on ?? true), files, blob: text.nullish() };

const server = z.object(
  {
    name,
    url: text,
    transport: z
      .enum(['http', 'sse'], 'must be http or sse')
      .nullish()
      .transform((transport) => transport ?? 'http'),
    enabled: bundle.enabled,
    headers: z
      .record(z.string(), text, 'must be an object of strings')
      .nullish()
      .transform((headers) => headers ?? {}),
    auth: text
      .min(1, 'must not be empty')
      .nullish()
      .transform((auth) => auth ?? null),
  },
  'must be an object',
);

const skill = z.object(
  {
    /** It becomes the name of a folder. */
    name: text.regex(/^(?!\.{1,2}$)[^/\\\p{Cc}]{1,64}$/u, 'must be 1 to 64 characters that can name a folder'),
    content: text.nullish(),
    ...bundle,
  },
  'must be an object',
);

export const harnessBody = z.object({
  name: name.nullish(),
  base: text.nullish(),
  default_model: text.nullish(),
  system_prompt: text.nullish(),
  mcp_servers: z.array(server, list).nullish(),
  skills: z.array(skill, list).nullish(),
  plugins: z.array(z.object({ name: text.nullish(), ...bundle }, 'must be an object'), list).nullish(),
  environment: text.nullish(),
  disabled_tools: z.array(text, list).nullish(),
  max_step: budget.nullish(),
  timeout_seconds: budget.nullish(),
  reins_permission_mode: z
    .enum(['allow-all', 'allow-edits', 'allow-reads'], 'must be allow-all, allow-edits or allow-reads')
    .nullish(),
  reins_tool_permissions: z
    .record(z.string(), z.enum(['allow', 'ask', 'deny'], 'must be allow, ask or deny'), 'must be an object')
    .nullish(),
  reins_on_unknown: z.enum(['tell-model', 'park'], 'must be tell-model or park').nullish(),
  reins_questions: flag.nullish(),
  reins_model_fallback: flag.nullish(),
  reins_template: text.min(1, 'must not be empty').nullish(),
  reins_workspace_config: flag.nullish(),
});

const written = Object.keys(harnessBody.shape);
const serverWritten = ['id', 'object', 'base_label', 'created_at', 'reins_capabilities'];

/** What is absent stays absent, null stays null: which of the two it was counts in an update. @throws RequestError */
export function parseHarnessWrite(body: unknown) {
  const sent = checkFields(harnessBody, inSnakeCase(readBody(body)));
  if ((sent.environment ?? '') !== '') throw new InvalidInputError('Environments are not served here.', 'environment');
  return {
    name: sent.name,
    base: sent.base,
    defaultModel: sent.default_model,
    systemPrompt: sent.system_prompt,
    mcpServers: sent.mcp_servers,
    skills: sent.skills,
    plugins: sent.plugins,
    disabledTools: sent.disabled_tools,
    maxStep: sent.max_step,
    timeoutSeconds: sent.timeout_seconds,
    permissionMode: sent.reins_permission_mode,
    toolPermissions: sent.reins_tool_permissions,
    onUnknown: sent.reins_on_unknown,
    questions: sent.reins_questions,
    modelFallback: sent.reins_model_fallback,
    template: sent.reins_template,
    workspaceConfig: sent.reins_workspace_config,
  };
}

function inSnakeCase(sent: JsonObject): JsonObject {
  const fields = new Map<string, JsonValue>();
  for (const [key, value] of Object.entries(sent)) {
    const field = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const other = fields.get(field);
    if (other !== undefined && canonicalJson(other) !== canonicalJson(value))
      throw new InvalidInputError(`${field} is given twice, with different values.`, field);
    if (serverWritten.includes(field)) continue;
    if (!written.includes(field)) throw new InvalidInputError('A harness has no such setting.', key);
    fields.set(field, value);
  }
  return Object.fromEntries(fields);
}
