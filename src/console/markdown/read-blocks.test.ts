import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isVisible, readBlocks, type Block } from './read-blocks.ts';

function htmlOf(block: Block): string {
  if (block.kind !== 'html') return '';
  return block.wrap(block.parts.map((part) => part.html()).join(''));
}

const html = (source: string) => readBlocks(source).map(htmlOf).join('');

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '- a',
    '  - b',
    '1. c',
    '> d',
    '# e',
    '---',
    '===',
    '```js',
    '```',
    '~~~',
    '| a | b |',
    '|---|---|',
  ),
  fc.constantFrom(
    '[r]: http://x.example',
    '[r]',
    '    code',
    '\tcode',
    '<div>',
    '* * *',
    '- [ ] task',
    '+ ',
    'text  ',
    '\\',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ' ')),
);
const document = fc.array(line, { maxLength: 25 }).map((lines) => lines.join('\n'));

test('a line that ends, ends', () => {
  expect(html('1\n2\n3').trimEnd()).toBe('<p>1<br>2<br>3</p>');
});

describe('C-060: raw HTML is text', () => {
  test.each([
    ['<b>x</b>', '<p>&lt;b&gt;x&lt;/b&gt;</p>'],
    ['<div>\n**x**\n</div>', '<p>&lt;div&gt;<br><strong>x</strong><br>&lt;/div&gt;</p>'],
    ['<!-- x -->', '<p>&lt;!-- x --&gt;</p>'],
    ['<code><img src=x></code>', '<p>&lt;code&gt;&lt;img src=x&gt;&lt;/code&gt;</p>'],
    ['a <pre>&lt;b&gt;</pre>', '<p>a &lt;pre&gt;&lt;b&gt;&lt;/pre&gt;</p>'],
  ])('%j', (source, shown) => {
    expect(html(source).trimEnd()).toBe(shown);
  });
});

describe('C-061: images are text', () => {
  test.each([
    ['![a](https://x.example:81/i.png)', '[image: a] <a href="https://x.example:81/i.png">x.example:81</a>'],
    ['![a](//x.example/i.png)', '[image: a] <a href="//x.example/i.png">x.example</a>'],
    [
      '![a](https://safe.example@x.example/i.png)',
      '[image: a] <a href="https://safe.example@x.example/i.png">x.example</a>',
    ],
    ['![](https://x.example/)', '[image] <a href="https://x.example/">x.example</a>'],
    ['![*a* `b`](data:image/png;base64,AA==)', '[image: a b]'],
    ['![a](plot.png)', '<a href="plot.png">[image: a]</a>'],
    ['[![a](https://x.example/i.png) b](https://y.example/)', '<a href="https://y.example/">[image: a] b</a>'],
  ])('%s', (source, shown) => {
    expect(html(source).trimEnd()).toBe(`<p>${shown}</p>`);
  });
});

test('B1: a piece with the key of another has its HTML', () => {
  fc.assert(
    fc.property(fc.array(document, { minLength: 2, maxLength: 4 }), (sources) => {
      const seen = new Map<string, string>();
      for (const block of sources.flatMap((source) => readBlocks(source)))
        if (block.kind === 'html')
          for (const [key, made] of [
            ...(block.parts.length === 0 ? [[block.key, htmlOf(block)] as const] : []),
            ...block.parts.map((part) => [`${block.key} ${part.key}`, part.html()] as const),
          ]) {
            // Links of other texts are other links.
            if (!key.includes(']')) expect(seen.get(key) ?? made).toBe(made);
            seen.set(key, made);
          }
    }),
  );
});

test('B2: lists, tables and quotes come in pieces; what is before the last one keeps its key while they grow', () => {
  for (const source of [
    '- a\n- *b*\n- c',
    '1. a\n2. b\n3. c',
    '> a\n>\n> - b\n>\n> c',
    '| a |\n|---|\n| b |\n| c |\n| d |',
  ]) {
    const keysOf = (text: string) =>
      readBlocks(text).flatMap((each) => (each.kind === 'html' ? each.parts.map(({ key }) => key) : []));
    const keys = keysOf(source);
    expect(keys).toHaveLength(3);
    expect(keysOf(`${source} more`).slice(0, -1)).toEqual(keys.slice(0, -1));
    expect(keysOf(`${source}\n`)).toEqual(keys);
  }
});

test('B3: the raw texts are as long as the source, and but for blanks they are the source', () => {
  fc.assert(
    fc.property(document, (source) => {
      const joined = readBlocks(source)
        .map(({ raw }) => raw)
        .join('');
      expect(joined).toHaveLength(source.length);
      expect(joined.replaceAll(/\s/g, ' ')).toBe(source.replaceAll(/\s/g, ' '));
    }),
    { numRuns: 500 },
  );
});

test('a link that an earlier text defined is known, and the first definition holds', () => {
  const [defined] = readBlocks('[r]: /one\n');
  const links = defined?.kind === 'silent' ? defined.defines : {};
  expect(readBlocks('[r]\n\n[r]: /two', links).map(htmlOf).join('')).toContain('href="/one"');
});

describe('L2, L3: text that would cost the square of its length, or the stack, is read as it stands', () => {
  test.each([
    ['_a_b '.repeat(12_000), '_a_b _a_b'],
    ['*a'.repeat(20_000), '*a*a'],
    [`${'[a](b'.repeat(9_000)})`, '[a](b[a](b'],
    ['> '.repeat(20_000), ''],
    ['>'.repeat(20_000) + 'x', ''],
    ['1. '.repeat(20_000), ''],
    ['![a'.repeat(9_000), '![a![a'],
    ['**a *b'.repeat(9_000), '**a *b'],
    ['a `'.repeat(20_000), 'a `a `'],
  ])('%# (%.8s…)', (source, shown) => {
    const made = html(source);
    expect(made).toContain(shown);
    expect(made.length).toBeLessThan(source.length * 6);
    expect(readBlocks(source).filter(isVisible)).not.toEqual([]);
  });
});
