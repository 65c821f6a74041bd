import type { JsonObject } from '../../core/json.ts';
import type { RelayFact } from '../foreign/runtime.ts';

/** What a turn is told of, in the order in which it happened. */
export type NativeMessage =
  /** A line of the program, without those that only the adapter answers. */
  | { readonly from: 'program'; readonly message: JsonObject }
  | { readonly from: 'relay'; readonly fact: RelayFact }
  /** The id of a user message that was written to it. */
  | { readonly from: 'us'; readonly sent: string };
