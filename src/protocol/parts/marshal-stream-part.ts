import { fits } from './read-tagged.ts';
import { isStreamPartType, readPart } from './part-shapes.ts';
import { StreamPartError } from './stream-part-error.ts';
import { toJsonValue } from '../../core/json.ts';
import { writing } from './marshal-tagged.ts';
import type { StreamPart } from './stream-part.ts';

/**
 * One part as JSON text that both SDKs accept: `type` first, nothing null that may be absent, counts whole, strings well-formed.
 * An `Error` becomes its name, message and code, without its stack; what of it may be shown is the caller's to decide.
 * @throws StreamPartError  `unencodable`: no part, or one that holds something other than JSON.
 */
export function marshalStreamPart(part: StreamPart): string {
  const { type } = part;
  return writing(type, () => {
    const given = part.type === 'error' ? { error: toJsonValue(part.error) } : part;
    if (!isStreamPartType(type) || !fits(given)) throw new StreamPartError('unencodable');
    return readPart(type, given);
  });
}
