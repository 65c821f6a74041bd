// What the model reads as the request that a provider takes: on a copy, and valid for every provider whatever is given.
//
// Q1. Each call has exactly one result, in the message right after it: of several the newest, for none a stub (E-444).
// Q2. No turn without content, no two neighbours of one role (E-444).
// Q3. The request of a step is the front of the next step's, so that what a provider cached of it holds. Only the task list,
//     at the tail, is rewritten (E-443); a reply that is handed back for more stays the last word (E-406).

import { attachedFileText } from './attached-file.ts';
import { contextView } from './context-view.ts';
import { isJsonObject, parsedOrText, type JsonObject } from '../core/json.ts';
import { loadMedia, mediaPart, type MediaShelf } from './media-part.ts';
import { markPrompt, takesCacheMarks } from './prompt-cache.ts';
import { taskListText } from './task-list-text.ts';
import type { AssistantPart, Message, ToolAnswer } from '../core/transcript.ts';
import type { ContentStore } from './content-store.ts';
import type { OpenedModel } from './model.ts';
import type { PromptCachePolicy } from './policies.ts';
import type { RunState } from '../core/run-state.ts';
import type { ToolCall, UserPart } from '../core/run-event.ts';
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';

export interface PromptOptions {
  readonly history: readonly Message[];
  readonly content: ContentStore;
  /** Appended to the system prompt: skills in brief. */
  readonly systemAddition?: string;
  readonly opened: OpenedModel;
  /** null = no marks. */
  readonly cache: PromptCachePolicy | null;
  /** Provider-bound blocks are left out: the request goes to another provider than wrote them (E-356). */
  readonly dropBound?: boolean;
  /** Told of each thing that had to be mended (E-444). */
  onRepair?(what: Repair): void;
}

/** What concerns calls never happens in a run of our own (E-565); the others do, as where somebody speaks twice. */
export type Repair =
  | 'call-without-result'
  | 'result-without-call'
  | 'second-result'
  | 'turn-without-content'
  | 'neighbours-of-one-role';

export async function buildPrompt(state: RunState, options: PromptOptions): Promise<LanguageModelV4Prompt> {
  const { config, todos } = state;
  const { content, opened, cache, systemAddition } = options;
  const view = contextView(state, options.history);
  const shelf = await loadMedia(view, { content, accepts: opened.accepts ?? [] });
  const turns = writeTurns(view, { ...options, shelf });
  const system = [config?.systemPrompt, config?.instructions, systemAddition].filter(Boolean).join('\n\n');
  const whole: LanguageModelV4Prompt = system === '' ? turns : [{ role: 'system', content: system }, ...turns];
  const prompt = cache !== null && takesCacheMarks(opened.model) ? markPrompt(whole, cache) : whole;
  const listed = config?.planning === true && todos !== null && todos.length > 0;
  if (listed && prompt.at(-1)?.role !== 'assistant')
    addTurn(prompt, { role: 'user', content: [{ type: 'text', text: taskListText(todos) }] });
  return prompt;
}

interface TurnOptions extends PromptOptions {
  readonly shelf: MediaShelf;
}

function writeTurns(view: readonly Message[], options: TurnOptions): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const repair = (what: Repair) => options.onRepair?.(what);
  for (const turn of pairResults(view, repair)) {
    switch (turn.role) {
      case 'user':
        addTurn(prompt, { role: 'user', content: turn.content.flatMap((part) => userContent(part, options)) }, repair);
        break;
      case 'assistant': {
        const content = turn.parts.flatMap((part) => replyContent(part, options));
        addTurn(prompt, { role: 'assistant', content }, repair);
        const results = turn.results.map(({ call, answer }) => toolResult(call, answer, options));
        if (results.length > 0) prompt.push({ role: 'tool', content: results });
      }
    }
  }
  return prompt;
}

type Turn =
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | {
      readonly role: 'assistant';
      readonly parts: readonly AssistantPart[];
      readonly results: readonly { readonly call: ToolCall; readonly answer: ToolAnswer }[];
    };

/** The messages with each reply's results beside it, whatever stood between them (Q1). */
function pairResults(view: readonly Message[], repair: (what: Repair) => void): readonly Turn[] {
  const turns: Turn[] = [];
  let answers: ToolAnswer[] = [];
  for (const message of view.toReversed()) {
    switch (message.role) {
      case 'user':
        turns.push({ role: 'user', content: message.content });
        break;
      case 'tool':
        answers.unshift(...message.answers);
        break;
      case 'assistant':
        turns.push({ role: 'assistant', parts: message.parts, results: resultsOf(message.parts, answers, repair) });
        answers = [];
    }
  }
  for (const _ of answers) repair('result-without-call');
  return turns.toReversed();
}

function resultsOf(
  parts: readonly AssistantPart[],
  answers: readonly ToolAnswer[],
  repair: (what: Repair) => void,
): Extract<Turn, { role: 'assistant' }>['results'] {
  const results = parts.flatMap((part) => {
    if (part.kind !== 'tool-call') return [];
    const { call } = part;
    const given = answers.filter(({ toolCallId }) => toolCallId === call.id);
    for (const _ of given.slice(1)) repair('second-result');
    const answer = given.at(-1);
    if (answer !== undefined) return [{ call, answer }];
    repair('call-without-result');
    const content = 'This call has no recorded result.';
    return [{ call, answer: { toolCallId: call.id, name: call.name, content, isError: true } }];
  });
  for (const { toolCallId } of answers)
    if (results.every(({ call }) => call.id !== toolCallId)) repair('result-without-call');
  return results;
}

type UserMessage = Extract<LanguageModelV4Message, { role: 'user' }>;
type Reply = Extract<LanguageModelV4Message, { role: 'assistant' }>;

/** Q2. The arrays of a prompt are its own. */
function addTurn(
  prompt: LanguageModelV4Prompt,
  turn: UserMessage | Reply,
  repair: (what: Repair) => void = () => {},
): void {
  const last = prompt.at(-1);
  if (turn.content.length === 0) return repair('turn-without-content');
  if (last?.role === turn.role) repair('neighbours-of-one-role');
  if (last?.role === 'user' && turn.role === 'user') last.content.push(...turn.content);
  else if (last?.role === 'assistant' && turn.role === 'assistant') last.content.push(...turn.content);
  else prompt.push(turn);
}

/** Providers refuse a text without a letter in it. */
const isBlank = (text: string): boolean => text.trim() === '';

function userContent(part: UserPart, { shelf }: TurnOptions): UserMessage['content'] {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
    case 'file':
      return [{ type: 'text', text: attachedFileText(part.filename, part.text) }];
    case 'media':
      return [mediaPart(part, shelf)];
  }
}

function replyContent(part: AssistantPart, { dropBound = false }: TurnOptions): Reply['content'] {
  const bound = dropBound ? undefined : part._provider;
  const options = bound === undefined ? {} : { providerOptions: objectsOf(bound) };
  switch (part.kind) {
    case 'text':
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text, ...options }];
    case 'thinking':
      // Reasoning without the provider's own signature cannot be sent back.
      return bound === undefined ? [] : [{ type: 'reasoning', text: part.text, ...options }];
    case 'tool-call': {
      const { id, name, arguments: text } = part.call;
      const input = parsedOrText(text);
      const toolName = validName(name);
      return [{ type: 'tool-call', toolCallId: id, toolName, input: isJsonObject(input) ? input : {}, ...options }];
    }
  }
}

/** A name that the model made up can break the rule that providers have for names, and so every later request. */
function validName(name: string): string {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'unnamed';
}

/** What a provider gave for itself, given back as it was. */
function objectsOf(provider: JsonObject): Record<string, JsonObject> {
  const entries = Object.entries(provider).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
  return Object.fromEntries(entries);
}

function toolResult(
  { id, name }: ToolCall,
  { content, isError, media = [] }: ToolAnswer,
  { shelf, opened }: TurnOptions,
): LanguageModelV4ToolResultPart {
  const place = { type: 'tool-result', toolCallId: id, toolName: validName(name) } as const;
  // The package for compatible servers would write the bytes as JSON text; an error is text by its type.
  const textOnly = isError || opened.model.provider.startsWith('openai-compatible');
  const parts = media.map((each) => mediaPart(each, textOnly ? new Map() : shelf));
  const shown = parts.some(({ type }) => type === 'file');
  const text = { type: 'text', text: content } as const;
  if (shown) return { ...place, output: { type: 'content', value: isBlank(content) ? parts : [text, ...parts] } };
  const value = [content, ...parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))].join('\n');
  return { ...place, output: { type: isError ? 'error-text' : 'text', value } };
}
