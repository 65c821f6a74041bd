// What the client of a chat says, as it was read at the door (P-086, P-087).

import type { InputPart } from './input-file.ts';
import type { JsonValue } from './json.ts';

export interface ChatMessage {
  readonly id: string;
  readonly content: readonly InputPart[];
  /** As it was sent. */
  readonly items: readonly JsonValue[];
}

export interface ChatAnswer {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason: string | null;
  /** Whether the client knows what came of it. */
  readonly isSettled: boolean;
}

export interface ChatOutput {
  readonly toolCallId: string;
  /** Null: there will be none. */
  readonly output: JsonValue | null;
}
