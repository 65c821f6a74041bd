/** Writes only what differs, so that a selection in what stays the same is kept, and growing costs what was added. */
export function setText(node: Text, text: string): void {
  const { data } = node;
  if (text === data) return;
  if (text.startsWith(data)) return node.appendData(text.slice(data.length));
  let same = 0;
  while (same < data.length && data.charCodeAt(same) === text.charCodeAt(same)) same++;
  node.replaceData(same, data.length - same, text.slice(same));
}
