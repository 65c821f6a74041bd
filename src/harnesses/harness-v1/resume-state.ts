import { isJsonObject, toJsonValue, type JsonObject } from '../../core/json.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import type { HarnessV1 } from './harness-v1.ts';

/** A state that the adapter gave, as it is kept; null: it gave none. A turn that was under way is not gone on with, and not kept. */
export function keptState(given: unknown): JsonObject | null {
  const value = toJsonValue(given);
  if (!isJsonObject(value) || value['type'] !== 'resume-session') return null;
  const { continueFrom: _continueFrom, ...state } = value;
  return state;
}

/** Whether the adapter can take it up: asked before anything is started, in this order (P-079). */
export async function isResumable(state: JsonObject | undefined, adapter: HarnessV1): Promise<boolean> {
  if (state?.['type'] !== 'resume-session') return false;
  if (state['specificationVersion'] !== adapter.specificationVersion || state['harnessId'] !== adapter.harnessId)
    return false;
  return fitsSchema(state['data'], adapter.lifecycleStateSchema);
}

/** A Standard Schema, as those of zod are, or one of the AI SDK, perhaps made when it is needed. */
async function fitsSchema(data: unknown, schema: unknown): Promise<boolean> {
  if (typeof schema === 'function' && !('~standard' in schema)) return fitsSchema(data, schema());
  const standard: unknown =
    typeof schema === 'object' && schema !== null ? Reflect.get(schema, '~standard') : undefined;
  const validate: unknown = isRecord(standard)
    ? standard['validate']
    : isRecord(schema)
      ? schema['validate']
      : undefined;
  if (typeof validate !== 'function') return true;
  const result: unknown = await validate(data);
  return isRecord(result) && result['issues'] === undefined && result['success'] !== false;
}
