// How attached files stand in a prompt. Names are written as JSON strings, so no file name can break out of its line.

const heading = /^Attached file ("(?:[^"\\\n]|\\[^\n])*")(?: \(in the working directory(?: as [^\n]+)?\))?:\n/;
const placed = 'The attached file lies in the working directory: ';

/** The file as one text part of a prompt. @param path  Where it lies in the working directory; absent: nowhere. */
export function attachedFileText(filename: string, text: string, path?: string): string {
  const as = path === filename ? '' : ` as ${JSON.stringify(path)}`;
  const where = path === undefined ? '' : ` (in the working directory${as})`;
  return `Attached file ${JSON.stringify(filename)}${where}:\n${text}`;
}

/** The file that a text part holds, or null when the part is something else. Total over all texts. */
export function readAttachedFile(part: string): { readonly filename: string; readonly text: string } | null {
  const found = heading.exec(part);
  if (found?.[1] === undefined) return null;
  return { filename: unquoted(found[1]), text: part.slice(found[0].length) };
}

/** Where a file lies that is no text of the prompt. */
export function placedFileText(file: {
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: number;
}): string {
  return `[${placed}${JSON.stringify(file.path)} (${file.mediaType}, ${file.bytes} bytes).]`;
}

export function isPlacedFileText(part: string): boolean {
  return part.startsWith(`[${placed}`);
}

function unquoted(name: string): string {
  try {
    return String(JSON.parse(name));
  } catch {
    return name.slice(1, -1); // Typed by a person, not written by us.
  }
}
