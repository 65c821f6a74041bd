// What goes out and comes back that has no type elsewhere: as the protocol says it, no more.

import type { JsonObject } from '../core/json.ts';

export type InputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_file' | 'input_image'; readonly file_id: string }
  /** `file_data`: a base64 data URL. */
  | { readonly type: 'input_file'; readonly filename: string; readonly file_data: string }
  | { readonly type: 'input_image'; readonly image_url: string };

export interface InputItem {
  readonly role: 'user' | 'assistant' | 'system' | 'developer';
  readonly content: string | readonly InputPart[];
}

/** A task as it is asked for (U-200). How it is delivered is the client's business. */
export interface RunRequest {
  readonly input: string | readonly InputItem[];
  readonly model?: string;
  readonly instructions?: string;
  readonly previous_response_id?: string | null;
  /** False: it cannot be read after its end. */
  readonly store?: boolean;
  readonly max_output_tokens?: number | null;
  readonly max_step?: number | null;
  readonly timeout_seconds?: number | null;
  /** `harness_id` chooses the harness; `reins_events: true` adds the server's own events. */
  readonly metadata?: JsonObject;
}

export interface Deleted {
  readonly id: string;
  readonly deleted: true;
}

export interface Page {
  readonly limit?: number;
  readonly cursor?: string | null;
}

/** Every verb takes a signal; it ends the waiting, and nothing on the server. */
export interface VerbOptions {
  readonly signal?: AbortSignal | undefined;
}
