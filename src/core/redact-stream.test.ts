import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor } from './redact.ts';
import { redactsStreams } from './redact-stream.ts';

/** What each piece shows, and the end. */
function shown(secrets: readonly string[], ...pieces: readonly string[]): readonly string[] {
  const stream = redactsStreams(secrets)();
  return [...pieces.map((piece) => stream.push(piece)), stream.flush()];
}

test('A-043: what could begin a secret is held back, and a hit is marked as soon as it is certain', () => {
  const keys = ['sk-live-1234', 'sk-live-1234-prod'];
  expect(shown(keys, 'key sk-li', 've-12', '34 ok')).toEqual(['key ', '', '[redacted] ok', '']);
  expect(shown(keys, 'a sk-live-1234', '-prod b')).toEqual(['a ', '[redacted] b', '']);
  expect(shown(keys, 'a sk-live-1234', '-pr', 'o')).toEqual(['a ', '', '', '[redacted]-pro']);
  expect(shown(keys, 'price sk', 'ip')).toEqual(['price ', 'skip', '']);
  expect(shown(['abcdef', 'defghi'], 'xabcdef', 'ghiy')).toEqual(['x[redacted]', 'y', '']);
  expect(shown(['abcdef', 'defghi'], 'xabcdef', 'gzy')).toEqual(['x[redacted]', 'gzy', '']);
  expect(shown(['aaaa'], 'aaa', 'aaa', 'b')).toEqual(['', '[redacted]', 'b', '']);
});

test('A-040: the encoded forms of a secret are found over a cut as well', () => {
  const secret = 'p"a ss~~~?';
  for (const form of [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), btoa(secret)])
    for (let at = 1; at < form.length; at++)
      expect(shown([secret], `<${form.slice(0, at)}`, `${form.slice(at)}>`).join('')).toBe('<[redacted]>');
});

test('A-043: after a flush the text begins anew', () => {
  const stream = redactsStreams(['abcdef'])();
  expect([stream.push('xabc'), stream.flush(), stream.push('def'), stream.flush()]).toEqual(['x', 'abc', 'def', '']);
});

test('without a secret each piece is shown as it comes', () => {
  expect(shown([], 'a', 'b')).toEqual(['a', 'b', '']);
});

const letters = { unit: fc.constantFrom('x', 'y', 'z') };
const secrets = fc.array(fc.string({ ...letters, minLength: 4, maxLength: 7 }), { minLength: 1, maxLength: 4 });

test('A-044: however a text is cut, the pieces joined are the redaction of the whole', () => {
  fc.assert(
    fc.property(secrets, fc.array(fc.string({ ...letters, maxLength: 12 }), { maxLength: 12 }), (own, pieces) => {
      expect(shown(own, ...pieces).join('')).toBe(createRedactor(own)(pieces.join('')));
    }),
    { numRuns: 2_000 },
  );
});

test('A-043: no more is held back than the longest secret without its last character', () => {
  fc.assert(
    fc.property(secrets, fc.array(fc.string({ ...letters, maxLength: 5 })), (own, pieces) => {
      const stream = redactsStreams(own)();
      const longest = Math.max(...own.map((each) => each.length), ...own.map((each) => btoa(each).length));
      for (const piece of pieces) stream.push(piece);
      // What is held has at most one mark in the place of a secret.
      expect(stream.flush().replaceAll('[redacted]', 'xxxx').length).toBeLessThanOrEqual(longest);
    }),
  );
});
