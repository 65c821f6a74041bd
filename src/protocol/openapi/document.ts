// The HTTP interface as OpenAPI 3.1, from the schemas that parse requests and those of `answers.ts`.

import * as z from 'zod';
import { errorEnvelope, uhpEvent } from './answers.ts';
import { operations, type Operation } from './operations.ts';
import { versions } from '../uhp/versions.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

/** What the document is told of the server that serves it. */
export interface DocumentedServer {
  readonly version: string;
  /** Methods and paths that need no key, as in `operations`. */
  readonly open: ReadonlySet<string>;
}

export function openApiDocument({ version, open }: DocumentedServer): JsonObject {
  const schemas = new Map<string, JsonValue>();
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ');
    const entry = (paths[path.replaceAll(/:(\w+)/g, '{$1}')] ??= {});
    entry[method.toLowerCase()] = describe(operation, { name, path, isOpen: open.has(name), schemas });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reins',
      version,
      description: 'The Unified Harness Protocol, and what Reins adds to it below /v1/reins.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries([...schemas].toSorted(([a], [b]) => a.localeCompare(b))),
    },
  };
}

interface Place {
  readonly name: string;
  readonly path: string;
  readonly isOpen: boolean;
  readonly schemas: Map<string, JsonValue>;
}

function describe(operation: Operation, { name, path, isOpen, schemas }: Place): JsonValue {
  const { summary, body, query = [], headers = [] } = operation;
  const parameter = (where: string) => (each: string) => ({
    name: each,
    in: where,
    required: where === 'path',
    schema: { type: 'string' },
  });
  const inPath = [...path.matchAll(/:(\w+)/g)].map((found) => found[1] ?? '');
  const version = {
    name: 'UHP-Version',
    in: 'header',
    required: false,
    schema: { type: 'string', enum: [...versions] },
  };
  return {
    summary,
    operationId: operationId(name),
    tags: [tagOf(path)],
    ...(isOpen ? { security: [] } : {}),
    parameters: [
      ...inPath.map(parameter('path')),
      ...query.map(parameter('query')),
      ...headers.map(parameter('header')),
      version,
    ],
    ...(body === undefined ? {} : { requestBody: requestBody(body, schemas) }),
    responses: { 200: answer(operation, schemas), default: refusal(operation, schemas) },
  };
}

function requestBody(body: NonNullable<Operation['body']>, schemas: Place['schemas']): JsonValue {
  if (body !== 'form') return { content: { 'application/json': { schema: schemaOf(body, schemas, 'input') } } };
  const properties = {
    file: { type: 'string', contentMediaType: 'application/octet-stream' },
    purpose: { type: 'string' },
  };
  return {
    required: true,
    content: { 'multipart/form-data': { schema: { type: 'object', required: ['file'], properties } } },
  };
}

function answer({ answer: given, streams }: Operation, schemas: Place['schemas']): JsonValue {
  const event = streams === undefined || streams === true ? uhpEvent : streams;
  const events = { 'text/event-stream': { schema: schemaOf(event, schemas, 'output') } };
  if (given === 'stream') return { description: 'One event a message', content: events };
  if (typeof given === 'string') return { description: 'Its bytes', content: { [given]: {} } };
  const json = { 'application/json': { schema: schemaOf(given, schemas, 'output') } };
  return { description: 'As asked', content: streams === undefined ? json : { ...json, ...events } };
}

const common = [
  'unsupported_protocol_version',
  'invalid_input',
  'missing_credential',
  'invalid_credential',
  'reins_internal',
];

function refusal({ errors = [], refusal: own }: Operation, schemas: Place['schemas']): JsonValue {
  if (own !== undefined)
    return {
      description: 'What is wrong',
      content: { 'application/json': { schema: schemaOf(own, schemas, 'output') } },
    };
  return {
    description: `An error; codes: ${[...errors, ...common].join(', ')}`,
    content: { 'application/json': { schema: schemaOf(errorEnvelope, schemas, 'output') } },
  };
}

/** A schema with a name stands among the components, once; others where they are used. */
function schemaOf(schema: z.ZodType, schemas: Place['schemas'], io: 'input' | 'output'): JsonValue {
  const made = z.toJSONSchema(schema, { target: 'draft-2020-12', io, unrepresentable: 'any', reused: 'inline' });
  const { $schema: _, $defs = {}, id: own, ...rest } = toJson(made);
  for (const [name, definition] of Object.entries(toJson($defs))) schemas.set(name, withoutId(pointed(definition)));
  if (typeof own !== 'string') return pointed(rest);
  schemas.set(own, pointed(rest));
  return { $ref: `#/components/schemas/${own}` };
}

function toJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

function pointed(schema: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

function withoutId(schema: JsonValue): JsonValue {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'id' && key !== '$schema'));
}

function operationId(name: string): string {
  const words = name
    .replace('/v1/', '/')
    .split(/[^A-Za-z]+/)
    .filter((word) => word !== '');
  return words.map((word, at) => (at === 0 ? word.toLowerCase() : word[0]?.toUpperCase() + word.slice(1))).join('');
}

function tagOf(path: string): string {
  const [, , first = '', second = ''] = path.split('/');
  return path.startsWith('/v1/') ? (first === 'reins' ? second : first) : 'operation';
}
