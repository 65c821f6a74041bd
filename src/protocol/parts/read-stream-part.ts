import { decodeStreamPart } from './decode-stream-part.ts';
import { UnknownPartTypeError } from './stream-part-error.ts';
import type { PartLimits } from './read-tagged.ts';
import type { StreamPart } from './stream-part.ts';

export type ReadPart =
  | { readonly kind: 'part'; readonly part: StreamPart }
  /** Counts as content for nothing and ends no turn; kept, and passed on as it is (`marshalTagged`). */
  | { readonly kind: 'unknown'; readonly partType: string; readonly value: Readonly<Record<string, unknown>> };

/**
 * For logs and live streams, where parts of a younger vocabulary are no fault (P-030).
 * @throws StreamPartError  It is no part, or a malformed one of a known type.
 */
export function readStreamPart(input: unknown, limits: PartLimits = {}): ReadPart {
  try {
    return { kind: 'part', part: decodeStreamPart(input, limits) };
  } catch (cause) {
    if (!(cause instanceof UnknownPartTypeError)) throw cause;
    return { kind: 'unknown', partType: cause.partType, value: cause.value };
  }
}
