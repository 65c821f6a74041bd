import { isJsonObject, parsedOrText, type JsonObject } from '../../core/json.ts';
import { objectsIn, textIn } from './observe/fields.ts';
import { refusals, type RelayRefusal } from './refusals.ts';
import type { IncomingMessage } from 'node:http';
import type { OpenRequest } from './lease.ts';
import type { Route } from './routes.ts';

export interface Asked {
  /** The one asked for, then those that may stand in for it. */
  readonly models: readonly string[];
  readonly streams: boolean;
  /** How many the model is offered. */
  readonly tools: number;
}

const longestBody = 64 * 1024 * 1024;

/**
 * The whole body: which model it asks for is known only at its end, and must be known before the provider sees any of it. Of
 * one that may not be held nothing is kept, and the rest is read nevertheless: who still writes reads no answer.
 * @throws RelayRefusal  It is too long.
 */
export async function readBody(request: IncomingMessage, entered: OpenRequest): Promise<Buffer | RelayRefusal> {
  if (Number(request.headers['content-length'] ?? 0) > longestBody) throw refusals.tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  let refusal = entered.hold(0);
  for await (const chunk of request) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > longestBody) throw refusals.tooLong();
    refusal ??= entered.hold(bytes.length);
    if (refusal === null) chunks.push(bytes);
    else chunks.length = 0;
  }
  return refusal ?? Buffer.concat(chunks);
}

/** @returns null  The body of a request that must have one cannot be read. */
export function readAsked({ method, named }: Route, body: Buffer): Asked | null {
  if (method === 'GET') return { models: [], streams: false, tools: 0 };
  const fields = parsedOrText(body.toString());
  if (!isJsonObject(fields)) return null;
  const tools = objectsIn(fields, 'tools').flatMap(toolsIn).length;
  if (named !== undefined) return { models: [named.model], streams: named.streams, tools };
  const model = textIn(fields, 'model');
  // OpenRouter takes a list of stand-ins.
  const others = fields['models'];
  const standIns = Array.isArray(others) ? others.filter((each) => typeof each === 'string') : [];
  return { models: [...(model === null ? [] : [model]), ...standIns], streams: fields['stream'] === true, tools };
}

/** Gemini lists functions in groups. */
function toolsIn(entry: JsonObject): readonly JsonObject[] {
  const group = objectsIn(entry, 'functionDeclarations');
  return group.length === 0 ? [entry] : group;
}
