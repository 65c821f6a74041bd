import { collapse, shorten } from './utf8.ts';
import { turnOf, type ConsoleState } from './state.ts';
import type { Row, ThinkingRow } from './row.ts';

const previewUnits = 120;

/** Thinking of the turn at work is open; else nothing is, unless a person opened it (C-020, C-025, C-026). */
export function isRowOpen(state: Pick<ConsoleState, 'phase' | 'opened'>, row: Row): boolean {
  if (row.kind === 'thinking' && row.turn === turnOf(state)?.id) return true;
  return state.opened.get(row.id) ?? false;
}

/** Blank ones are not painted (C-010). */
export function isPainted(row: Row): boolean {
  return row.kind !== 'assistant' || row.text.trim() !== '';
}

/** Of thinking that is closed. */
export function thinkingPreview({ text }: Pick<ThinkingRow, 'text'>): string {
  return shorten(collapse(text.slice(0, previewUnits * 4)), previewUnits);
}
