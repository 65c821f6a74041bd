import { head } from '../../core/text.ts';
import { fileTool, maxAnswerUnits, objectSchema } from './file-tool.ts';
import { readTextFile } from './read-text.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { locate } from './workspace-path.ts';

export const readFile = fileTool({
  name: 'read_file',
  description:
    'Reads a text file of the workspace. Long files come in parts: offset is the first line to give, counted from 1, and limit how many lines.',
  inputSchema: objectSchema(
    {
      path: { type: 'string', description: 'Path relative to the working directory.' },
      offset: { type: 'integer', minimum: 0, description: 'First line, counted from 1.' },
      limit: { type: 'integer', minimum: 1, description: 'Most lines to give.' },
    },
    ['path'],
  ),
  useKind: 'readonly',
  replay: 'safe',
  async run(input, { workspace, directory }) {
    const given = input.text('path');
    await using place = await locate(workspace, given, { directory });
    const { bytes } = await readTextFile(place, given);
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes); // `ignoreBOM` keeps it in the text
    const first = Math.max(1, input.optionalCount('offset') ?? 1);
    return {
      content: selectLines(text, { first, limit: input.optionalCount('limit') ?? Infinity, path: quotePath(given) }),
    };
  },
});

/** Lines with their ends, as they stand in the file, and a note in brackets when there is more. */
function selectLines(text: string, { first, limit, path }: { first: number; limit: number; path: string }): string {
  if (text === '') return '[The file is empty.]';
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const from = lines[first - 1];
  if (from === undefined) throw new ToolRefusal(`${path} has ${lines.length} lines; line ${first} is past its end.`);
  let content = head(from, maxAnswerUnits);
  let last = first;
  for (; last < lines.length && last - first + 1 < limit; last++) {
    const next = lines[last] ?? '';
    if (content.length + next.length > maxAnswerUnits) break;
    content += next;
  }
  const notes = [
    ...(from.length > maxAnswerUnits ? [`[Line ${first} has ${from.length} characters and is cut.]`] : []),
    ...(last < lines.length ? [`[Lines ${first} to ${last} of ${lines.length}. Go on with offset ${last + 1}.]`] : []),
  ];
  return notes.length === 0 ? content : [content.replace(/\n$/, ''), ...notes].join('\n');
}
