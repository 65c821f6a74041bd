/** Changes the nodes below `root`, but not its text; what the person has selected there stays selected. */
export function keepSelection(root: Node, change: () => void): void {
  const selection = getSelection();
  const ends = selection === null ? [] : [selection.anchorNode, selection.focusNode];
  if (selection === null || !ends.some((node) => root.contains(node))) return change();
  const anchor = pointOf(root, selection.anchorNode, selection.anchorOffset);
  const focus = pointOf(root, selection.focusNode, selection.focusOffset);
  change();
  if (anchor !== null && focus !== null) selection.setBaseAndExtent(...anchor(), ...focus());
}

type Point = readonly [node: Node, offset: number];

/** How to find a place again after the change. Null: there is none. */
function pointOf(root: Node, node: Node | null, offset: number): (() => Point) | null {
  if (node === null) return null;
  if (!root.contains(node)) return () => [node, offset];
  const before = document.createRange();
  before.setStart(root, 0);
  before.setEnd(node, offset);
  const { length } = before.toString();
  return () => placeAt(root, length);
}

function placeAt(root: Node, units: number): Point {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let left = units;
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const { length } = node.textContent ?? '';
    if (left <= length) return [node, left];
    left -= length;
  }
  return [root, root.childNodes.length];
}
