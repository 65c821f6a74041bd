import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../core/json.ts';

/** What two requests with one key or one message id are compared by (UD-11, UR-33). */
export function hashBody(body: JsonValue): string {
  return createHash('sha256').update(canonicalJson(body)).digest('hex');
}
