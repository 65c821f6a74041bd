// Runtimes name their tools and arguments as they like: what a script wishes for is found in what the request offers (H-801).

import { isAbsolute, join } from 'node:path';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { Conversation, OfferedTool } from './conversation.ts';

export type Wish =
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  | { readonly kind: 'read'; readonly path: string }
  /** `text`: its one argument; absent: a greeting. */
  | { readonly kind: 'mcp'; readonly name: string; readonly text?: string }
  | { readonly kind: 'ask' }
  /** Called whether it is offered or not. */
  | { readonly kind: 'named'; readonly name: string; readonly input: JsonObject };

export interface ChosenTool {
  readonly tool: OfferedTool;
  /** JSON text, of a custom tool free text. */
  readonly input: string;
}

const shells = /^(Bash|bash|exec_command|shell_command|shell|local_shell|run_shell_command)$/;
const writers = /^(Write|write|write_file)$/;
const readers = /^(Read|read|read_file)$/;
const askers = /^(AskUserQuestion|request_user_input|question|ask_user|ask_user_questions)$/;

/** Null: nothing that fits is offered. */
export function chooseTool(wish: Wish, conversation: Conversation): ChosenTool | null {
  const { tools } = conversation;
  const offered = (names: RegExp) => tools.find(({ kind, name }) => kind === 'function' && names.test(name));
  const call = (tool: OfferedTool | undefined, input: (tool: OfferedTool) => JsonObject) =>
    tool === undefined ? null : { tool, input: JSON.stringify(input(tool)) };
  const shell = (command: string) => call(offered(shells), (tool) => shellInput(tool, command));
  switch (wish.kind) {
    case 'shell':
      return shell(wish.command);
    case 'write': {
      const { path, content } = wish;
      const patch = tools.find(({ kind, name }) => kind === 'custom' && name === 'apply_patch');
      if (patch !== undefined) return { tool: patch, input: patchAdding(path, content) };
      return (
        call(offered(writers), (tool) => ({ ...pathInput(tool, path, conversation), content })) ??
        shell(`printf %s '${content}' > ${path}`)
      );
    }
    case 'read':
      return call(offered(readers), (tool) => pathInput(tool, wish.path, conversation)) ?? shell(`cat ${wish.path}`);
    case 'mcp':
      // Claude Code's own tools for background tasks hold the word as well.
      return call(
        tools.find(({ name }) => name.includes(wish.name) && !name.startsWith('Task')),
        () => ({ text: wish.text ?? 'hi' }),
      );
    case 'ask':
      return call(offered(askers), (tool) => ({ questions: [questionFor(tool.name)] }));
    case 'named':
      return { tool: { kind: 'function', name: wish.name, properties: {} }, input: JSON.stringify(wish.input) };
  }
}

function shellInput({ properties }: OfferedTool, command: string): JsonObject {
  if ('cmd' in properties) return { cmd: command };
  const { command: schema } = properties as JsonObject;
  if (isJsonObject(schema) && schema['type'] === 'array') return { command: ['bash', '-lc', command] };
  return { command, ...('description' in properties ? { description: 'Run it' } : {}) };
}

/** Fields that end in `path` want it absolute; a bare `path` is taken below the working directory. */
function pathInput({ properties }: OfferedTool, path: string, conversation: Conversation): JsonObject {
  const field = ['file_path', 'filePath'].find((name) => name in properties);
  if (field === undefined) return { path };
  return { [field]: isAbsolute(path) ? path : join(workingDirectory(conversation), path) };
}

/** Runtimes tell the model where they work, each in words of its own. */
function workingDirectory({ system, turns }: Conversation): string {
  const told = [system, ...turns.map(({ text }) => text)].join('\n');
  return /directory[^\n]*?[:>]\s*`?(\/[^\s<`]*[^\s<`.,;])/i.exec(told)?.[1] ?? '.';
}

const patchAdding = (path: string, content: string): string =>
  [
    '*** Begin Patch',
    `*** Add File: ${path}`,
    ...content
      .trimEnd()
      .split('\n')
      .map((line) => `+${line}`),
    '*** End Patch',
  ].join('\n');

function questionFor(tool: string): JsonValue {
  const question = 'Red or blue?';
  const labels = ['Red', 'Blue'];
  if (tool === 'ask_user_questions') return { id: 'colour', question, options: labels };
  const form = { question, header: 'Colour', options: labels.map((label) => ({ label, description: label })) };
  if (tool === 'AskUserQuestion') return { ...form, multiSelect: false };
  if (tool === 'request_user_input') return { id: 'colour', ...form };
  return tool === 'ask_user' ? { ...form, type: 'choice' } : form;
}
