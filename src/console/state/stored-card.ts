// A card as one stored message of bounded size (C-022). What does not fit goes in this order: details from the last backwards,
// then the ends of briefs and names, then the card becomes several. No call is ever lost, so counts stay exact.

import { fitted, maxDetailBytes } from './tool-card.ts';
import { shorten, utf8Bytes } from './utf8.ts';
import type { ToolItem, ToolState } from './row.ts';

export const maxCardBytes = 262_144;
const shortUnits = 16;

type StoredItem = Pick<ToolItem, 'name' | 'brief'> & {
  readonly id: string | null;
  readonly status: ToolState;
  readonly detail?: string;
};

/** One text, more only for a card that is too large without any detail. */
export function encodeCard(items: readonly ToolItem[]): readonly string[] {
  const stored = capDetails(items);
  const whole = encode(stored);
  if (fits(whole)) return [whole];
  const lean = dropDetails(stored, utf8Bytes(whole) - maxCardBytes);
  const without = encode(lean);
  if (fits(without)) return [without];
  return split(
    lean.map((item) => ({ ...item, name: shorten(item.name, shortUnits), brief: shorten(item.brief, shortUnits) })),
  );
}

function capDetails(items: readonly ToolItem[]): readonly StoredItem[] {
  let room = maxDetailBytes;
  return items.map(({ id, name, state: status, brief, detail: whole }) => {
    const detail = whole === null ? null : fitted(whole, room);
    room -= utf8Bytes(detail ?? '');
    return { id, status, name, brief, ...(detail === null ? {} : { detail }) };
  });
}

/** From the last backwards, until so many bytes are saved. */
function dropDetails(items: readonly StoredItem[], bytes: number): readonly StoredItem[] {
  let left = bytes;
  return items
    .toReversed()
    .map((item) => {
      if (left <= 0 || item.detail === undefined) return item;
      const { detail, ...lean } = item;
      left -= utf8Bytes(`,"detail":${JSON.stringify(detail)}`);
      return lean;
    })
    .toReversed();
}

function split(items: readonly StoredItem[]): readonly string[] {
  const text = encode(items);
  if (fits(text) || items.length < 2) return [text];
  const middle = Math.ceil(items.length / 2);
  return [...split(items.slice(0, middle)), ...split(items.slice(middle))];
}

function encode(items: readonly StoredItem[]): string {
  return JSON.stringify({ v: 1, items });
}

function fits(text: string): boolean {
  return utf8Bytes(text) <= maxCardBytes;
}

/** Null: it cannot be read, and is to be shown as it stands. */
export function decodeCard(text: string): readonly ToolItem[] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || value['v'] !== 1 || !Array.isArray(value['items'])) return null;
    const items = value['items'].map(itemOf);
    return items.every((item) => item !== null) ? items : null;
  } catch {
    return null;
  }
}

const states: readonly ToolState[] = ['running', 'waiting', 'ok', 'failed', 'stopped'];

function itemOf(value: unknown): ToolItem | null {
  if (!isObject(value)) return null;
  const { id, name, brief, detail, status } = value;
  const state = states.find((each) => each === status);
  if (state === undefined || typeof name !== 'string' || typeof brief !== 'string') return null;
  return {
    id: typeof id === 'string' ? id : null,
    name,
    brief,
    state,
    asked: '',
    input: null,
    detail: typeof detail === 'string' ? detail : null,
    index: -1,
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
