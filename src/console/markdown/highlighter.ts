// A chunk of its own, loaded with the first code of a language that it knows (C-080).

import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import type { Emitter } from 'highlight.js';

export interface Run {
  readonly text: string;
  /** As `keyword`. Null: nothing in particular. */
  readonly scope: string | null;
}

/** Collects runs in place of HTML: the page makes elements of them, and no text becomes markup. */
class RunEmitter implements Emitter {
  readonly runs: Run[] = [];
  readonly #scopes: string[] = [];

  openNode(name: string): void {
    this.#scopes.push(name.split('.')[0] ?? name);
  }

  closeNode(): void {
    this.#scopes.pop();
  }

  // The library calls both pairs.
  startScope(name: string): void {
    this.openNode(name);
  }

  endScope(): void {
    this.closeNode();
  }

  addText(text: string): void {
    if (text !== '') this.runs.push({ text, scope: this.#scopes.at(-1) ?? null });
  }

  __addSublanguage(emitter: Emitter): void {
    if (emitter instanceof RunEmitter) this.runs.push(...emitter.runs);
  }

  finalize(): void {}

  toHTML(): string {
    return '';
  }
}

hljs.configure({ __emitter: RunEmitter });
for (const [name, language] of Object.entries({ bash, css, diff, json, python, typescript, xml, yaml }))
  hljs.registerLanguage(name, language);
hljs.registerAliases(['javascript', 'js', 'jsx', 'mjs', 'cjs'], { languageName: 'typescript' });
hljs.registerAliases(['shell', 'console'], { languageName: 'bash' });

/** The runs, joined, are the code. Null: the language is not one of these, or it could not be read. */
export function highlight(code: string, language: string): readonly Run[] | null {
  if (hljs.getLanguage(language) === undefined) return null;
  const { _emitter: emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
  if (!(emitter instanceof RunEmitter)) return null;
  // A fault within it leaves the beginning alone.
  return emitter.runs.map(({ text }) => text).join('') === code ? emitter.runs : null;
}
