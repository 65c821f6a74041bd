// Markdown of the console on a page of its own, for what measures and tests it: `window.stage`.

import { createMarkdownView, type MarkdownView } from '../../src/console/markdown/create-markdown-view.ts';

const main = document.querySelector('main') ?? document.body;
let view: MarkdownView | null = null;
let marked: readonly Element[] = [];

const stage = {
  update: (text: string) => (view ??= open()).update(text),
  finish: (text: string) => (view ??= open()).finish(text),

  clear(): void {
    view?.destroy();
    view = null;
    main.replaceChildren();
  },

  /** What is shown, but for colours, which come when they come. */
  html(): string {
    const copy = document.createElement('div');
    copy.append(...[...main.children].map((each) => each.cloneNode(true)));
    for (const code of copy.querySelectorAll('code')) code.replaceChildren(code.textContent);
    return copy.innerHTML;
  },

  /** Of each piece, the text so far; then the end. */
  stream(pieces: readonly string[]): string {
    stage.clear();
    for (const end of pieces.keys()) stage.update(pieces.slice(0, end + 1).join(''));
    stage.finish(pieces.join(''));
    return stage.html();
  },

  mark: () => void (marked = [...blocks()]),

  /** How many of the blocks at the time of `mark` are the same nodes at the same place. */
  kept: () => marked.filter((node, at) => blocks()[at] === node).length,

  /**
   * One update a frame, each with the layout that it needs, in ms.
   * @param opensCode  Unfolds code as soon as it can be.
   */
  async measure(pieces: readonly string[], opensCode: boolean): Promise<readonly number[]> {
    stage.clear();
    const times: number[] = [];
    let text = '';
    for (const [at, piece] of pieces.entries()) {
      await new Promise((resume) => requestAnimationFrame(resume));
      text += piece;
      const startedAt = performance.now();
      if (at < pieces.length - 1) stage.update(text);
      else stage.finish(text);
      void main.offsetHeight;
      times.push(performance.now() - startedAt);
      if (opensCode) main.querySelector<HTMLElement>('.code-more[aria-expanded=false]:not([hidden])')?.click();
      scrollTo(0, document.body.scrollHeight);
    }
    return times;
  },
};

function blocks(): readonly Element[] {
  return [...main.querySelectorAll('.markdown > * > *')];
}

function open(): MarkdownView {
  const element = document.createElement('div');
  main.append(element);
  return createMarkdownView(element);
}

Object.assign(window, { stage });
