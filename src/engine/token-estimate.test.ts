import { expect, test } from 'vitest';
import fc from 'fast-check';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { emptyTranscript, extendTranscript, type Message } from '../core/transcript.ts';
import { estimateTokens } from './token-estimate.ts';

test('the estimate of messages is the sum of theirs, the same each time', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(), (log, n) => {
      const { messages } = log.reduce(extendTranscript, emptyTranscript);
      const cut = n % (messages.length + 1);
      const parts = estimateTokens(messages.slice(0, cut)) + estimateTokens(messages.slice(cut));
      expect(estimateTokens(messages)).toBe(parts);
      expect(estimateTokens(structuredClone(messages))).toBe(parts);
    }),
  );
});

test('E-552: text counts by its length, media by the piece, and sealed blocks of a provider like text', () => {
  const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
  expect(estimateTokens([said('x'.repeat(400))]) - estimateTokens([said('')])).toBe(100);
  const shown = (bytes: number): Message => ({
    role: 'user',
    content: [{ type: 'media', mediaType: 'image/png', ref: 'r', bytes }],
  });
  expect(estimateTokens([shown(5_000_000)]) - estimateTokens([said('')])).toBe(1500);
  const thought = (signature: string): Message => ({
    role: 'assistant',
    parts: [{ kind: 'thinking', text: '', _provider: { anthropic: { signature } } }],
  });
  expect(estimateTokens([thought('x'.repeat(4000))]) - estimateTokens([thought('')])).toBe(1000);
});
