import { createAnswerLines, printablePath } from './answer-lines.ts';
import { fileTool, objectSchema } from './file-tool.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { listFolder, locate, type EntryKind } from './workspace-path.ts';

const maxShown = 1000;
const maxRead = 10_000;
/** As `ls -F` marks them. */
const marks: Record<EntryKind, string> = { file: '', folder: '/', link: '@', special: '|' };

export const listFiles = fileTool({
  name: 'list_files',
  description:
    'Lists one folder of the workspace, one name a line. Folders end with "/", links with "@", pipes and devices with "|".',
  inputSchema: objectSchema(
    { path: { type: 'string', description: 'Folder, relative to the working directory. Default: that directory.' } },
    [],
  ),
  useKind: 'readonly',
  replay: 'safe',
  async run(input, { workspace, directory }) {
    const given = input.optionalText('path') ?? '.';
    await using place = await locate(workspace, given, { directory });
    if (place.kind === 'missing') throw new ToolRefusal(`There is nothing at ${quotePath(given)}.`);
    if (place.kind !== 'folder') throw new ToolRefusal(`${quotePath(given)} is not a folder.`);
    const { entries, isCut } = await listFolder(place.folder, maxRead);
    const lines = createAnswerLines(maxShown);
    const isWhole = entries.every(({ name, kind }) => lines.add(printablePath(name) + marks[kind])) && !isCut;
    if (lines.count === 0) return { content: '[The folder is empty.]' };
    const total = isCut ? `more than ${maxRead}` : entries.length;
    return { content: lines.text(isWhole ? [] : [`${lines.count} of ${total} entries. Use glob to find the others.`]) };
  },
});
