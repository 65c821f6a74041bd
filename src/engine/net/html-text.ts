// The readable text of an HTML page: title, text, links. No tree is built, as a page can have 5 MiB and the server has one
// thread.
//
// T1. Linear: a search that fails has reached the end of the page and is the last one; none is repeated from the next place.
// T2. Whatever a browser would not show as text of the page is left out: scripts, styles, pictures made of markup, comments.
// T3. Total: any text is a page.

import { decodeEntities } from './html-entities.ts';

export interface HtmlText {
  readonly title: string;
  readonly text: string;
}

/** Elements whose content is not text of the page. */
const dropped = new Set(['script', 'style', 'iframe', 'noframes', 'textarea', 'noscript', 'svg', 'math', 'template']);
const lines = new Set(
  'address article aside body br dd details dialog div dl dt fieldset figcaption figure footer form header hr li main nav option section summary tr'.split(
    ' ',
  ),
);
const paragraphs = new Set('blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul'.split(' '));
const marks = new Map([
  ['li', '- '],
  ['h1', '# '],
  ['h2', '## '],
  ['h3', '### '],
  ['h4', '#### '],
]);
/** Of URLs, bases included: a page of nothing but short links on a long base would become a thousand times its size. */
const maxUrlUnits = 2_000_000;

const tagName = /[A-Za-z][^\s/>]*/y;
const attribute = /[\s/]*([^\s/>][^\s/>=]*)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/y;
const tagEnd = /[\s/]*>/y;

type Tag =
  | {
      readonly kind: 'open';
      readonly name: string;
      readonly href: string | undefined;
      readonly closesItself: boolean;
      readonly end: number;
    }
  | { readonly kind: 'close'; readonly name: string; readonly end: number }
  /** A comment, a declaration, or a tag that the page ends in. */
  | { readonly kind: 'nothing'; readonly end: number };
type OpenTag = Extract<Tag, { kind: 'open' }>;

/** `base`: what the links of the page are relative to. */
export function htmlToText(html: string, base: URL): HtmlText {
  const page = new PageText(base);
  let title = '';
  let shown = 0; // Text up to here is in the page.
  for (let at = 0; at < html.length;) {
    const open = indexOrEnd(html, '<', at);
    const tag = readTag(html, open + 1);
    at = tag === 'text' ? open + 1 : tag.end;
    if (tag === 'text') continue;
    page.add(html.slice(shown, open));
    shown = at;
    if (tag.kind === 'close') page.close(tag.name);
    if (tag.kind !== 'open') continue;
    if (tag.name !== 'title' && !dropped.has(tag.name)) page.open(tag);
    else if (!tag.closesItself) {
      shown = at = closeOf(html, tag.name, at);
      if (tag.name === 'title') title ||= decodeEntities(html.slice(tag.end, at)).replaceAll(/\s+/g, ' ').trim();
    }
  }
  page.add(html.slice(shown));
  return { title, text: page.finish() };
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const index = text.indexOf(wanted, from);
  return index === -1 ? text.length : index;
}

function closeOf(html: string, name: string, from: number): number {
  const close = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  close.lastIndex = from;
  return close.exec(html)?.index ?? html.length;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The tag behind a `<`, or `text` where that begins none. `end` is the position behind the tag. */
function readTag(html: string, at: number): Tag | 'text' {
  const first = html[at];
  if (first === '!' || first === '?') return { kind: 'nothing', end: endOfComment(html, at) };
  const name = matchAt(tagName, html, first === '/' ? at + 1 : at);
  if (name === null) return 'text';
  let end = name.index + name[0].length;
  let href: string | undefined;
  for (let found = matchAt(attribute, html, end); found !== null; found = matchAt(attribute, html, end)) {
    if (found[1]?.toLowerCase() === 'href') href ??= decodeEntities(found[2] ?? found[3] ?? found[4] ?? '');
    end += found[0].length;
  }
  const rest = matchAt(tagEnd, html, end);
  if (rest === null) return { kind: 'nothing', end: html.length };
  const tag = { name: name[0].toLowerCase(), end: end + rest[0].length };
  return first === '/'
    ? { kind: 'close', ...tag }
    : { kind: 'open', ...tag, href, closesItself: rest[0].includes('/') };
}

function endOfComment(html: string, at: number): number {
  return html.startsWith('!--', at) ? indexOrEnd(html, '-->', at + 3) + 3 : indexOrEnd(html, '>', at) + 1;
}

/** The text as it grows. Space is collapsed as a browser does, but for `pre`. */
class PageText {
  readonly #base: string;
  readonly #pieces: string[] = [];
  #pre = 0;
  #gap = true;
  #urlUnits = 0;
  #link: { readonly url: string; readonly from: number } | null = null;
  constructor(base: URL) {
    this.#base = base.href;
  }

  add(html: string): void {
    if (html === '') return;
    const text = decodeEntities(this.#pre > 0 ? html : html.replaceAll(/\s+/g, ' '));
    const shown = this.#gap && this.#pre === 0 ? text.trimStart() : text;
    if (shown === '') return;
    this.#pieces.push(shown);
    this.#gap = /\s$/.test(shown.slice(-1));
  }

  open({ name, href }: OpenTag): void {
    if (name === 'a') {
      this.#endLink();
      if (href !== undefined && !href.startsWith('#')) this.#beginLink(href);
      return;
    }
    this.#break(name);
    if (name === 'pre') this.#pre += 1;
    const mark = marks.get(name);
    if (mark !== undefined) this.#write(mark);
  }

  close(name: string): void {
    if (name === 'a') this.#endLink();
    if (name === 'pre') this.#pre = Math.max(0, this.#pre - 1);
    if (name === 'td' || name === 'th') this.#write('\t');
    this.#break(name);
  }

  finish(): string {
    this.#endLink();
    // Line by line, as a pattern for spaces before a line end is quadratic on a long run of spaces.
    const text = this.#pieces
      .join('')
      .split('\n')
      .map((line) => line.trimEnd());
    return text
      .join('\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .replaceAll(/^\n+|\n+$/g, '');
  }

  #break(name: string): void {
    if (paragraphs.has(name)) this.#write('\n\n');
    else if (lines.has(name)) this.#write('\n');
  }

  #write(piece: string): void {
    this.#pieces.push(piece);
    this.#gap = true;
  }

  #beginLink(href: string): void {
    this.#urlUnits += href.length + this.#base.length;
    const url = this.#urlUnits > maxUrlUnits ? null : URL.parse(href, this.#base);
    if (url !== null && /^(https?|mailto):$/.test(url.protocol))
      this.#link = { url: url.href, from: this.#pieces.length };
  }

  #endLink(): void {
    if (this.#link === null) return;
    const { url, from } = this.#link;
    this.#link = null;
    const text = this.#pieces.slice(from).join('').trim();
    if (text === '' || text === url) return;
    this.#pieces.push(`${this.#gap ? '' : ' '}(${url})`);
    this.#gap = false;
  }
}
