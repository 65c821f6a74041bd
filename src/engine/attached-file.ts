// How an attached text file stands in a prompt. The name is written as a JSON string, so no file name can break out of the
// heading line.

const heading = /^Attached file ("(?:[^"\\\n]|\\[^\n])*"):\n/;

/** The file as one text part of a prompt. */
export const attachedFileText = (filename: string, text: string): string =>
  `Attached file ${JSON.stringify(filename)}:\n${text}`;

/** The file that a text part holds, or null when the part is something else. Total over all texts. */
export function readAttachedFile(part: string): { readonly filename: string; readonly text: string } | null {
  const found = heading.exec(part);
  if (found?.[1] === undefined) return null;
  return { filename: unquoted(found[1]), text: part.slice(found[0].length) };
}

function unquoted(name: string): string {
  try {
    return String(JSON.parse(name));
  } catch {
    return name.slice(1, -1); // Typed by a person, not written by us.
  }
}
