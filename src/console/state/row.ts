import type { MarkedText } from './marked-text.ts';

/** Local name of a turn: what it was sent under, or the response's id where it was begun elsewhere. */
export type TurnId = string;

interface RowBase {
  /** The same again when the same events are folded again. */
  readonly id: string;
  readonly turn: TurnId;
  /** Which row of the turn it is where thinking is left out; cards that a thinking row parts have one place (C-037). */
  readonly place: number;
}

export type UserRow = RowBase & { readonly kind: 'user'; readonly text: string };
export type AssistantRow = RowBase & { readonly kind: 'assistant' } & MarkedText;
export type ThinkingRow = RowBase & { readonly kind: 'thinking' } & MarkedText;
export type SystemRow = RowBase & { readonly kind: 'system'; readonly text: string };
export type ErrorRow = RowBase & { readonly kind: 'error'; readonly text: string };
export type ToolRow = RowBase & { readonly kind: 'tool_run' } & ToolCard;
/** What the transcript is made of (C-010). */
export type Row = UserRow | AssistantRow | ThinkingRow | SystemRow | ErrorRow | ToolRow;

export type ToolState = 'running' | 'waiting' | 'ok' | 'failed' | 'stopped';

export interface ToolItem {
  /** Null: the server gave none. */
  readonly id: string | null;
  readonly name: string;
  readonly state: ToolState;
  /** One line, at most 64 characters (C-021). */
  readonly brief: string;
  /** What it was called with, in one line: its command, its path; empty where nobody told. */
  readonly asked: string;
  /** The arguments, whole where they have room; null: nobody told. */
  readonly input: string | null;
  /** What it brought beside the brief; null: nothing. */
  readonly detail: string | null;
  /** Place in the output, by which an attempt that was given up takes it along. */
  readonly index: number;
}

/** One uninterrupted streak of calls (C-020). Figures of its header: `countsOf`. */
export interface ToolCard {
  readonly items: readonly ToolItem[];
  /** UTF-8, of all inputs and details together. */
  readonly detailBytes: number;
  readonly startedMs: number;
  /** Of the last change. */
  readonly changedMs: number;
}
