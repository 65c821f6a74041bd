import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor, redactFacts, redactionMark } from './redact.ts';

test('A-041: overlapping hits are one mark, and a secret that begins another leaves no tail', () => {
  const keys = createRedactor(['sk-live-1234', 'sk-live-1234-prod']);
  expect(keys('key sk-live-1234 ok')).toBe('key [redacted] ok');
  expect(keys('a sk-live-1234-prod b')).toBe('a [redacted] b');
  expect(keys('a sk-live-1234-pro')).toBe('a [redacted]-pro');
  const overlapping = createRedactor(['abcdef', 'defghi']);
  expect(overlapping('xabcdefghiy')).toBe('x[redacted]y');
  expect(overlapping('xabcdefgzy')).toBe('x[redacted]gzy');
  expect(createRedactor(['aaaa'])('aaaaaab')).toBe('[redacted]b');
});

test('A-040: a secret is found JSON-escaped, percent-encoded and in base64 of either alphabet', () => {
  const secret = 'p"a\\ss wört?>~~\n';
  const redact = createRedactor([secret]);
  const base64 = Buffer.from(secret).toString('base64');
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
  ];
  expect(base64).toMatch(/[+/].*=$/);
  expect(new Set(forms).size).toBe(6);
  for (const form of forms) expect(redact(`<${form}>`)).toBe('<[redacted]>');
});

test('A-040: a value below 4 characters is left alone, and without a secret the text is the same', () => {
  const text = 'an abc of cables';
  expect(createRedactor(['abc', ''])(text)).toBe(text);
  expect(createRedactor([])(text)).toBe(text);
  expect(createRedactor(['abcd'])(text)).toBe(text);
});

test('texts inside facts are redacted at every depth', () => {
  const redact = createRedactor(['sk-secret']);
  expect(redactFacts({ a: 'sk-secret', b: [1, { c: 'x sk-secret' }, null], d: true }, redact)).toEqual({
    a: '[redacted]',
    b: [1, { c: 'x [redacted]' }, null],
    d: true,
  });
});

test('A-041: what is left between the marks is the text outside all hits, and holds no secret', () => {
  const text = fc.string({ unit: fc.constantFrom('x', 'y', 'z'), maxLength: 60 });
  const secret = fc.string({ unit: fc.constantFrom('x', 'y', 'z'), minLength: 4, maxLength: 7 });
  fc.assert(
    fc.property(text, fc.array(secret, { minLength: 1, maxLength: 4 }), (given, secrets) => {
      const kept = createRedactor(secrets)(given).split(redactionMark);
      const covered = new Set<number>();
      for (const one of secrets)
        for (let at = 0; at < given.length; at++)
          if (given.startsWith(one, at)) for (let i = 0; i < one.length; i++) covered.add(at + i);
      expect(kept.join('')).toBe(
        given
          .split('')
          .filter((_, at) => !covered.has(at))
          .join(''),
      );
      for (const piece of kept) for (const one of secrets) expect(piece).not.toContain(one);
    }),
  );
});
