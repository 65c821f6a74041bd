import { isPlacedFileText, readAttachedFile } from '../attached-file.ts';
import { definitionIn, nearestSentence, sentencesOf } from './demo-sentences.ts';
import { head } from '../../core/text.ts';
import { isTaskListText } from '../task-list-text.ts';
import { readDemoTask, type DemoTask } from './demo-task.ts';
import type { JsonObject } from '../../core/json.ts';
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import type { ModelRequest } from '../model.ts';

export type DemoAnswer =
  | { readonly kind: 'text'; readonly text: string; readonly pace: 'words' | 'numbers' }
  | { readonly kind: 'call'; readonly name: string; readonly input: JsonObject };

/** What the script follows, and the tool that each form needs; null = none. */
const forms: readonly (readonly [form: string, tool: string | null])[] = [
  ['Reply with exactly: TEXT', null],
  ['Summarise FILE in 3 bullets', 'read_file'],
  ['Create a file named NAME containing exactly: TEXT', 'write_file'],
  ['Count slowly from 1 to 20, one number per line', null],
  ['Run this shell command: COMMAND', 'bash'],
];

function help(tools: Situation['tools']): string {
  const offered = forms.filter(([, tool]) => tool === null || tools.some(({ name }) => name === tool));
  const lines = [
    ...offered.map(([form]) => form),
    ...(tools.length === 0 ? [] : ['Call the tool NAME with {"key": "value"}']),
    'Ask about an attached text file (`input_file`)',
  ];
  return `I am the demo model: a script, not an AI. I need no key and no network, and I follow these forms:

${lines.map((line) => `- ${line}`).join('\n')}

For a real model set the key of a provider; \`reins doctor\` tells which.`;
}

const mostNumbers = 10_000;
const say = (text: string): DemoAnswer => ({ kind: 'text', text, pace: 'words' });

interface Situation {
  /** The last user message: its own text, newest part last, and its files. */
  readonly said: readonly string[];
  readonly files: readonly { readonly filename: string; readonly text: string }[];
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** What the newest tool call since then has returned, or null. */
  readonly result: LanguageModelV4ToolResultPart | null;
}

/** What the script says or calls next. Pure, and total over all prompts. */
export function answerDemo(request: Pick<ModelRequest, 'prompt' | 'tools'>): DemoAnswer {
  const situation = readSituation(request);
  // Two user messages in a row reach a model as one: the newest part alone may be the whole question.
  const task = readDemoTask(situation.said.at(-1) ?? '') ?? readDemoTask(situation.said.join('\n'));
  if (task !== null) return situation.result === null ? begin(task, situation) : conclude(task, situation.result);
  return situation.files.length > 0 ? askFiles(situation) : say(help(situation.tools));
}

function readSituation({ prompt, tools = [] }: Pick<ModelRequest, 'prompt' | 'tools'>): Situation {
  // A task list at the tail is nobody's words.
  const last = prompt.findLastIndex((message) => userTexts(message).length > 0);
  const texts = userTexts(prompt[last]);
  const files = texts.map(readAttachedFile).filter((file) => file !== null);
  const results = prompt.slice(last + 1).flatMap((message) => (message.role === 'tool' ? message.content : []));
  return {
    said: texts.filter((text) => readAttachedFile(text) === null && !isPlacedFileText(text)),
    files,
    tools: tools.filter((tool) => tool.type === 'function'),
    result: results.findLast((part) => part.type === 'tool-result') ?? null,
  };
}

function userTexts(message: LanguageModelV4Message | undefined): readonly string[] {
  if (message?.role !== 'user') return [];
  return message.content.flatMap((part) => (part.type === 'text' && !isTaskListText(part.text) ? [part.text] : []));
}

function begin(task: DemoTask, situation: Situation): DemoAnswer {
  switch (task.form) {
    case 'reply':
      return say(task.text);
    case 'count':
      return countNumbers(task.from, task.to);
    case 'summarise': {
      const file = attachedAs(task.file, situation.files);
      return file === undefined
        ? useTool(situation, 'read_file', { path: task.file })
        : bullets(file.text, task.bullets);
    }
    case 'write':
      return useTool(situation, 'write_file', { path: task.file, content: task.content });
    case 'shell':
      return useTool(situation, 'bash', { command: task.command });
    case 'call':
      return useTool(situation, task.tool, task.input);
  }
}

/** The attached file of that name; "this file" and "the attached file" are the first one. */
const attachedAs = (name: string, files: Situation['files']) =>
  files.find(({ filename }) => filename === name) ?? (/^(?:this|the|it)\b/i.test(name) ? files[0] : undefined);

function conclude(task: DemoTask, { toolName, output }: LanguageModelV4ToolResultPart): DemoAnswer {
  const { failed, text } = readOutput(output);
  if (failed) return say(`The tool ${toolName} failed: ${firstLine(text)}`);
  if (task.form === 'summarise') return bullets(text, task.bullets);
  if (task.form === 'write') return say(`The file ${task.file} is written.`);
  return say(text.trim() === '' ? `The tool ${toolName} returned nothing.` : text.trimEnd());
}

function readOutput(output: LanguageModelV4ToolResultPart['output']): {
  readonly failed: boolean;
  readonly text: string;
} {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { failed: output.type === 'error-text', text: output.value };
    case 'json':
    case 'error-json':
      return { failed: output.type === 'error-json', text: JSON.stringify(output.value) };
    case 'execution-denied':
      return { failed: true, text: output.reason ?? 'it was not allowed.' };
    case 'content':
      return { failed: false, text: output.value.map((part) => (part.type === 'text' ? part.text : '')).join('\n') };
  }
}

function firstLine(text: string): string {
  const line = head(text.trim().split('\n', 1)[0] ?? '', 300);
  return line === '' ? 'it gave no reason.' : /[.!?]$/.test(line) ? line : `${line}.`;
}

function countNumbers(from: number, to: number): DemoAnswer {
  const length = Math.abs(to - from) + 1;
  if (length > mostNumbers) return say(`I count at most ${mostNumbers} numbers in one answer.`);
  const numbers = Array.from({ length }, (_, at) => (to < from ? from - at : from + at));
  return { kind: 'text', text: numbers.join('\n'), pace: 'numbers' };
}

function bullets(text: string, count: number): DemoAnswer {
  const sentences = sentencesOf(text).slice(0, count);
  return say(sentences.length === 0 ? 'The file is empty.' : sentences.map((sentence) => `- ${sentence}`).join('\n'));
}

function askFiles({ files, said }: Situation): DemoAnswer {
  const question = said.join('\n');
  const text = files.map((file) => file.text).join('\n\n');
  const wanted = /^\s*reply\s+with\s+only\s+the\s+([^\n]{1,300})/i.exec(question)?.[1];
  const answer = (wanted === undefined ? null : definitionIn(text, wanted)) ?? nearestSentence(text, question);
  return say(answer === null || answer === '' ? 'The attached file is empty.' : answer);
}

function useTool({ tools }: Situation, name: string, input: JsonObject | string): DemoAnswer {
  const named = tools.filter((tool) => tool.name.endsWith(`_${name}`));
  const tool = tools.find((offered) => offered.name === name) ?? (named.length === 1 ? named[0] : undefined);
  if (tool === undefined) return say(`The tool ${head(name, 200)} is not offered here; ${offer(tools)}`);
  if (typeof input !== 'string') return { kind: 'call', name: tool.name, input };
  const argument = onlyStringArgument(tool);
  if (argument === null)
    return say(`The tool ${tool.name} does not take exactly one text; give its arguments as JSON.`);
  return { kind: 'call', name: tool.name, input: { [argument]: input } };
}

const offer = (tools: Situation['tools']): string =>
  tools.length === 0
    ? 'no tools are.'
    : `offered are ${tools
        .slice(0, 50)
        .map(({ name }) => name)
        .join(', ')}.`;

function onlyStringArgument({ inputSchema }: LanguageModelV4FunctionTool): string | null {
  const { properties = {}, required = [] } = inputSchema;
  const texts = required.filter((name: string) => {
    const property = properties[name];
    return typeof property === 'object' && property.type === 'string';
  });
  return texts.length === 1 ? (texts[0] ?? null) : null;
}
