// The transcript as the request a provider takes. Built on a copy and made valid for every provider (E-444): no assistant
// turn without content, no two neighbours of one role, no result without its call, a stub for a call without a result.

import { attachedFileText } from './attached-file.ts';
import type { AssistantPart, Message, ToolAnswer } from '../core/transcript.ts';
import { isJsonObject, parsedOrText, type JsonObject } from '../core/json.ts';
import type { RunState } from '../core/run-state.ts';
import type { UserPart } from '../core/run-event.ts';
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';

type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type UserMessage = Extract<LanguageModelV4Message, { role: 'user' }>;

export function buildPrompt(state: RunState, history: readonly Message[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const system = [state.config?.systemPrompt, state.config?.instructions].filter(Boolean).join('\n\n');
  if (system !== '') prompt.push({ role: 'system', content: system });
  const messages = [...history, ...state.transcript.messages];
  for (const [index, message] of messages.entries()) addMessage(prompt, message, messages[index + 1]);
  return prompt;
}

function addMessage(prompt: LanguageModelV4Prompt, message: Message, next: Message | undefined): void {
  switch (message.role) {
    case 'user':
      return addUser(prompt, message.content);
    case 'assistant': {
      const content = message.parts.flatMap(assistantContent);
      if (content.length === 0) return;
      addAssistant(prompt, content);
      const answers = next?.role === 'tool' ? next.answers : [];
      const results = message.parts.flatMap((part) => (part.kind === 'tool-call' ? [resultFor(part, answers)] : []));
      if (results.length > 0) prompt.push({ role: 'tool', content: results });
      return;
    }
    case 'tool':
      return; // Placed with the calls they answer.
  }
}

function addUser(prompt: LanguageModelV4Prompt, parts: readonly UserPart[]): void {
  const content: UserMessage['content'] = parts.map((part) => ({
    type: 'text',
    text: part.type === 'text' ? part.text : attachedFileText(part.filename, part.text),
  }));
  const last = prompt.at(-1);
  if (last?.role === 'user') last.content.push(...content);
  else prompt.push({ role: 'user', content });
}

function addAssistant(prompt: LanguageModelV4Prompt, content: AssistantMessage['content']): void {
  const last = prompt.at(-1);
  if (last?.role === 'assistant') last.content.push(...content);
  else prompt.push({ role: 'assistant', content });
}

function assistantContent(part: AssistantPart): AssistantMessage['content'] {
  const options = providerOptions(part._provider);
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...options }];
    case 'thinking':
      // Reasoning without the provider's own signature cannot be sent back.
      return part._provider === undefined ? [] : [{ type: 'reasoning', text: part.text, ...options }];
    case 'tool-call': {
      const { id, name, arguments: text } = part.call;
      const input = parsedOrText(text);
      return [
        {
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: isJsonObject(input) ? input : {},
          ...options,
        },
      ];
    }
  }
}

function resultFor(
  { call }: Extract<AssistantPart, { kind: 'tool-call' }>,
  answers: readonly ToolAnswer[],
): LanguageModelV4ToolResultPart {
  const answer = answers.find(({ toolCallId }) => toolCallId === call.id);
  const value = answer?.content ?? 'This call has no recorded result.';
  const failed = answer?.isError ?? true;
  const output = { type: failed ? ('error-text' as const) : ('text' as const), value };
  return { type: 'tool-result', toolCallId: call.id, toolName: call.name, output };
}

/** What a provider gave for itself, given back as it was. */
function providerOptions(provider: JsonObject | undefined): { providerOptions?: Record<string, JsonObject> } {
  if (provider === undefined) return {};
  const entries = Object.entries(provider).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
  return { providerOptions: Object.fromEntries(entries) };
}
