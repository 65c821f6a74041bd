import { head, toWellFormed } from './text.ts';

/** What its first message says in the first line, at most 80 characters (UD-50). */
export function sessionTitle(text: string): string {
  return head(toWellFormed(text.trim().split('\n', 1)[0] ?? ''), 80);
}
