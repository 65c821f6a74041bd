import fc from 'fast-check';
import { expect, test } from 'vitest';
import { htmlToText } from './html-text.ts';

const base = new URL('https://site.test/docs/page');
const textOf = (html: string) => htmlToText(html, base).text;

test('a page becomes its title, headings, lines, list marks and links with their absolute URLs', () => {
  const html = `<!doctype html><html><head><title> The &amp; page </title><meta charset="utf-8"></head><body>
    <h1>Main</h1><p>One   <b>two</b>
    three.</p><ul><li>a<li><a href="other?x=1&amp;y=2">b</a></ul>
    <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table><div>x<br>y</div></body></html>`;
  expect(htmlToText(html, base)).toEqual({
    title: 'The & page',
    text: '# Main\n\nOne two three.\n\n- a\n- b (https://site.test/docs/other?x=1&y=2)\n\nk\tv\n\n1\t2\n\nx\ny',
  });
});

test('T2: scripts, styles, comments, markup pictures and what is for pages without scripts are left out', () => {
  const html =
    'a<script>if (a < b) "</p>"</script >b<STYLE>c{}</style>c<!-- <p>no</p> -->d<svg><text>no</text></svg>e<svg/>f<noscript>no</noscript><template>no</template>g<?x?>h';
  expect(textOf(html)).toBe('abcdefgh');
  expect(textOf('a<script>never closed')).toBe('a');
  expect(textOf('a<!-- never closed')).toBe('a');
});

test('a `<` that begins no tag is text, and a quoted `>` ends none', () => {
  expect(textOf('1 < 2 <3 <a title="x > y" href=\'/z\'>l</a>')).toBe('1 < 2 <3 l (https://site.test/z)');
  expect(textOf('a<b')).toBe('a');
});

test('links within the page, of other schemes, without text, and those that are their own text show no URL', () => {
  const html =
    '<a href="#top">top</a> <a href="javascript:x()">js</a> <a href="data:text/html,x">d</a> <a href="/i"><img></a><a name=n>n</a> <a href="https://x.test/">https://x.test/</a>';
  expect(textOf(html)).toBe('top js d n https://x.test/');
});

test('preformatted text keeps its space', () => {
  expect(textOf('<p>a</p><pre>if x:\n    y  z\n</pre>b  c')).toBe('a\n\nif x:\n    y  z\n\nb c');
});

test('character references by name and number; broken ones stay or become U+FFFD', () => {
  expect(textOf('&lt;&eacute;&uuml;&szlig;&hellip;&#8364;&#x1F600;&#x41;&nosuch;&amp&#xD800;&#0;&#9999999;')).toBe(
    '<éüß…€😀A&nosuch;&amp\uFFFD\uFFFD\uFFFD',
  );
});

test('T3: any text is a page', () => {
  const token = fc.constantFrom(
    '<',
    '>',
    '/',
    '"',
    "'",
    '=',
    ' ',
    '&',
    ';',
    '!--',
    '-->',
    'a',
    'pre',
    'script',
    'svg',
    'href',
    '😀',
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 60 }), (tokens) => {
      expect(textOf(tokens.join('')).isWellFormed()).toBe(true);
    }),
  );
});

test('T1: short links on a long base do not grow the text without end', () => {
  const long = new URL(`https://site.test/${'x'.repeat(10_000)}/page`);
  const { text } = htmlToText('<a href=y>l</a>'.repeat(20_000), long);
  expect(text.length).toBeLessThan(4_000_000);
  expect(text.endsWith('lll')).toBe(true);
});

test('T3: names of tags are only names', () => {
  expect(textOf('a<constructor>b</constructor><toString>c')).toBe('abc');
});

test('T1: no page takes long, however it is made', { timeout: 10_000 }, () => {
  const length = 300_000;
  for (const piece of [
    '<',
    '<a ',
    '<a "',
    '<a b=',
    '<a b="',
    "<a b='",
    '<!--',
    '<script>',
    '</',
    '&',
    '&#',
    ' ',
    '<pre> ',
    '<a href=x>',
    '<p>',
    '/',
  ])
    for (const start of ['', '<pre>', '<a', '<a b="'])
      expect(textOf(start + piece.repeat(length / piece.length)).length).toBeLessThan(length * 8);
});
