import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { createHash } from 'node:crypto';
import { objectSchemaFrom } from './object-schema-from.ts';

/** A tool as its server describes it. */
export interface RemoteTool {
  /** The server's own name for it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Of description and schema: a change of either is a change of identity (E-903). */
  readonly identity: string;
}

/** One entry of a server's tool list; null for what is none. */
export function readRemoteTool(entry: JsonValue): RemoteTool | null {
  if (!isJsonObject(entry)) return null;
  const { name, description = '', inputSchema = null } = entry;
  if (typeof name !== 'string' || name === '') return null;
  return {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: objectSchemaFrom(inputSchema),
    identity: createHash('sha256')
      .update(canonicalJson([description, inputSchema]))
      .digest('hex'),
  };
}
