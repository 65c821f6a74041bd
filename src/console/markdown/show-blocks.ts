import { CodeBlock } from './code-block.ts';
import { dress, patch, undressed } from './patch.ts';
import { element } from './element.ts';
import { sanitize } from './sanitize.ts';
import type { VisibleBlock } from './read-blocks.ts';

/** One top-level block in the page, and what it was made from. */
export type Shown =
  | { readonly kind: 'code'; readonly node: Element; readonly code: CodeBlock }
  | { readonly kind: 'html'; readonly node: Element; readonly key: string; readonly partKeys: readonly string[] };

type HtmlBlock = Extract<VisibleBlock, { kind: 'html' }>;

/**
 * Makes the page show these blocks. What is the same at the beginning and at the end is left alone, so that one block that is
 * new in the middle changes no other.
 * @param shown  Changed in place.
 * @param from  Blocks before it stay.
 */
export function showBlocks(
  parent: Element,
  shown: Shown[],
  { from, blocks }: { readonly from: number; readonly blocks: readonly VisibleBlock[] },
): void {
  const old = shown.slice(from);
  let start = 0;
  while (isSame(old[start], blocks[start])) start++;
  let same = 0;
  while (Math.min(old.length, blocks.length) - same > start && isSame(old.at(-1 - same), blocks.at(-1 - same))) same++;
  const leaving = old.slice(start, old.length - same);
  const after = old.at(old.length - same)?.node ?? null;
  const coming = blocks.slice(start, blocks.length - same).map((block, at) => {
    const existing = leaving[at];
    if (existing !== undefined) return turnInto(existing, block);
    const made = open(block);
    parent.insertBefore(made.node, after);
    return made;
  });
  for (const { node } of leaving.slice(coming.length)) node.remove();
  shown.splice(from + start, leaving.length, ...coming);
}

function isSame(shown: Shown | undefined, block: VisibleBlock | undefined): boolean {
  if (shown === undefined || block === undefined) return false;
  if (shown.kind === 'code') return block.kind === 'code' && shown.code.shows(block);
  return (
    block.kind === 'html' &&
    shown.key === block.key &&
    shown.partKeys.length === block.parts.length &&
    block.parts.every(({ key }, at) => key === shown.partKeys[at])
  );
}

function open(block: VisibleBlock): Shown {
  if (block.kind === 'html') return shownAs(dress(elementOf(block)), block);
  const code = new CodeBlock(block);
  return { kind: 'code', node: code.element, code };
}

function turnInto(shown: Shown, block: VisibleBlock): Shown {
  if (shown.kind === 'code' && block.kind === 'code') {
    shown.code.update(block);
    return shown;
  }
  if (shown.kind === 'html' && block.kind === 'html') {
    if (shown.key !== block.key) return shownAs(patch(shown.node, elementOf(block)), block);
    patchParts(shown, block);
    return shownAs(shown.node, block);
  }
  const made = open(block);
  shown.node.replaceWith(made.node);
  return made;
}

function shownAs(node: Element, { key, parts }: HtmlBlock): Shown {
  return { kind: 'html', node, key, partKeys: parts.map((part) => part.key) };
}

function patchParts({ node, partKeys }: Extract<Shown, { kind: 'html' }>, block: HtmlBlock): void {
  const holder = holderOf(undressed(node));
  const changed = [...block.parts.entries()].filter(([at, { key }]) => key !== partKeys[at]);
  const html = changed.map(([, part]) => part.html()).join('');
  const fresh = html === '' ? [] : [...holderOf(treeOf(block.wrap(html))).children];
  for (const [index, [at]] of changed.entries()) {
    const [existing, made] = [holder.children[at], fresh[index]];
    if (made === undefined) continue;
    if (existing === undefined) holder.append(dress(made));
    else patch(existing, made);
  }
  while (holder.children.length > block.parts.length) holder.lastElementChild?.remove();
}

function elementOf({ parts, wrap }: HtmlBlock): Element {
  return treeOf(wrap(parts.map((part) => part.html()).join('')));
}

function treeOf(html: string): Element {
  const fragment = sanitize(html);
  return fragment.firstElementChild ?? element('p', '', fragment);
}

/** Where items and rows stand. */
function holderOf(tree: Element): Element {
  return tree instanceof HTMLTableElement ? (tree.tBodies[0] ?? tree) : tree;
}
