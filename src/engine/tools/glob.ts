import { createAnswerLines, printablePath } from './answer-lines.ts';
import { fileTool, objectSchema } from './file-tool.ts';
import { parseGlob } from './glob-pattern.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { walkFiles } from './walk-files.ts';
import { locate, pathFrom } from './workspace-path.ts';

const maxFound = 1000;

export const glob = fileTool({
  name: 'glob',
  description:
    'Finds files of the workspace by name, such as "src/**/*.ts" or "**/*.{yml,yaml}". Links are not followed; .git and node_modules are left out.',
  inputSchema: objectSchema(
    {
      pattern: { type: 'string', minLength: 1, description: 'Glob pattern, relative to path.' },
      path: { type: 'string', description: 'Folder to look in. Default: the working directory.' },
    },
    ['pattern'],
  ),
  useKind: 'readonly',
  replay: 'safe',
  async run(input, { workspace, directory, signal }) {
    const isWanted = parseGlob(input.text('pattern'));
    const given = input.optionalText('path') ?? '.';
    await using place = await locate(workspace, given, { directory });
    if (place.kind !== 'folder') throw new ToolRefusal(`There is no folder at ${quotePath(given)}.`);
    const walk = walkFiles(place.folder, signal);
    const start = place.path === '' ? 0 : place.path.length + 1;
    const lines = createAnswerLines(maxFound);
    let isFull = false;
    for await (const { path } of walk.files()) {
      isFull = isWanted(path.slice(start)) && !lines.add(printablePath(pathFrom(directory, path)));
      if (isFull) break;
    }
    const notes = [
      ...(isFull ? [`More than ${lines.count} files match. Narrow the pattern or the path.`] : []),
      ...(walk.isCut ? ['The folder is too large to be searched as a whole. Narrow the path.'] : []),
      ...(lines.count === 0 ? ['No file matches.'] : []),
    ];
    return { content: lines.text(notes) };
  },
});
