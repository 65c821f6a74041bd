// The conversation as one prompt, for the simple mode, whose server remembers nothing (C-036).

import { endPrefix } from './end-line.ts';
import type { Row } from './row.ts';

const maxMessages = 400;
const maxUnits = 3_500_000;
const lineSearch = 240;

export function foldPrompt(rows: readonly Row[], prompt: string): string {
  const history = rows.flatMap(lineOf).slice(-maxMessages);
  if (history.length === 0) return prompt;
  return keepTail(['Conversation so far:', ...history, '', `User: ${prompt}`, '', 'Assistant:'].join('\n'));
}

/** Cards, thinking and end lines are for the eye only (C-035). */
function lineOf(row: Row): readonly string[] {
  switch (row.kind) {
    case 'user':
      return [`User: ${row.text}`];
    case 'assistant':
      return row.text.trim() === '' ? [] : [`Assistant: ${row.text.trim()}`];
    case 'error':
      return [`Error: ${row.text}`];
    case 'system':
      return row.text.startsWith(endPrefix) ? [] : [row.text];
    case 'tool_run':
    case 'thinking':
      return [];
  }
}

function keepTail(text: string): string {
  if (text.length <= maxUnits) return text;
  const tail = text.slice(-maxUnits);
  const line = tail.indexOf('\n');
  const whole = line >= 0 && line < lineSearch ? tail.slice(line + 1) : tail;
  const first = whole.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? whole.slice(1) : whole;
}
