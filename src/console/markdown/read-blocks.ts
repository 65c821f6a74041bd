// Text to top-level blocks that know whether they are still the same.
//
// B1. A key says all that the HTML of a piece depends on; equal keys, equal HTML. So HTML is made for changed pieces only.
// B2. What lists, tables and quotes grow by are pieces of their own: a long list costs its last item.
// B3. The raw texts of all blocks are as long as the source, so that they tell where a block begins. (Blanks in them may differ.)

import { escapeHtml } from '../../views/escape-html.ts';
import { languageOf, openParser } from './html-renderer.ts';
import { lex, type Lexed, type Links } from './safe-lexer.ts';
import type { Parser, Token, Tokens } from 'marked';

export interface Piece {
  readonly key: string;
  html(): string;
}

export interface CodeSource {
  readonly text: string;
  /** Empty: none is named. */
  readonly language: string;
}

export type Block =
  /** Shows nothing: blank lines; or where a reference link is defined. */
  | { readonly kind: 'silent'; readonly raw: string; readonly defines: Links }
  | ({ readonly kind: 'code'; readonly raw: string } & CodeSource)
  | {
      readonly kind: 'html';
      readonly raw: string;
      readonly key: string;
      /** Items of a list, rows of a table, blocks of a quote; else none. */
      readonly parts: readonly Piece[];
      /** @param inner  HTML of parts. */
      readonly wrap: (inner: string) => string;
    };

export type VisibleBlock = Exclude<Block, { kind: 'silent' }>;

export function isVisible(block: Block): block is VisibleBlock {
  return block.kind !== 'silent';
}

/**
 * @param source  With `\n` as its only line end.
 * @param links  Reference links of what stands before it.
 */
export function readBlocks(source: string, links: Links = {}): readonly Block[] {
  try {
    const lexed = lex(source, links);
    const reader: Reader = { parser: openParser(lexed), key: keyMaker(lexed) };
    return lexed.tokens.map((token) => readBlock(token, reader));
  } catch {
    // A fault of the lexer: what was said can still be read.
    return [
      { kind: 'html', raw: source, key: `fault ${source}`, parts: [], wrap: () => `<p>${escapeHtml(source)}</p>` },
    ];
  }
}

interface Reader {
  readonly parser: Parser;
  readonly key: (raw: string) => string;
}

/** Where a text may refer to a link, its HTML also depends on the links that are known. */
function keyMaker({ links }: Lexed): Reader['key'] {
  const known = Object.keys(links).length;
  return (raw) => (/\](?!\()/.test(raw) ? `${known} ${raw}` : raw);
}

function readBlock(token: Token, reader: Reader): Block {
  const { raw } = token;
  if (isToken(token, 'space')) return { kind: 'silent', raw, defines: {} };
  if (isToken(token, 'def')) {
    const { tag, href, title } = token;
    return { kind: 'silent', raw, defines: { [tag]: { href, title } } };
  }
  if (isToken(token, 'code')) return { kind: 'code', raw, text: token.text, language: languageOf(token) };
  if (isToken(token, 'list')) return { kind: 'html', raw, ...readList(token, reader) };
  if (isToken(token, 'blockquote')) return { kind: 'html', raw, ...readQuote(token, reader) };
  if (isToken(token, 'table')) return { kind: 'html', raw, ...readTable(token, reader) };
  return {
    kind: 'html',
    raw,
    key: `${token.type} ${reader.key(raw)}`,
    parts: [],
    wrap: () => reader.parser.parse([token]),
  };
}

type Growing = Pick<Extract<Block, { kind: 'html' }>, 'key' | 'parts' | 'wrap'>;

function readList(list: Tokens.List, { parser, key }: Reader): Growing {
  const open = !list.ordered ? 'ul' : list.start === 1 ? 'ol' : `ol start="${list.start}"`;
  return {
    key: `list ${open}`,
    parts: list.items.map((item) => ({
      key: `${list.loose ? 'loose' : 'tight'} ${key(item.raw.trimEnd())}`,
      html: () => parser.renderer.listitem(item).trimEnd(),
    })),
    wrap: (inner) => `<${open}>${inner}</${list.ordered ? 'ol' : 'ul'}>`,
  };
}

function readQuote({ tokens }: Tokens.Blockquote, { parser, key }: Reader): Growing {
  return {
    key: 'quote',
    parts: tokens
      .filter(({ type }) => type !== 'space' && type !== 'def')
      .map((token) => ({ key: `${token.type} ${key(token.raw)}`, html: () => parser.parse([token]).trimEnd() })),
    wrap: (inner) => `<blockquote>${inner}</blockquote>`,
  };
}

function readTable({ header, rows }: Tokens.Table, { parser, key }: Reader): Growing {
  const html = (cells: readonly Tokens.TableCell[]) =>
    `<tr>${cells.map((cell) => parser.renderer.tablecell(cell).trimEnd()).join('')}</tr>`;
  const keyOf = (cells: readonly Tokens.TableCell[]) => cells.map(({ text }) => key(text)).join('|\n');
  return {
    key: `table ${header.map(({ align }) => align).join()} ${keyOf(header)}`,
    parts: rows.map((row) => ({ key: keyOf(row), html: () => html(row) })),
    wrap: (inner) => `<table><thead>${html(header)}</thead><tbody>${inner}</tbody></table>`,
  };
}

/** `Token` has a member with any string for its type, so that comparing it narrows nothing. */
function isToken<T extends keyof TokensByType>(token: Token, type: T): token is TokensByType[T] {
  return token.type === type;
}

interface TokensByType {
  space: Tokens.Space;
  def: Tokens.Def;
  code: Tokens.Code;
  blockquote: Tokens.Blockquote;
  list: Tokens.List;
  table: Tokens.Table;
}
