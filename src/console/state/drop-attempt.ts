import { append, dropFrom } from './marked-text.ts';
import { firstOfTurn, grow, withTurn, type Page } from './page.ts';
import { utf8Bytes } from './utf8.ts';
import type { Row } from './row.ts';

export interface GivenUp {
  /** First place of the output that is void; null: all since the last tool event. */
  readonly index: number | null;
  /** Answer text that stays after all. */
  readonly kept: string;
}

/** Without the rows and tails of rows that came from attempts that were given up (C-013). No row says so. */
export function dropAttempt({ rows, turn }: Page, { index, kept }: GivenUp): Page {
  const from = index ?? turn.leg;
  const first = firstOfTurn(rows, turn.id);
  const left = rows.slice(first).flatMap((row) => without(row, from));
  const said = dropFrom(turn.said, from);
  const last = left.at(-1)?.kind;
  const dropped: Page = {
    rows: [...rows.slice(0, first), ...left],
    turn: {
      ...turn,
      said,
      spoke: said.text.trim() !== '',
      held: '',
      top: Math.min(turn.top, from - 1),
      open: last === 'assistant' || last === 'thinking' ? last : 'none',
      places: (left.at(-1)?.place ?? -1) + 1,
    },
  };
  if (kept === '') return dropped;
  const spoken = withTurn(dropped, {
    said: append(said, { index: from, text: kept }, Infinity),
    spoke: true,
    open: 'none',
  });
  return grow(spoken, 'assistant', { text: kept, index: from });
}

function without(row: Row, from: number): readonly Row[] {
  switch (row.kind) {
    case 'assistant':
    case 'thinking': {
      const left = dropFrom(row, from);
      return left === row ? [row] : left.text.trim() === '' ? [] : [{ ...row, ...left }];
    }
    case 'tool_run': {
      const items = row.items.filter((item) => item.index < from);
      if (items.length === row.items.length) return [row];
      const detailBytes = items.reduce((sum, { detail }) => sum + utf8Bytes(detail ?? ''), 0);
      return items.length === 0 ? [] : [{ ...row, items, detailBytes }];
    }
    case 'user':
    case 'system':
    case 'error':
      return [row];
  }
}
