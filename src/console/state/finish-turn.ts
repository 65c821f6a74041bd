// The end of a turn in its rows: what still runs is stopped, the final text is made good, and one line says how it ended.

import { append, inOrder, noText } from './marked-text.ts';
import { endLine } from './end-line.ts';
import { firstOfTurn, push, replaceRow, withTurn, type Page } from './page.ts';
import { settleCard } from './tool-card.ts';
import type { AssistantRow, Row } from './row.ts';
import type { TurnEnd } from './turn-event.ts';

export function finishTurn(page: Page, end: TurnEnd, atMs: number): Page {
  const succeeded = end.ending.kind === 'finished' || end.ending.kind === 'chat-finished';
  const settled = settle(page, atMs);
  const corrected = succeeded ? correctText(settled, end.text) : settled;
  return withTurn(push(corrected, endLine(end.ending)), { open: 'none' });
}

function settle({ rows, turn }: Page, atMs: number): Page {
  const first = firstOfTurn(rows, turn.id);
  const own = rows.slice(first).map((row): Row => (row.kind === 'tool_run' ? settleCard(row, atMs) : row));
  return { rows: own.every((row, at) => row === rows[first + at]) ? rows : [...rows.slice(0, first), ...own], turn };
}

/** An empty final text wipes nothing, and what is shown is not shown again. */
function correctText(page: Page, final: string): Page {
  if (final.trim() === '') return page;
  const { rows, turn } = page;
  const first = firstOfTurn(rows, turn.id);
  const segments = [...rows.entries()].filter(
    (entry): entry is [number, AssistantRow] => entry[0] >= first && entry[1].kind === 'assistant',
  );
  const newest = segments.at(-1);
  const last = rows.at(-1);
  if (newest === undefined || (last?.turn === turn.id && last.kind === 'tool_run')) {
    const said = inOrder(turn.said);
    const missing = final.trim() === said.trim() ? '' : restAfter(said, final);
    return missing.trim() === ''
      ? page
      : push(page, { kind: 'assistant', ...append(noText, { index: turn.top + 1, text: missing }) });
  }
  // Of a turn that begins before the window nobody can say what its first segments were.
  if (rows[first]?.place !== 0 || newest[1].bytes > newest[1].text.length * 3) return page;
  const before = segments
    .slice(0, -1)
    .map(([, { text }]) => text)
    .join('');
  if (segments.length > 1 && !final.startsWith(before.trimStart())) return page;
  const text = segments.length > 1 ? final.slice(before.trimStart().length) : final;
  if (text.trim() === '' || text === newest[1].text) return page;
  const index = newest[1].marks[0]?.index ?? 0;
  return replaceRow(page, newest[0], { ...newest[1], ...append(noText, { index, text }) });
}

function restAfter(said: string, final: string): string {
  const shown = said.trim();
  const whole = final.trimStart();
  return shown !== '' && whole.startsWith(shown) ? whole.slice(shown.length) : final;
}
