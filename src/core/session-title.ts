import { head, toWellFormed } from './text.ts';

const maxUnits = 80;

/** What its first message says in the first line, at most 80 characters; a longer one ends in `…` (UD-50). */
export function sessionTitle(text: string): string {
  const line = toWellFormed(text.trim().split('\n', 1)[0] ?? '').trimEnd();
  return line.length <= maxUnits ? line : `${head(line, maxUnits - 1).trimEnd()}…`;
}
