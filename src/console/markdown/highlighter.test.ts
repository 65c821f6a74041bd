import fc from 'fast-check';
import { expect, test } from 'vitest';
import { highlight } from './highlighter.ts';

const languages = ['bash', 'css', 'diff', 'json', 'python', 'ts', 'js', 'html', 'yaml'];

test('the runs, joined, are the code, whatever it is', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<script>',
      '</script>',
      '"',
      "'",
      '`',
      '${',
      '}',
      '/*',
      '*/',
      '#',
      '\n',
      'def f(x):',
      '- a: b',
      '<!--',
    ),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
  );
  const code = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(code, fc.constantFrom(...languages), (text, language) => {
      const runs = highlight(text, language);
      expect((runs ?? [{ text }]).map((run) => run.text).join('')).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test('scopes are the first word of what the library names, and languages in languages are read too', () => {
  expect(highlight('const f = () => 1;', 'js')?.[0]).toEqual({ text: 'const', scope: 'keyword' });
  expect(highlight('<style>a { color: red }</style>', 'html')?.some(({ scope }) => scope === 'attribute')).toBe(true);
});

test('another language is none', () => {
  expect(highlight('x', 'brainfuck')).toBeNull();
  expect(highlight('x', '__proto__')).toBeNull();
  expect(highlight('x', 'constructor')).toBeNull();
});
