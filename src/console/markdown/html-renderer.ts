import { Parser, Renderer, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../../views/escape-html.ts';
import type { Lexed } from './safe-lexer.ts';

/** Tokens to HTML, which still has to pass the allow-list. Nothing in it loads anything (C-061). */
export function openParser(lexed: Lexed): Parser {
  return new ReadingParser(lexed);
}

export function languageOf({ lang }: Tokens.Code): string {
  return /^\S*/.exec(lang ?? '')?.[0] ?? '';
}

class ReadingParser extends Parser {
  readonly #lexed: Lexed;

  constructor(lexed: Lexed) {
    super({ renderer: new TextOnlyRenderer() });
    this.#lexed = lexed;
  }

  override parseInline(tokens: Token[], renderer?: Parameters<Parser['parseInline']>[1]): string {
    this.#lexed.readInline(tokens);
    return super.parseInline(tokens, renderer);
  }
}

class TextOnlyRenderer extends Renderer {
  #linkDepth = 0;

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text);
  }

  override code(token: Tokens.Code): string {
    const language = languageOf(token);
    const named = language === '' ? '' : ` class="language-${escapeHtml(language)}"`;
    return `<pre><code${named}>${escapeHtml(token.text)}</code></pre>\n`;
  }

  override link(token: Tokens.Link): string {
    this.#linkDepth++;
    try {
      return super.link(token);
    } finally {
      this.#linkDepth--;
    }
  }

  override image({ href, text, tokens }: Tokens.Image): string {
    const alt = this.parser.parseInline(tokens, this.parser.textRenderer) || text;
    const shown = escapeHtml(alt === '' ? '[image]' : `[image: ${alt}]`);
    // Within a link the whole is one: HTML knows no link in a link.
    if (this.#linkDepth > 0) return shown;
    const place = placeOf(href);
    switch (place.kind) {
      case 'own':
        return `<a href="${escapeHtml(href)}">${shown}</a>`;
      case 'host':
        return `${shown} <a href="${escapeHtml(href)}">${escapeHtml(place.host)}</a>`;
      case 'nowhere':
        return shown;
    }
  }
}

type Place =
  /** Perhaps a file of the session: which one it is, the page knows. */
  { readonly kind: 'own' } | { readonly kind: 'host'; readonly host: string } | { readonly kind: 'nowhere' };

function placeOf(href: string): Place {
  const own = 'own.invalid';
  const url = URL.parse(href, `https://${own}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return { kind: 'nowhere' };
  return url.host === own ? { kind: 'own' } : { kind: 'host', host: url.host };
}
