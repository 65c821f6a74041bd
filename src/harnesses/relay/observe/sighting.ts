import type { JsonObject } from '../../../core/json.ts';
import type { RelayError } from '../relay-fact.ts';
import type { Usage } from '../../../core/usage.ts';

/** What one event of a stream, or a whole reply, says of itself. Absent or null: nothing of that. */
export interface Sighting {
  /** Who answers. */
  readonly model?: string | null;
  readonly usage?: Usage | null;
  /** In the wire's own words. */
  readonly finishReason?: string | null;
  readonly error?: RelayError | null;
  /** Calls of the runtime's tools that are whole by this. Absent: none, or not told by this wire. */
  readonly calls?: number;
  /** The wire's end mark, or an error event, which is an end as well: no more is to come. */
  readonly ends?: boolean;
  /** A sign of life that is no work. */
  readonly idle?: boolean;
}

/** Pure, and total over whatever JSON a provider sends. */
export type ReadSighting = (message: JsonObject) => Sighting;
