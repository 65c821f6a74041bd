// One tree made like another by changing only what differs: nodes that stay the same keep their identity, and with it what is
// selected in them, where they are scrolled to, what is unfolded.

import { CodeBlock, codeBlockOf } from './code-block.ts';
import { element } from './element.ts';
import { setText } from './set-text.ts';
import type { CodeSource } from './read-blocks.ts';

/**
 * @param old  In the page, dressed.
 * @param fresh  From the allow-list, not yet dressed; taken apart.
 * @returns What stands in the place of `old` now.
 */
export function patch<T extends ChildNode>(old: T, fresh: T): T | Element {
  const code = codeBlockOf(old);
  const inner = old instanceof Element ? undressed(old) : old;
  if (code !== undefined && fresh instanceof HTMLPreElement) code.update(codeIn(fresh));
  else if (old instanceof Text && fresh instanceof Text) setText(old, fresh.data);
  else if (code === undefined && inner instanceof Element && fresh instanceof Element && isAlike(inner, fresh))
    patchChildren(inner, fresh);
  else {
    const dressed = dress(fresh);
    old.replaceWith(dressed);
    return dressed;
  }
  return old;
}

/** Adds what the page brings itself: code gets its buttons, tables a frame to scroll in, boxes of tasks a name. */
export function dress<T extends ChildNode>(node: T): T | Element {
  if (!(node instanceof Element)) return node;
  const boxes = node instanceof HTMLInputElement ? [node] : node.querySelectorAll('input');
  for (const box of boxes) box.ariaLabel = box.checked ? 'Done' : 'Not done';
  for (const pre of node.querySelectorAll('pre')) pre.replaceWith(new CodeBlock(codeIn(pre)).element);
  for (const table of node.querySelectorAll('table')) frame(table);
  if (node instanceof HTMLPreElement) return new CodeBlock(codeIn(node)).element;
  return node instanceof HTMLTableElement ? frame(node) : node;
}

/** A table in its frame, or what is given. */
export function undressed(node: Element): Element {
  const inner = node.className === 'table-frame' ? node.firstElementChild : null;
  return inner ?? node;
}

function frame(table: HTMLTableElement): Element {
  const made = element('div', 'table-frame');
  // What scrolls has to be reached by the keyboard too.
  made.tabIndex = 0;
  table.replaceWith(made);
  made.append(table);
  return made;
}

function patchChildren(old: Element, fresh: Element): void {
  const nodes = [...fresh.childNodes];
  for (const [at, node] of nodes.entries()) {
    const existing = old.childNodes[at];
    if (existing === undefined) old.append(dress(node));
    else patch(existing, node);
  }
  while (old.childNodes.length > nodes.length) old.lastChild?.remove();
}

function isAlike(one: Element, other: Element): boolean {
  return (
    one.tagName === other.tagName &&
    one.attributes.length === other.attributes.length &&
    [...one.attributes].every(({ name, value }) => other.getAttribute(name) === value)
  );
}

function codeIn(pre: HTMLPreElement): CodeSource {
  const named = /^language-(.*)$/.exec(pre.firstElementChild?.className ?? '');
  return { text: pre.textContent, language: named?.[1] ?? '' };
}
