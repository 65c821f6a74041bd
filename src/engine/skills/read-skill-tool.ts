import { createAnswerLines, printablePath } from '../tools/answer-lines.ts';
import { fileTool, objectSchema } from '../tools/file-tool.ts';
import { ToolRefusal } from '../tools/tool-refusal.ts';
import { walkFiles } from '../tools/walk-files.ts';
import { locate } from '../tools/workspace-path.ts';
import type { Tool } from '../tool.ts';
import { readTextOf, skillFile, splitSkill, type Skill } from './read-skill-file.ts';

const maxFilesNamed = 200;

/** Instructions of a skill, and its other files, when the model asks for them; nothing outside its folder (E-904). */
export function createReadSkill(skills: readonly Skill[]): Tool {
  const names = skills.map(({ name }) => name);
  return fileTool({
    name: 'read_skill',
    description: 'Reads the instructions of a skill, or with file another text file of its folder.',
    inputSchema: objectSchema(
      {
        name: { type: 'string', enum: names, description: 'Name of the skill.' },
        file: { type: 'string', description: 'Path in the folder of the skill. Default: its instructions.' },
      },
      ['name'],
    ),
    useKind: 'readonly',
    replay: 'safe',
    async run(input, { signal }) {
      const name = input.text('name');
      const file = input.optionalText('file');
      const skill = skills.find((candidate) => candidate.name === name);
      if (skill === undefined) throw new ToolRefusal(`There is no such skill. The skills are: ${names.join(', ')}.`);
      if (file !== undefined) return { content: await readTextOf(skill.folder, file) };
      const { body } = splitSkill(await readTextOf(skill.folder, skillFile));
      const others = await nameFiles(skill.folder, signal);
      const where = skill.isShown === true ? `, for commands in ${printablePath(skill.folder)}` : '';
      return { content: others === '' ? body : `${body.trimEnd()}\n\n[Other files of this skill${where}:]\n${others}` };
    },
  });
}

async function nameFiles(folder: string, signal: AbortSignal): Promise<string> {
  await using place = await locate(folder, '.');
  const lines = createAnswerLines(maxFilesNamed);
  for await (const { path } of walkFiles(place.folder, signal).files()) {
    if (path !== skillFile && !lines.add(printablePath(path))) return lines.text(['There are more.']);
  }
  return lines.text([]);
}
