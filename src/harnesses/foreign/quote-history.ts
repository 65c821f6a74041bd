import { cutMiddle } from '../../core/text.ts';
import { userText } from '../../core/user-text.ts';
import type { Message } from '../../core/transcript.ts';

/** Longest quotation, in UTF-16 units. */
const maxUnits = 60_000;

/** The conversation so far as one marked block, for a runtime that remembers nothing of it (H-071). */
export function quoteHistory(history: readonly Message[]): string {
  const lines = history.map((message) => {
    switch (message.role) {
      case 'user':
        return `User: ${userText(message.content)}`;
      case 'assistant':
        return `You: ${message.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('')}`;
      case 'tool':
        return message.answers
          .map(({ name, content }) => `Result of ${name}: ${cutMiddle(content, 1_000, 500)}`)
          .join('\n');
    }
  });
  const text = cutMiddle(lines.filter((line) => line !== '').join('\n\n'), maxUnits / 2, maxUnits / 2);
  return `What follows is the conversation so far, quoted from the record because your own memory of it is gone.\n<conversation>\n${text}\n</conversation>\nThe next message goes on from there.`;
}
