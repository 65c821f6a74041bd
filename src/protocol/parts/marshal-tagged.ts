import { fits } from './read-tagged.ts';
import { jsonObject } from './codec.ts';
import { StreamPartError } from './stream-part-error.ts';
import { toJsonValue } from '../../core/json.ts';

/**
 * An object as JSON text whose first key is `type`; a `type` inside the object is overruled.
 * @throws StreamPartError  `unencodable`: no object, or one that holds something other than JSON.
 */
export function marshalTagged(type: string, value: unknown): string {
  return writing(type, () => {
    const { type: _type, ...rest } = jsonObject(fits(value) ? value : undefined, { partType: type, path: '' });
    return { type, ...rest };
  });
}

/** Text of what `read` gives: well-formed, whole, `-0` as `0`. What is wrong with a value that is sent has one name (P-025). */
export function writing(partType: string | null, read: () => object): string {
  try {
    return JSON.stringify(toJsonValue(read()));
  } catch (cause) {
    if (!(cause instanceof StreamPartError)) throw cause;
    throw new StreamPartError('unencodable', { partType, path: cause.path, cause });
  }
}
