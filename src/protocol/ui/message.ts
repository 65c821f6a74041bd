// Messages of a chat, as `useChat` keeps them: what the messages route answers with (P-083).

import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { UiDataChunk } from './chunk.ts';

export interface UiApproval {
  readonly id: string;
  readonly requestReason?: string;
  readonly approved?: boolean;
  readonly reason?: string;
}

export interface UiToolPart {
  readonly type: 'dynamic-tool';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly state:
    | 'input-streaming'
    | 'input-available'
    | 'approval-requested'
    | 'approval-responded'
    | 'output-available'
    | 'output-error'
    | 'output-denied';
  readonly title?: string;
  readonly providerExecuted?: true;
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  readonly errorText?: string;
  readonly approval?: UiApproval;
}

export type UiPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly state?: 'streaming' | 'done' }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string; readonly filename?: string }
  | { readonly type: 'step-start' }
  | UiToolPart
  | Omit<UiDataChunk, 'transient'>;

export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly UiPart[];
  readonly metadata?: JsonObject;
}
