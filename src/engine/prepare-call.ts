// From what the model wrote to a call that may run, or a refusal that the model can read. Without effects, so it may be
// done again on resume (E-515).

import { hash } from 'node:crypto';
import { canonicalJson, isJsonObject, toJsonValue, type JsonObject } from '../core/json.ts';
import { head } from '../core/text.ts';
import { inMiddleware } from './middleware-error.ts';
import type { Tool } from './tool.ts';
import type { ToolCall, ToolOutcome } from '../core/run-event.ts';
import type { ValidateFunction } from 'ajv';

export type PreparedCall =
  | {
      readonly verdict: 'run';
      readonly call: ToolCall;
      readonly tool: Tool;
      readonly input: JsonObject;
      /** Of name and input, and of the tool's identity: what an approval is bound to (E-530, E-903). */
      readonly argsDigest: string;
    }
  | { readonly verdict: 'refuse'; readonly call: ToolCall; readonly outcome: ToolOutcome; readonly content: string };

export interface Toolbox {
  readonly tools: readonly Tool[];
  prepare(call: ToolCall): Promise<PreparedCall>;
}

/** May change name and arguments of a call, as a function of them alone: it is asked again on resume (E-515). */
export type ChangeCall = (call: {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}) =>
  | { readonly name: string; readonly arguments: string }
  | Promise<{ readonly name: string; readonly arguments: string }>;

export function createToolbox(tools: readonly Tool[], changes: readonly ChangeCall[] = []): Toolbox {
  return {
    tools,
    async prepare(asked) {
      let call = asked;
      for (const change of changes) call = { ...(await inMiddleware('beforeTool', change, call)), id: asked.id };
      const refuse = (content: string): PreparedCall => ({ verdict: 'refuse', call, outcome: 'invalid', content });
      const input = parseArguments(call.arguments);
      if (input === null) return refuse(`The arguments of '${head(call.name, 80)}' are not one JSON object.`);
      const tool = resolveTool(tools, call.name);
      if (tool === undefined) return refuse(unknownTool(tools, call.name));
      const validate = await validatorOf(tool.inputSchema);
      if (validate === null) return refuse(`The schema of '${tool.name}' is broken; this tool cannot be used.`);
      if (!validate(input)) return refuse(`Invalid arguments for '${tool.name}': ${firstError(validate)}.`);
      return { verdict: 'run', call, tool, input, argsDigest: digestOf(tool, input) };
    },
  };
}

function digestOf({ name, identity }: Tool, input: JsonObject): string {
  return hash('sha256', canonicalJson(identity === undefined ? { name, input } : { name, input, identity }));
}

const validators = new WeakMap<JsonObject, ValidateFunction | null>();

/**
 * Null: the schema is none; it may come from an MCP server, and costs that tool, not the run. Each has a compiler of its
 * own, so that none knows the names of another's parts; without the schema of schemas, which takes 10 ms to compile, and
 * loaded on first use: most of a server's start needs none.
 */
async function validatorOf(schema: JsonObject): Promise<ValidateFunction | null> {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const { Ajv } = await import('ajv');
  const ajv = new Ajv({ strict: false, useDefaults: true, logger: false, meta: false, validateSchema: false });
  const made = compiled(() => ajv.compile(schema));
  validators.set(schema, made);
  return made;
}

function compiled(compile: () => ValidateFunction): ValidateFunction | null {
  try {
    return compile();
  } catch {
    return null;
  }
}

/** Strict: one JSON object, no repair; the empty string is `{}` (E-511). */
function parseArguments(text: string): JsonObject | null {
  try {
    const value = toJsonValue(JSON.parse(text === '' ? '{}' : text));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function firstError({ errors }: ValidateFunction): string {
  const first = errors?.[0];
  if (first === undefined) return 'they do not fit the schema';
  const path = first.instancePath === '' ? 'the object' : first.instancePath.slice(1).replaceAll('/', '.');
  const extra: unknown = first.params['additionalProperty'];
  const named = typeof extra === 'string' ? ` ('${head(extra, 80)}')` : '';
  return `${path} ${first.message ?? 'does not fit the schema'}${named}`;
}

/** The exact name first; then, if only one tool fits, a match without case, separators and usual prefixes (E-512). */
function resolveTool(tools: readonly Tool[], name: string): Tool | undefined {
  const exact = tools.find((tool) => tool.name === name);
  if (exact !== undefined) return exact;
  const fitting = tools.filter((tool) => plainName(tool.name) === plainName(name));
  return fitting.length === 1 ? fitting[0] : undefined;
}

function plainName(name: string): string {
  return name
    .replace(/^(functions\.|tools\.|default_api:)/, '')
    .toLowerCase()
    .replaceAll(/[-_. ]/g, '');
}

function unknownTool(tools: readonly Tool[], name: string): string {
  const names = tools.map((tool) => tool.name);
  const near = names.filter((known) => distance(plainName(known), plainName(name)) <= 3).slice(0, 3);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The tools are: ${names.join(', ')}.`;
  return `There is no tool named '${head(name, 80)}'. ${hint}`;
}

/** Levenshtein distance of two short names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
