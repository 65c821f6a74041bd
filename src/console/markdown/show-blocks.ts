import { CodeBlock } from './code-block.ts';
import { dress, patch, undressed } from './patch.ts';
import { element } from './element.ts';
import { sanitize } from './sanitize.ts';
import type { VisibleBlock } from './read-blocks.ts';

/** One top-level block in the page, and what it was made from. */
export type Shown =
  | { readonly kind: 'code'; readonly node: Element; readonly code: CodeBlock }
  | { readonly kind: 'html'; readonly node: Element; readonly key: string; readonly partKeys: readonly string[] };

type Trees = ReadonlyMap<HtmlBlock, Element>;
type HtmlBlock = Extract<VisibleBlock, { kind: 'html' }>;

/** Some two screens. */
const blocksTogether = 16;

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
  const changing = blocks.slice(start, blocks.length - same);
  const trees = treesOf(changing.filter((block, at) => isWholeNew(leaving[at], block)));
  const coming = changing.map((block, at) => {
    const existing = leaving[at];
    return existing === undefined ? open(block, trees) : turnInto(existing, { block, trees });
  });
  for (const { node } of leaving.slice(coming.length)) node.remove();
  shown.splice(from + start, leaving.length, ...coming);
  place(parent, shown, from + start);
}

/** In groups, so that those out of sight cost the browser nothing (B148). @param from  Blocks before it stand already. */
function place(parent: Element, shown: readonly Shown[], from: number): void {
  for (let at = from; at < shown.length; at++) {
    const node = shown[at]?.node ?? null;
    const group = parent.children[Math.floor(at / blocksTogether)] ?? parent.appendChild(element('div', ''));
    const here = group.children[at % blocksTogether] ?? null;
    if (node !== null && here !== node) group.insertBefore(node, here);
  }
  while (parent.children.length > Math.ceil(shown.length / blocksTogether)) parent.lastElementChild?.remove();
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

/** Whether all of its HTML is needed, and not that of some parts, or none. */
function isWholeNew(shown: Shown | undefined, block: VisibleBlock): block is HtmlBlock {
  return block.kind === 'html' && !(shown?.kind === 'html' && shown.key === block.key);
}

/** All at once: the allow-list costs as much again for each call. */
function treesOf(blocks: readonly HtmlBlock[]): Trees {
  const html = blocks.map(({ parts, wrap }) => wrap(parts.map((part) => part.html()).join('')));
  const together = html.length === 0 ? [] : [...sanitize(html.join('')).children];
  const trees = together.length === html.length ? together : html.map(treeOf);
  return new Map(blocks.map((block, at) => [block, trees[at] ?? element('p', '')]));
}

function treeOf(html: string): Element {
  const fragment = sanitize(html);
  return fragment.firstElementChild ?? element('p', '', fragment);
}

function open(block: VisibleBlock, trees: Trees): Shown {
  if (block.kind === 'html') return shownAs(dress(treeFor(block, trees)), block);
  const code = new CodeBlock(block);
  return { kind: 'code', node: code.element, code };
}

function treeFor(block: HtmlBlock, trees: Trees): Element {
  return trees.get(block) ?? element('p', '');
}

function turnInto(shown: Shown, { block, trees }: { readonly block: VisibleBlock; readonly trees: Trees }): Shown {
  if (isSame(shown, block)) return shown;
  if (shown.kind === 'code' && block.kind === 'code') {
    shown.code.update(block);
    return shown;
  }
  if (shown.kind === 'html' && block.kind === 'html') {
    if (shown.key !== block.key) return shownAs(patch(shown.node, treeFor(block, trees)), block);
    patchParts(shown, block);
    return shownAs(shown.node, block);
  }
  const made = open(block, trees);
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

/** Where items and rows stand. */
function holderOf(tree: Element): Element {
  return tree instanceof HTMLTableElement ? (tree.tBodies[0] ?? tree) : tree;
}
