import { createAnswerLines, printablePath } from './answer-lines.ts';
import { fileTool, objectSchema } from './file-tool.ts';
import { parseGlob } from './glob-pattern.ts';
import { createLineMatcher } from './line-matcher.ts';
import { isBinary, readContent } from './read-text.ts';
import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { walkFiles, type FileWalk, type FoundFile } from './walk-files.ts';
import { locate, pathFrom, type Place } from './workspace-path.ts';

const maxMatches = 500;
const maxPatternUnits = 1000;
const maxSearchedFileBytes = 2 * 1024 * 1024;

export const grep = fileTool({
  name: 'grep',
  description:
    'Searches the lines of text files in the workspace with a JavaScript regular expression ("(?i)" in front ignores case); answers path:line:text. Left out: binary files, files over 2 MiB, links, .git and node_modules.',
  inputSchema: objectSchema(
    {
      pattern: { type: 'string', minLength: 1, description: 'Regular expression, tested line by line.' },
      path: { type: 'string', description: 'File or folder to search. Default: the working directory.' },
      glob: { type: 'string', description: 'Only files like this, such as "*.ts" or "src/**/*.md".' },
    },
    ['pattern'],
  ),
  useKind: 'readonly',
  replay: 'safe',
  timeoutSeconds: 20, // the bound of a pattern that never ends
  async run(input, { workspace, directory, signal }) {
    const expression = parseExpression(input.text('pattern'));
    const isWanted = parseFilter(input.optionalText('glob'));
    const given = input.optionalText('path') ?? '.';
    await using place = await locate(workspace, given, { directory });
    await using matcher = createLineMatcher(expression, signal);
    const walk = filesOf(place, given, signal);
    const start = place.kind === 'file' || place.path === '' ? 0 : place.path.length + 1;
    const lines = createAnswerLines(maxMatches);
    let isFull = false;
    for await (const found of walk.files()) {
      if (isFull) break;
      if (!isWanted(found.path.slice(start))) continue;
      const text = await readSearchable(found);
      const matches = text === null ? [] : await matcher.match({ text, most: maxMatches + 1 });
      const path = printablePath(pathFrom(directory, found.path));
      isFull = !matches.every((match) => lines.add(`${path}:${match.line}:${match.text}`));
    }
    const notes = [
      ...(isFull ? [`More than ${lines.count} lines match. Narrow the pattern, the path or the glob.`] : []),
      ...(walk.isCut ? ['The folder is too large to be searched as a whole. Narrow the path.'] : []),
      ...(lines.count === 0 ? ['No line matches.'] : []),
    ];
    return { content: lines.text(notes) };
  },
});

function parseExpression(pattern: string): RegExp {
  if (pattern.length > maxPatternUnits)
    throw new ToolRefusal(`The pattern is longer than ${maxPatternUnits} characters.`);
  const [, ignoreCase = '', source = ''] = /^(\(\?i\))?(.*)$/s.exec(pattern) ?? [];
  try {
    return new RegExp(source, ignoreCase === '' ? '' : 'i');
  } catch {
    throw new ToolRefusal(`${quotePath(pattern)} is not a valid regular expression.`);
  }
}

/** A glob without a slash is tested on the name alone, as search programs do. */
function parseFilter(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  return parseGlob(glob.includes('/') ? glob : `**/${glob}`);
}

function filesOf(place: Place, given: string, signal: AbortSignal): FileWalk {
  if (place.kind === 'folder') return walkFiles(place.folder, signal);
  if (place.kind !== 'file') throw new ToolRefusal(`There is no file or folder at ${quotePath(given)}.`);
  const { folder, name, path } = place;
  return {
    async *files() {
      yield { folder, name, path };
    },
    isCut: false,
  };
}

/** Null for what is not searched: large, binary, not readable, or gone by now. */
async function readSearchable({ folder, name }: FoundFile): Promise<string | null> {
  const content = await readContent(folder, name, maxSearchedFileBytes).catch(() => null);
  return content === null || isBinary(content.bytes) ? null : new TextDecoder().decode(content.bytes);
}
