// What a display shows of a tool's result. For display only: the model reads the result itself.

import { head, tail } from '../core/text.ts';
import { toolBits, type ToolFacts } from './tool-bits.ts';

const maxPreviewUnits = 100_000;
const maxSummaryUnits = 320;
const [headLines, tailLines] = [40, 10];

/** `<name> · ✓ ok` or `<name> · ✗ failed`, then what little says most about the text. */
export function toolSummary({ isError, ...facts }: ToolFacts & { readonly isError: boolean }): string {
  const { name, content } = facts;
  const bits = isError ? firstLine(content) : (toolBits(facts) ?? sizeOrLine(content));
  const state = `${head(name, 128)} · ${isError ? '✗ failed' : '✓ ok'}`;
  return head(bits === '' ? state : `${state} · ${bits}`, maxSummaryUnits);
}

/** The text where it is one short line, else its size and how it begins. */
function sizeOrLine(text: string): string {
  const trimmed = text.trim();
  const first = firstLine(text);
  if (!trimmed.includes('\n') && trimmed.length <= 100) return first;
  const bytes = new TextEncoder().encode(text).length;
  return `${trimmed.split('\n').length} lines · ${bytes} B · ${head(first, 72)}`;
}

function firstLine(text: string): string {
  const trimmed = text.trim();
  const end = trimmed.indexOf('\n');
  return (end < 0 ? trimmed : trimmed.slice(0, end)).replace(/\s+/g, ' ').trim();
}

/** The text itself, its middle left out where it is long; null where the summary says it all. */
export function toolPreview(text: string): string | null {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n');
  const from = lines.findIndex((line) => line.trim() !== '');
  if (from < 0) return null;
  const to = lines.findLastIndex((line) => line.trim() !== '');
  const kept = lines.slice(from, to + 1);
  if (kept.length === 1 && (kept[0] ?? '').length <= maxSummaryUnits) return null;
  if (kept.length <= headLines + tailLines) return cutEnd(kept.join('\n'), maxPreviewUnits);
  const marker = `… (${kept.length - headLines - tailLines} more lines)`;
  return joinAround(kept.slice(0, headLines).join('\n'), marker, kept.slice(-tailLines).join('\n'));
}

function joinAround(start: string, marker: string, end: string): string {
  const room = maxPreviewUnits - marker.length - 2;
  if (start.length + end.length <= room) return `${start}\n${marker}\n${end}`;
  const last = cutStart(end, Math.max(80_000, room - start.length));
  return `${cutEnd(start, room - last.length)}\n${marker}\n${last}`;
}

function cutEnd(text: string, units: number): string {
  return text.length <= units ? text : `${head(text, units - 1)}…`;
}

function cutStart(text: string, units: number): string {
  return text.length <= units ? text : `…${tail(text, units - 1)}`;
}
