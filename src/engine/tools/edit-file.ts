import { fileTool, objectSchema } from './file-tool.ts';
import { maxTextFileBytes, readTextFile } from './read-text.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { locate } from './workspace-path.ts';
import { writeContent } from './write-content.ts';

export const editFile = fileTool({
  name: 'edit_file',
  description:
    'Replaces text in a file of the workspace. old must be the exact text, white space included, and stand in the file once, unless all is true: then every occurrence is replaced.',
  inputSchema: objectSchema(
    {
      path: { type: 'string', description: 'Path relative to the working directory.' },
      old: { type: 'string', minLength: 1, description: 'The exact text to replace.' },
      new: { type: 'string', description: 'The text to put in its place.' },
      all: { type: 'boolean', description: 'Replace every occurrence.' },
    },
    ['path', 'old', 'new'],
  ),
  useKind: 'edit',
  replay: 'manual',
  concurrent: false, // two edits of one file at once would lose one of them
  async run(input, context) {
    const given = input.text('path');
    const edit = {
      old: input.text('old'),
      new: input.text('new'),
      isForAll: input.isSet('all'),
      path: quotePath(given),
    };
    await using place = await locate(context.workspace, given, { directory: context.directory });
    const { bytes, mode } = await readTextFile(place, given);
    const { text, count } = applyEdit(decodeExactly(bytes, edit.path), edit);
    const change = await writeContent(place, { text, mode }, context);
    return { content: `Replaced ${count} ${count === 1 ? 'place' : 'places'} in ${edit.path}.`, files: [change] };
  },
});

interface Edit {
  readonly old: string;
  readonly new: string;
  readonly isForAll: boolean;
  readonly path: string;
}

function applyEdit(text: string, edit: Edit): { text: string; count: number } {
  if (edit.old === '') throw new ToolRefusal("The argument 'old' is empty; write_file makes new files.");
  if (edit.old === edit.new) throw new ToolRefusal("The arguments 'old' and 'new' are the same; nothing was changed.");
  const count = countOccurrences(text, edit.old);
  if (count === 0) {
    const hint = text.includes('\r\n') && !edit.old.includes('\r') ? ' The file ends its lines with CR LF.' : '';
    throw new ToolRefusal(`The text to replace was not found in ${edit.path}; nothing was changed.${hint}`);
  }
  if (count > 1 && !edit.isForAll) {
    throw new ToolRefusal(
      `The text to replace was found ${count} times in ${edit.path}; nothing was changed. Give more of the text around it, or set all.`,
    );
  }
  // Checked before it is built: a short `old` and a long `new` could ask for terabytes.
  if (text.length + count * (edit.new.length - edit.old.length) > maxTextFileBytes) {
    throw new ToolRefusal(`${edit.path} would become larger than 10 MiB; nothing was changed.`);
  }
  return { text: text.replaceAll(edit.old, () => edit.new), count }; // a function, or `$&` in `new` would have a meaning
}

function countOccurrences(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** A file that is not wholly UTF-8 is refused: writing it back would destroy the bytes that could not be read. */
function decodeExactly(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolRefusal(`${path} is not valid UTF-8, so it cannot be edited as text.`);
  }
}
