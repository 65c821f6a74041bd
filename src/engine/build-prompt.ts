// What the model reads as the request that a provider takes: on a copy, and valid for every provider whatever is given.
//
// Q1. Each call has exactly one result, in the message right after it: of several the newest, for none a stub (E-444).
// Q2. No turn without content, no two neighbours of one role (E-444).
// Q3. The request of a step is the front of the next step's, so that what a provider cached of it holds. Only the task list,
//     at the tail, is rewritten (E-443); a reply that is handed back for more stays the last word (E-406).
// Q4. A step costs what is new in it: the turns before the newest reply are written once, and all requests share them. The
//     list of a request is its own; nothing in it is ever written to.

import { attachedFileText, placedFileText } from './attached-file.ts';
import { readContext, type ContextView } from './context-view.ts';
import { isJsonObject, parsedOrText, type JsonObject } from '../core/json.ts';
import { loadMedia, mediaPart, type MediaShelf } from './media-part.ts';
import { markPrompt, takesCacheMarks } from './prompt-cache.ts';
import { taskListText } from './task-list-text.ts';
import type { AssistantPart, Message, ToolAnswer } from '../core/transcript.ts';
import type { ContentStore } from './content-store.ts';
import type { OpenedModel } from './model.ts';
import type { PromptCachePolicy } from './policies.ts';
import type { RunState } from '../core/run-state.ts';
import type { UserPart } from '../core/run-event.ts';
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart as ToolResult,
} from '@ai-sdk/provider';

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
  const { opened, cache, systemAddition } = options;
  const system = [config?.systemPrompt, config?.instructions, systemAddition].filter(Boolean).join('\n\n');
  const whole = await writeTurns(readContext(state, options.history), system, options);
  const prompt = cache !== null && takesCacheMarks(opened.model) ? markPrompt(whole, cache) : whole;
  const listed = config?.planning === true && todos !== null && todos.length > 0;
  if (listed && prompt.at(-1)?.role !== 'assistant')
    addTurn(prompt, { role: 'user', content: [{ type: 'text', text: taskListText(todos) }] });
  return prompt;
}

type TurnOptions = Pick<PromptOptions, 'opened' | 'dropBound' | 'onRepair'> & { readonly shelf: MediaShelf };

/** What no later message changes any more (Q4). */
interface Front {
  /** What it depends on beside the messages. */
  readonly writtenFor: string;
  /** Files of messages that were read, be they written or not. */
  shelf: MediaShelf;
  readonly turns: LanguageModelV4Prompt;
  /** Messages that were written. */
  length: number;
}

const fronts = new WeakMap<ContextView['lineage'], Front>();

type UserMessage = Extract<LanguageModelV4Message, { role: 'user' }>;
type Reply = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type ReplyPart = Reply['content'][number];

async function writeTurns(
  { messages, lineage }: ContextView,
  system: string,
  options: PromptOptions,
): Promise<LanguageModelV4Prompt> {
  const { content, opened } = options;
  const { accepts = [] } = opened;
  const front = frontOf(lineage, [opened.model.provider, ...accepts, options.dropBound ?? false, system].join());
  const shelf = await loadMedia(messages.slice(front.length), { content, accepts, shelf: front.shelf });
  const added = messages.slice(front.length);
  // The newest reply may still get results, and with them another place for what was said behind it.
  const newest = Math.max(
    0,
    added.findLastIndex(({ role }) => role === 'assistant'),
  );
  if (front.turns.length === 0 && system !== '') front.turns.push({ role: 'system', content: system });
  addTurns(front.turns, added.slice(0, newest), { ...options, shelf });
  front.shelf = shelf;
  front.length += newest;
  const tail = front.turns.slice(-1);
  addTurns(tail, added.slice(newest), { ...options, shelf });
  return front.turns.toSpliced(-1, 1, ...tail);
}

function frontOf(lineage: ContextView['lineage'], writtenFor: string): Front {
  const known = fronts.get(lineage);
  if (known?.writtenFor === writtenFor) return known;
  const front = { writtenFor, shelf: new Map(), turns: [], length: 0 };
  fronts.set(lineage, front);
  return front;
}

/** `messages` begins with a reply or is the beginning of all, and what it ends with is whole. */
function addTurns(prompt: LanguageModelV4Prompt, messages: readonly Message[], options: TurnOptions): void {
  const repair = (what: Repair) => options.onRepair?.(what);
  let replies = 0;
  for (const [index, message] of messages.entries()) {
    switch (message.role) {
      case 'user':
        addTurn(
          prompt,
          { role: 'user', content: message.content.flatMap((part) => userContent(part, options)) },
          repair,
        );
        break;
      case 'assistant': {
        replies += 1;
        const content = message.parts.flatMap((part) => replyContent(part, options));
        addTurn(prompt, { role: 'assistant', content }, repair);
        const results = pairResults(content, resultsBehind(messages, index, options), repair);
        if (results.length > 0) prompt.push({ role: 'tool', content: results });
        break;
      }
      case 'tool':
        // Placed with the calls they answer; before any reply there are none.
        if (replies === 0) for (const _ of message.answers) repair('result-without-call');
    }
  }
}

/** Q2, Q4: a turn that gets longer is another one. */
function addTurn(
  prompt: LanguageModelV4Prompt,
  turn: UserMessage | Reply,
  repair: (what: Repair) => void = () => {},
): void {
  const last = prompt.at(-1);
  if (turn.content.length === 0) return repair('turn-without-content');
  if (last?.role === turn.role) repair('neighbours-of-one-role');
  if (last?.role === 'user' && turn.role === 'user')
    prompt[prompt.length - 1] = { ...turn, content: [...last.content, ...turn.content] };
  else if (last?.role === 'assistant' && turn.role === 'assistant')
    prompt[prompt.length - 1] = { ...turn, content: [...last.content, ...turn.content] };
  else prompt.push(turn);
}

/** Results between a reply and the next one, whatever else stands there. */
function resultsBehind(messages: readonly Message[], reply: number, options: TurnOptions): ToolResult[] {
  const results: ToolResult[] = [];
  for (let index = reply + 1; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined || message.role === 'assistant') break;
    if (message.role === 'tool') results.push(...message.answers.map((answer) => toolResult(answer, options)));
  }
  return results;
}

/** Q1. One result for each call of a reply, in the order of the calls: as they are where they are right. */
function pairResults(
  content: readonly ReplyPart[],
  results: ToolResult[],
  repair: (what: Repair) => void,
): ToolResult[] {
  if (arePaired(content, results)) return results;
  const calls = content.filter((part) => part.type === 'tool-call');
  for (const { toolCallId } of results)
    if (calls.every((call) => call.toolCallId !== toolCallId)) repair('result-without-call');
  return calls.map(({ toolCallId, toolName }) => {
    const given = results.filter((result) => result.toolCallId === toolCallId);
    for (const _ of given.slice(1)) repair('second-result');
    const newest = given.at(-1);
    if (newest !== undefined) return newest.toolName === toolName ? newest : { ...newest, toolName };
    repair('call-without-result');
    const output = { type: 'error-text', value: 'This call has no recorded result.' } as const;
    return { type: 'tool-result', toolCallId, toolName, output };
  });
}

function arePaired(content: readonly ReplyPart[], results: readonly ToolResult[]): boolean {
  let count = 0;
  for (const part of content) {
    if (part.type !== 'tool-call') continue;
    const result = results[count++];
    if (result?.toolCallId !== part.toolCallId || result.toolName !== part.toolName) return false;
  }
  return count === results.length;
}

/** Providers refuse a text without a letter in it. */
const isBlank = (text: string): boolean => text.trim() === '';

function userContent(part: UserPart, { shelf }: TurnOptions): UserMessage['content'] {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
    case 'file':
      return [{ type: 'text', text: attachedFileText(part.filename, part.text, part.path) }];
    case 'media':
      return part.path === undefined ? [mediaPart(part, shelf)] : placedMedia({ ...part, path: part.path }, shelf);
  }
}

/** Where a file lies says enough to a model that cannot be shown it. */
function placedMedia(
  part: Extract<UserPart, { type: 'media' }> & { readonly path: string },
  shelf: MediaShelf,
): UserMessage['content'] {
  const place = { type: 'text', text: placedFileText(part) } as const;
  return shelf.get(part.ref) instanceof Uint8Array ? [mediaPart(part, shelf), place] : [place];
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
  { toolCallId, name, content, isError, media = [] }: ToolAnswer,
  { shelf, opened }: TurnOptions,
): ToolResult {
  const place = { type: 'tool-result', toolCallId, toolName: validName(name) } as const;
  // The package for compatible servers would write the bytes as JSON text; an error is text by its type.
  const textOnly = isError || opened.model.provider.startsWith('openai-compatible');
  const parts = media.map((each) => mediaPart(each, textOnly ? new Map() : shelf));
  const shown = parts.some(({ type }) => type === 'file');
  const text = { type: 'text', text: content } as const;
  if (shown) return { ...place, output: { type: 'content', value: isBlank(content) ? parts : [text, ...parts] } };
  const value = [content, ...parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))].join('\n');
  return { ...place, output: { type: isError ? 'error-text' : 'text', value } };
}
