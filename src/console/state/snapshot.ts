// The rows of the simple mode as this browser keeps them (C-035): no thinking, and the oldest leave where it becomes too much.

import { append, noText } from './marked-text.ts';
import { decodeCard, encodeCard } from './stored-card.ts';
import { utf8Bytes } from './utf8.ts';
import type { Row } from './row.ts';

export const maxSnapshotBytes = 2 * 1024 * 1024;

interface Message {
  readonly kind: Exclude<Row['kind'], 'thinking'>;
  readonly turn: string;
  readonly text: string;
}

export function toSnapshot(rows: readonly Row[]): string {
  const messages = rows.flatMap(messagesOf).map((message) => JSON.stringify(message));
  let bytes = 2;
  let first = messages.length;
  while (first > 0) {
    const more = utf8Bytes(messages[first - 1] ?? '') + 1;
    if (bytes + more > maxSnapshotBytes) break;
    bytes += more;
    first--;
  }
  return `[${messages.slice(first).join(',')}]`;
}

function messagesOf(row: Row): readonly Message[] {
  if (row.kind === 'thinking') return [];
  const { kind, turn } = row;
  if (kind === 'tool_run') return encodeCard(row.items).map((text) => ({ kind, turn, text }));
  return [{ kind, turn, text: row.text }];
}

/** Empty where nothing can be read. A card that cannot be shows its text. */
export function fromSnapshot(text: string): readonly Row[] {
  const rows: Row[] = [];
  const places = new Map<string, number>();
  for (const { kind, turn, text: said } of parsed(text)) {
    const [before, items] = [rows.at(-1), kind === 'tool_run' ? decodeCard(said) : null];
    // Cards that only thinking parted, or their size, are one (C-037).
    if (items !== null && before?.kind === 'tool_run' && before.turn === turn) {
      rows[rows.length - 1] = { ...before, items: [...before.items, ...items] };
      continue;
    }
    const place = places.get(turn) ?? 0;
    places.set(turn, place + 1);
    const base = { id: `${turn}/${place}`, turn, place };
    if (kind === 'tool_run') {
      rows.push(
        items === null
          ? { ...base, kind: 'system', text: said }
          : {
              ...base,
              kind,
              items,
              detailBytes: items.reduce((sum, { detail }) => sum + utf8Bytes(detail ?? ''), 0),
              startedMs: 0,
              changedMs: 0,
            },
      );
    } else if (kind === 'assistant') rows.push({ ...base, kind, ...append(noText, { index: 0, text: said }) });
    else rows.push({ ...base, kind, text: said });
  }
  return rows;
}

const kinds: readonly Message['kind'][] = ['user', 'assistant', 'system', 'error', 'tool_run'];

function parsed(text: string): readonly Message[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.flatMap(messageOf) : [];
  } catch {
    return [];
  }
}

function messageOf(value: unknown): readonly Message[] {
  if (typeof value !== 'object' || value === null || !('kind' in value && 'turn' in value && 'text' in value))
    return [];
  const kind = kinds.find((each) => each === value.kind);
  if (kind === undefined || typeof value.turn !== 'string' || typeof value.text !== 'string') return [];
  return [{ kind, turn: value.turn, text: value.text }];
}
