import { ConfigurationError } from '../core/errors.ts';
import { isJsonObject, toJsonValue, type JsonObject, type JsonValue } from '../core/json.ts';
import { head, toWellFormed } from '../core/text.ts';
import type { Tool, ToolContext, ToolOutput } from './tool.ts';

/** A Standard Schema that can also say itself as JSON Schema, as every schema of zod 4 can (standardschema.dev). */
export interface InputSchema<Input> {
  readonly '~standard': {
    readonly types?: { readonly output: Input } | undefined;
    validate(value: unknown): SchemaResult<Input> | Promise<SchemaResult<Input>>;
    readonly jsonSchema: { input(options: { readonly target: 'draft-07' }): Record<string, unknown> };
  };
}

type SchemaResult<Input> =
  | { readonly value: Input; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: IssuePath | undefined }[] };
type IssuePath = readonly (PropertyKey | { readonly key: PropertyKey })[];

interface Definition<Schema, Input> extends Omit<Tool, 'inputSchema' | 'run'> {
  readonly input: Schema;
  /**
   * The handler. Text and a `ToolOutput` are given on as they are; any other value becomes safe JSON text, and nothing at
   * all a note that there is no output. What it throws becomes an error result (E-534).
   */
  run(input: Input, context: ToolContext): unknown;
}

type SchemaTool<Input> = Definition<InputSchema<Input>, Input>;
type JsonSchemaTool = Definition<JsonObject, JsonObject>;
type Parsed<Input> = { readonly ok: true; readonly input: Input } | { readonly ok: false; readonly why: string };

/**
 * A tool whose handler gets its input parsed and typed by the schema: with zod, defaults and transforms applied. With a
 * JSON Schema object the handler gets the JSON as the engine has checked it.
 * @throws ConfigurationError  The name is none that providers take, or the schema is not that of an object.
 */
export function defineTool<Input>(definition: SchemaTool<Input>): Tool;
export function defineTool(definition: JsonSchemaTool): Tool;
export function defineTool(definition: SchemaTool<unknown> | JsonSchemaTool): Tool {
  if (isJsonSchemaTool(definition)) return makeTool(definition, definition.input, readObject);
  const schema = definition.input;
  return makeTool(definition, jsonSchemaOf(definition.name, schema), (input) => parseWith(schema, input));
}

function isJsonSchemaTool(definition: SchemaTool<unknown> | JsonSchemaTool): definition is JsonSchemaTool {
  return !('~standard' in definition.input);
}

async function readObject(input: JsonValue): Promise<Parsed<JsonObject>> {
  return isJsonObject(input) ? { ok: true, input } : { ok: false, why: 'the input is not an object' };
}

function makeTool<Input>(
  definition: Definition<unknown, Input>,
  schema: JsonObject,
  parse: (input: JsonValue) => Promise<Parsed<Input>>,
): Tool {
  const { input: _, ...settings } = definition;
  const { name } = definition;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new ConfigurationError(
      `The tool name ${JSON.stringify(head(name, 100))} is not 1 to 64 letters, digits, '_' or '-'.`,
    );
  if (schema['type'] !== 'object')
    throw new ConfigurationError(`The input schema of tool '${name}' must be an object's.`);
  return {
    ...settings,
    inputSchema: schema,
    async run(input, context) {
      const parsed = await parse(input);
      if (!parsed.ok) return { content: `Invalid arguments for '${name}': ${parsed.why}.`, isError: true };
      return toOutput(await definition.run(parsed.input, context));
    },
  };
}

/** Draft 7 is what the engine's check understands; `$schema` says nothing to a model. */
function jsonSchemaOf(name: string, schema: InputSchema<unknown>): JsonObject {
  try {
    const { $schema: _, ...jsonSchema } = schema['~standard'].jsonSchema.input({ target: 'draft-07' });
    const value = toJsonValue(jsonSchema);
    return isJsonObject(value) ? value : {};
  } catch (cause) {
    throw new ConfigurationError(`The input of tool '${name}' cannot be written as JSON Schema.`, { cause });
  }
}

/** What JSON Schema could not say, such as a refinement, fails here; the model reads the first fault on one line (E-513). */
async function parseWith<Input>(schema: InputSchema<Input>, input: JsonValue): Promise<Parsed<Input>> {
  const result = await schema['~standard'].validate(input);
  if (result.issues === undefined) return { ok: true, input: result.value };
  const { path = [], message = 'they do not fit the schema' } = result.issues[0] ?? {};
  const where = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  const why = `${where === '' ? 'the object' : where}: ${message}`;
  return { ok: false, why: head(toWellFormed(why.replaceAll(/\s+/g, ' ')), 500).replace(/\.$/, '') };
}

function toOutput(value: unknown): ToolOutput {
  if (value === undefined) return { content: '(no output)' };
  if (typeof value === 'string') return { content: toWellFormed(value) };
  if (isToolOutput(value)) return { ...value, content: toWellFormed(value.content) };
  return { content: JSON.stringify(toJsonValue(value)) };
}

const outputKeys = new Set<string>([
  'content',
  'media',
  'isError',
  'files',
  'unstopped',
] satisfies (keyof ToolOutput)[]);

/** Data that only happens to have a `content` has other keys as well, and is JSON like any other. */
function isToolOutput(value: unknown): value is ToolOutput {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'content' in value && typeof value.content === 'string' && Object.keys(value).every((key) => outputKeys.has(key))
  );
}
