// A card of calls: what is added to it and counted in it (C-020 to C-023). Where a card stands among the rows is not decided here.

import { askedLine } from './call-arguments.ts';
import { collapse, cutToBytes, shorten, utf8Bytes } from './utf8.ts';
import type { ToolCard, ToolItem, ToolState } from './row.ts';

export const maxDetailBytes = 229_376;
/** A text that a call writes may leave little for what the calls after it bring. */
const maxInputBytes = 65_536;
const maxBriefUnits = 64;
const maxNameUnits = 128;

export interface ToolOutcome {
  readonly id: string | null;
  readonly name: string;
  readonly ok: boolean;
  readonly summary: string;
  readonly preview: string | null;
  readonly traced?: true;
}

export interface ToolCounts {
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  /** Running, or waiting for a person. */
  readonly pending: number;
  readonly stopped: number;
}

export function countsOf({ items }: Pick<ToolCard, 'items'>): ToolCounts {
  const of = (state: ToolState) => items.reduce((sum, item) => (item.state === state ? sum + 1 : sum), 0);
  return {
    total: items.length,
    ok: of('ok'),
    failed: of('failed'),
    pending: of('running') + of('waiting'),
    stopped: of('stopped'),
  };
}

export function cardTitle({ total }: ToolCounts): string {
  return total === 1 ? '1 tool called' : `${total} tools called`;
}

export function newCard(item: ToolItem, atMs: number): ToolCard {
  return { items: [item], detailBytes: bytesOf(item), startedMs: atMs, changedMs: atMs };
}

export function withItem(card: ToolCard, item: ToolItem, atMs: number): ToolCard {
  const detailBytes = card.detailBytes + bytesOf(item);
  return { ...card, items: [...card.items, item], detailBytes, changedMs: atMs };
}

function bytesOf({ input, detail }: Pick<ToolItem, 'input' | 'detail'>): number {
  return utf8Bytes(input ?? '') + utf8Bytes(detail ?? '');
}

interface ToolStart extends Pick<ToolItem, 'id' | 'name'> {
  readonly input?: string;
}

/** A call that begins to run. @param room  Bytes that its arguments may take of its card. */
export function startedItem({ id, name, input }: ToolStart, index: number, room: number): ToolItem {
  const asked = input === undefined ? '' : askedLine(input);
  return {
    id,
    name: shorten(name, maxNameUnits),
    state: 'running',
    brief: '',
    asked,
    input: input === undefined || asked === '' ? null : fitted(input, Math.min(room, maxInputBytes)),
    detail: null,
    index,
  };
}

/** A call that is over. @param room  Bytes that its detail may take of its card. */
export function finishedItem({ id, name, ok, ...said }: ToolOutcome, index: number, room: number): ToolItem {
  const brief = briefOf(said.summary);
  const repeats = said.preview === brief || said.preview === said.summary;
  const detail = said.traced === true ? said.summary : repeats ? null : said.preview;
  return {
    id,
    name: shorten(name, maxNameUnits),
    state: ok ? 'ok' : 'failed',
    brief,
    asked: '',
    input: null,
    detail: detail === null ? null : fitted(detail, room),
    index,
  };
}

/** Completes the item at this place; a name that the start had stays. */
export function completeItem(card: ToolCard, at: number, outcome: ToolOutcome & { readonly atMs: number }): ToolCard {
  const before = card.items[at];
  if (before === undefined) return card;
  const others = card.detailBytes - utf8Bytes(before.detail ?? '');
  const { id, name, asked, input } = before;
  const item = {
    ...finishedItem({ ...outcome, id, name }, before.index, maxDetailBytes - others),
    asked,
    input,
  };
  return {
    ...card,
    items: card.items.with(at, item),
    detailBytes: others + utf8Bytes(item.detail ?? ''),
    changedMs: outcome.atMs,
  };
}

export function isOpen({ state }: ToolItem): boolean {
  return state === 'running' || state === 'waiting';
}

/** Something of it is at work; what waits for a person is not. */
export function isRunning({ items }: Pick<ToolCard, 'items'>): boolean {
  return items.some(({ state }) => state === 'running');
}

/** What still runs at the end of a turn was stopped. The same card where nothing did. */
export function settleCard<T extends ToolCard>(card: T, atMs: number): T {
  if (!card.items.some(isOpen)) return card;
  const items = card.items.map((item): ToolItem => (isOpen(item) ? { ...item, state: 'stopped' } : item));
  return { ...card, items, changedMs: isRunning(card) ? atMs : card.changedMs };
}

export function briefOf(summary: string): string {
  return shorten(collapse(summary), maxBriefUnits);
}

/** In so many bytes, `…` where it is cut; null where not even a beginning has room. */
export function fitted(text: string, bytes: number): string | null {
  if (utf8Bytes(text) <= bytes) return text;
  const cut = cutToBytes(text, bytes - 3);
  return bytes < 4 || cut === '' ? null : `${cut}…`;
}

/** For the clipboard: the calls of a card, each with what it brought. */
export function cardText({ items }: Pick<ToolCard, 'items'>): string {
  return items
    .map(({ name, state, brief, asked, detail }) =>
      [brief === '' ? `${name} · ${state}` : brief, ...[asked, detail ?? ''].filter((text) => text !== '')].join('\n'),
    )
    .join('\n\n');
}
