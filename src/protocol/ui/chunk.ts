// Chunks of a UI message stream, as `useChat` of the AI SDK reads them (P-085). Only what its versions from 7.0.112 on know;
// with `chunks: 6` what 6.0.326 knows. No key but `output` is ever null.

import type { JsonObject, JsonValue } from '../../core/json.ts';

export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** Parts of our own, each named `data-reins-…`. */
export type UiDataName = 'budget' | 'gap' | 'model' | 'recovery' | 'reset' | 'todos' | 'user-message' | 'waiting';

/** Part of a message where it has an id; else only said. */
export type UiDataChunk = {
  readonly type: `data-reins-${UiDataName}`;
  readonly data: JsonObject;
  readonly id?: string;
  readonly transient?: true;
};

interface Call<T extends string> {
  readonly type: T;
  readonly toolCallId: string;
}
interface NamedCall<T extends string> extends Call<T> {
  readonly toolName: string;
  readonly dynamic: true;
  /** Absent: the client has to give its output. */
  readonly providerExecuted?: true;
}

export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata?: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | (NamedCall<'tool-input-start'> & { readonly title?: string })
  | (Call<'tool-input-delta'> & { readonly inputTextDelta: string })
  | (NamedCall<'tool-input-available'> & { readonly input: JsonValue })
  | (NamedCall<'tool-input-error'> & { readonly input: JsonValue; readonly errorText: string })
  | (Call<'tool-approval-request'> & { readonly approvalId: string; readonly reason?: string })
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | (Call<'tool-output-available'> & { readonly output: JsonValue })
  | (Call<'tool-output-error'> & { readonly errorText: string })
  | Call<'tool-output-denied'>
  | UiDataChunk
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason: string }
  | { readonly type: 'finish'; readonly finishReason: UiFinishReason; readonly messageMetadata?: JsonObject };

/** What a client asked for. */
export interface UiForm {
  readonly chunks: 6 | 7;
  readonly sendReasoning: boolean;
}

/** Whether nothing of its message follows. */
export function endsMessage({ type }: UiChunk): boolean {
  return type === 'finish' || type === 'abort' || type === 'error';
}
