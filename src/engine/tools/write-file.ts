import { fileTool, objectSchema } from './file-tool.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { locate, openFile, type Place } from './workspace-path.ts';
import { writeContent } from './write-content.ts';

export const writeFile = fileTool({
  name: 'write_file',
  description:
    'Writes a file of the workspace: the whole content, in place of what was there. Missing folders are made.',
  inputSchema: objectSchema(
    {
      path: { type: 'string', description: 'Path relative to the working directory.' },
      content: { type: 'string', description: 'The whole new content.' },
    },
    ['path', 'content'],
  ),
  useKind: 'edit',
  replay: 'idempotent',
  concurrent: false, // a batch may write and edit one file: in call order, each sees the one before
  async run(input, context) {
    const [given, text] = [input.text('path'), input.text('content')];
    const { workspace, directory } = context;
    await using place = await locate(workspace, given, { missingFolders: 'create', directory });
    if (place.kind === 'folder') throw new ToolRefusal(`${quotePath(given)} is a folder.`);
    if (place.kind === 'special') throw new ToolRefusal(`${quotePath(given)} is not a regular file.`);
    const change = await writeContent(place, { text, ...(await modeOf(place)) }, context);
    const verb = change.kind === 'create' ? 'Created' : 'Replaced';
    return { content: `${verb} ${quotePath(given)} (${change.bytes} bytes).`, files: [change] };
  },
});

async function modeOf(place: Place): Promise<{ mode?: number }> {
  if (place.kind === 'missing') return {};
  await using handle = await openFile(place.folder, place.name);
  return { mode: (await handle.stat()).mode & 0o777 };
}
