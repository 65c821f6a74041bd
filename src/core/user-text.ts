import type { UserPart } from './run-event.ts';

/** What a message says in words: the texts of its parts, one below the other. */
export function userText(content: readonly UserPart[]): string {
  return content.flatMap((part) => (part.type === 'media' ? [] : [part.text])).join('\n');
}
