// Code as it is shown: its language, a button that copies it, its text. Long code is folded.
//
// K1. The code is only ever text. Nothing of it is parsed as markup.
// K2. Growing adds to the text that stands there; the nodes stay the same.
// K3. Highlighting waits until the code is settled and seen, is left out where it would take long, and changes neither text
//     nor selection. It may fail: the code stays as it is.

import { element } from './element.ts';
import { keepSelection } from './keep-selection.ts';
import { setText } from './set-text.ts';
import { utf8Bytes } from '../state/utf8.ts';
import type { CodeSource } from './read-blocks.ts';
import type * as Highlighter from './highlighter.ts';

const foldedLines = 80;
const highlightLimits = { bytes: 100_000, lines: 1_000 };

const blocks = new WeakMap<Element, CodeBlock>();

/** The block whose outermost element this is. */
export function codeBlockOf(node: Node): CodeBlock | undefined {
  return node instanceof Element ? blocks.get(node) : undefined;
}

/** Nothing in it will change any more, unless the whole of the text is read anew. */
export function settleCodeIn(root: Element): void {
  for (const each of [root, ...root.querySelectorAll('.code-block')]) codeBlockOf(each)?.settle();
}

export class CodeBlock {
  readonly element: HTMLElement;
  readonly #label = element('span', 'code-language');
  /** In two pieces: what is always shown, and what can be folded away. */
  readonly #head = element('code', '');
  readonly #rest = element('code', '');
  readonly #body = element('pre', '', this.#head, this.#rest);
  readonly #more = element('button', 'code-more');
  #source: CodeSource = { text: '', language: '' };
  #colouring: 'growing' | 'settled' | 'coloured' = 'growing';
  #isOpen = false;

  constructor(source: CodeSource) {
    // What scrolls has to be reached by the keyboard too.
    this.#body.tabIndex = 0;
    this.#more.type = 'button';
    this.#more.addEventListener('click', () => this.#fold(!this.#isOpen));
    // Where the browser finds a word in what is folded.
    this.#rest.addEventListener('beforematch', () => this.#fold(true));
    const bar = element(
      'div',
      'code-bar',
      this.#label,
      copyButton(() => this.#source.text),
    );
    this.element = element('div', 'code-block', bar, this.#body, this.#more);
    blocks.set(this.element, this);
    this.#fold(false);
    this.update(source);
  }

  shows({ text, language }: CodeSource): boolean {
    return text === this.#source.text && language === this.#source.language;
  }

  update(source: CodeSource): void {
    const { text, language } = source;
    if (this.shows(source)) return;
    this.#source = source;
    this.#label.textContent = language;
    const cut = endOfLine(text, foldedLines);
    setOnlyText(this.#head, text.slice(0, cut));
    setOnlyText(this.#rest, text.slice(cut));
    this.#fold(this.#isOpen);
    if (this.#colouring === 'growing') return;
    this.#colouring = 'growing';
    this.settle();
  }

  settle(): void {
    const { text, language } = this.#source;
    if (this.#colouring !== 'growing') return;
    this.#colouring = 'settled';
    const { bytes, lines } = highlightLimits;
    if (language !== '' && countLines(text) <= lines && utf8Bytes(text) <= bytes) whenSeen(this);
  }

  /** @throws Never. */
  async colour(): Promise<void> {
    const source = this.#source;
    const highlighter = await (highlighting ??= loadHighlighter());
    const runs = highlighter?.highlight(source.text, source.language.toLowerCase()) ?? null;
    if (runs === null || source !== this.#source || this.#colouring !== 'settled') return;
    this.#colouring = 'coloured';
    const cut = endOfLine(source.text, foldedLines);
    const [head, rest] = spansOf(runs, cut);
    keepSelection(this.#body, () => {
      this.#head.replaceChildren(...head);
      this.#rest.replaceChildren(...rest);
    });
  }

  #fold(isOpen: boolean): void {
    this.#isOpen = isOpen;
    const left = countLines(this.#source.text) - foldedLines;
    this.#more.hidden = left <= 0;
    this.#more.ariaExpanded = String(isOpen);
    if (left > 0) this.#more.textContent = isOpen ? 'Show less' : `Show ${left} more ${left === 1 ? 'line' : 'lines'}`;
    if (isOpen) this.#rest.removeAttribute('hidden');
    else this.#rest.setAttribute('hidden', 'until-found');
  }
}

function copyButton(text: () => string): HTMLButtonElement {
  const button = element('button', 'code-copy', 'Copy');
  const say = (label: string) => void (button.textContent = label);
  button.type = 'button';
  button.addEventListener('click', () => {
    // Absent where the page came over plain HTTP from another machine.
    const copied = Promise.resolve().then(() => navigator.clipboard.writeText(text()));
    void copied.then(
      () => say('Copied'),
      () => say('Not copied'),
    );
  });
  for (const leaving of ['pointerleave', 'blur']) button.addEventListener(leaving, () => say('Copy'));
  return button;
}

/** Kept, as the bundler's `import()` looks through the whole page each time. */
let highlighting: Promise<typeof Highlighter | null> | null = null;

async function loadHighlighter(): Promise<typeof Highlighter | null> {
  try {
    return await import('./highlighter.ts');
  } catch {
    // The next block tries again.
    highlighting = null;
    return null;
  }
}

let sight: IntersectionObserver | null = null;

function whenSeen(block: CodeBlock): void {
  sight ??= new IntersectionObserver(
    (entries, observer) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        void codeBlockOf(target)?.colour();
      }
    },
    { rootMargin: '200px' },
  );
  sight.observe(block.element);
}

function setOnlyText(parent: Element, text: string): void {
  const only = parent.childNodes.length === 1 ? parent.firstChild : null;
  if (only instanceof Text) setText(only, text);
  else parent.replaceChildren(text);
}

/** @param cut  Where the second piece begins. */
function spansOf(runs: readonly Highlighter.Run[], cut: number): readonly [readonly Node[], readonly Node[]] {
  const [head, rest] = [new Array<Node>(), new Array<Node>()];
  let at = 0;
  for (const { text, scope } of runs) {
    const here = Math.min(Math.max(cut - at, 0), text.length);
    if (here > 0) head.push(spanOf(text.slice(0, here), scope));
    if (here < text.length) rest.push(spanOf(text.slice(here), scope));
    at += text.length;
  }
  return [head, rest];
}

function spanOf(text: string, scope: string | null): Node {
  return scope === null ? document.createTextNode(text) : element('span', `code-${scope}`, text);
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Where the line after the first so many begins, or the end. */
function endOfLine(text: string, lines: number): number {
  let at = 0;
  for (let line = 0; line < lines; line++) {
    at = text.indexOf('\n', at) + 1;
    if (at === 0) return text.length;
  }
  return at;
}
