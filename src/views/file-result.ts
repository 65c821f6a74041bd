// What runtimes put around the text of a file that they read: it is no part of the file, and is not counted.

export interface FileResult {
  readonly text: string;
  /** The file has more than was given. */
  readonly truncated: boolean;
}

/**
 * A result of a tool that reads: without line numbers, wrappers and notes.
 * @param isNumbered  Whether its tool begins each line with its number, also without a wrapper.
 */
export function fileResult(content: string, isNumbered: boolean): FileResult {
  if (content === '[The file is empty.]') return { text: '', truncated: false };
  const said = content.replace(/\n*<system-reminder>[^]*$/, '');
  const wrapped = /^\s*<(?:path|file|content)>/.test(said)
    ? /<(file|content)>\n?([^]*?)\n?<\/\1>/.exec(said)?.[2]
    : undefined;
  const inner = wrapped ?? said;
  const text = inner.replace(endNote, '');
  return {
    text: isNumbered || wrapped !== undefined ? withoutNumbers(text) : text,
    truncated: text !== inner && !inner.includes('(End of file'),
  };
}

const endNote =
  /\n+(?:\[(?:Lines \d+ to \d+ of|Line \d+ |Showing lines |\d+ more lines )[^\n]*\]|\((?:End of file|File has more|Showing lines|Output capped|Output truncated)[^\n]*\))\n*$/;

function withoutNumbers(text: string): string {
  return text.replaceAll(/^ *\d+(?:→|\t|\| ?|: ?)/gm, '');
}
