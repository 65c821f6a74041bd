import { isStreamPartType, readPart } from './part-shapes.ts';
import { readTagged, type PartLimits } from './read-tagged.ts';
import { UnknownPartTypeError } from './stream-part-error.ts';
import type { StreamPart } from './stream-part.ts';

/**
 * Reads one part, leniently: what either SDK writes is accepted. The input stays as it is.
 * @param input  JSON text, its UTF-8 bytes, or what was parsed from it.
 * @throws UnknownPartTypeError  Its type is none of these; it may be one of tomorrow.
 * @throws StreamPartError  It is no part.
 */
export function decodeStreamPart(input: unknown, limits: PartLimits = {}): StreamPart {
  const { type, fields } = readTagged(input, limits);
  if (!isStreamPartType(type)) throw new UnknownPartTypeError(type, fields);
  return readPart(type, fields);
}
