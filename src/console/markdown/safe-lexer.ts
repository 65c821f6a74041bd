// The lexer of markdown as the page reads it: no HTML, and no text that costs more than its length.
//
// L1. Raw HTML is no syntax here but characters, so that nothing of it is ever markup (C-060).
// L2. A run of text that is too long, or opens emphasis too often, is taken as it stands: pairing delimiters costs their square.
// L3. Quotes and lists nest to a depth; deeper marks are text, so that no text exhausts the stack.
// L4. Inline text is read when it is rendered, not before: blocks that are shown already are never read again.
// L5. A line that ends, ends: what is told line by line is shown so, as other chats do.

import { Lexer, Tokenizer, type Token, type Tokens } from 'marked';

const maxRunUnits = 16_384;
const maxOpeners = 128;
const maxDepth = 32;
const opener = /(?<![\p{L}\p{N}])[*_]+(?=\S)/gu;

export type Links = Lexer['tokens']['links'];

export interface Lexed {
  readonly tokens: readonly Token[];
  readonly links: Links;
  /** Reads the text of a block, once; what cannot be read stays as it stands. */
  readInline(tokens: Token[]): void;
}

/** @param links  Reference links that stand in earlier text. */
export function lex(source: string, links: Links): Lexed {
  const lexer = new SafeLexer({ gfm: true, breaks: true, tokenizer: new TextTokenizer() });
  Object.assign(lexer.tokens.links, links);
  const tokens = lexer.blockTokens(source, lexer.tokens);
  const unread = new Map(lexer.inlineQueue.map((entry) => [entry.tokens, entry.src]));
  return {
    tokens,
    links: lexer.tokens.links,
    readInline(into) {
      const text = unread.get(into);
      if (text === undefined) return;
      unread.delete(into);
      const before = into.length; // The box of a task stands there already.
      try {
        lexer.inlineTokens(text, into);
      } catch {
        into.splice(before, Infinity, plain(text));
      }
    },
  };
}

class SafeLexer extends Lexer {
  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    if (source.length <= maxRunUnits && (source.match(opener) ?? []).length <= maxOpeners)
      return super.inlineTokens(source, tokens);
    tokens.push(plain(source));
    return tokens;
  }
}

class TextTokenizer extends Tokenizer {
  #depth = 0;

  override html(): undefined {}

  override tag(): undefined {}

  override blockquote(source: string): Tokens.Blockquote | undefined {
    return this.#deeper(() => super.blockquote(source));
  }

  override list(source: string): Tokens.List | undefined {
    return this.#deeper(() => super.list(source));
  }

  #deeper<T>(read: () => T | undefined): T | undefined {
    if (this.#depth === maxDepth) return undefined;
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }
}

function plain(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: false };
}
