// Markdown that grows, as elements of the page (C-063).
//
// V1. Blocks before the last two are finished: their text is not read again until the end, and their nodes stay the same.
// V2. The end reads everything once more, as a later line can define a link or loosen a list, and touches what has changed.
// V3. However the text was cut, what stands there after the end is what the whole of it gives.
// V4. Blocks stand in groups, by their number alone, so that V3 holds of the groups too.
// V5. All that comes from markdown passes the allow-list; what is code is only ever text.

import { isVisible, readBlocks, type Block } from './read-blocks.ts';
import { settleCodeIn } from './code-block.ts';
import { showBlocks, type Shown } from './show-blocks.ts';
import type { Links } from './safe-lexer.ts';

const blocksReadAgain = 2;

export interface MarkdownView {
  /** @param text  The whole so far. Called at most once a frame; text that does not go on from the last one is fine. */
  update(text: string): void;
  /** No more will come, as far as is known; `update` after it is fine. */
  finish(text: string): void;
  destroy(): void;
}

/** @param element  Empty; all in it belongs to the view. */
export function createMarkdownView(element: HTMLElement): MarkdownView {
  element.classList.add('markdown');
  const shown: Shown[] = [];
  let frozen: Frozen = nothingFrozen;
  const update = (given: string) => {
    const text = given.replaceAll(/\r\n?/g, '\n');
    if (!text.startsWith(frozen.text)) frozen = nothingFrozen;
    const blocks = readBlocks(text.slice(frozen.text.length), frozen.links);
    showBlocks(element, shown, { from: frozen.shown, blocks: blocks.filter(isVisible) });
    for (const { node } of shown.slice(frozen.shown, -1)) settleCodeIn(node);
    frozen = freeze(frozen, { text, blocks });
  };
  return {
    update,
    finish(text) {
      frozen = nothingFrozen;
      update(text);
      const last = shown.at(-1);
      if (last !== undefined) settleCodeIn(last.node);
    },
    destroy() {
      shown.length = 0;
      frozen = nothingFrozen;
      element.replaceChildren();
    },
  };
}

interface Frozen {
  readonly text: string;
  readonly links: Links;
  /** How many of the shown blocks it gave. */
  readonly shown: number;
}

const nothingFrozen: Frozen = { text: '', links: {}, shown: 0 };

function freeze(
  frozen: Frozen,
  { text, blocks }: { readonly text: string; readonly blocks: readonly Block[] },
): Frozen {
  const visible = blocks.filter(isVisible);
  const [firstLive] = visible.slice(-blocksReadAgain);
  if (firstLive === undefined || visible.length <= blocksReadAgain) return frozen;
  const done = blocks.slice(0, blocks.indexOf(firstLive));
  const links: Links = Object.assign(Object.create(null), frozen.links);
  let end = frozen.text.length;
  for (const block of done) {
    end += block.raw.length;
    // The first definition of a name holds.
    if (block.kind === 'silent') for (const [name, link] of Object.entries(block.defines)) links[name] ??= link;
  }
  return { text: text.slice(0, end), links, shown: frozen.shown + visible.length - blocksReadAgain };
}
