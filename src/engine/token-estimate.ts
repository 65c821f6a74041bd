import type { AssistantPart, Message, ToolAnswer } from '../core/transcript.ts';
import type { UserPart } from '../core/run-event.ts';

const unitsPerToken = 4;
/** What a provider charges for an image or a page, roughly; the bytes say nothing of it. */
const tokensPerMedia = 1500;
/** Role, ids and names around a message or a call. */
const envelopeUnits = 16;

const known = new WeakMap<Message, number>();

/** Tokens of messages, roughly: no provider's tokenizer is asked. Each message is reckoned once. */
export function estimateTokens(messages: readonly Message[]): number {
  let tokens = 0;
  for (const message of messages) {
    let own = known.get(message);
    if (own === undefined) known.set(message, (own = tokensOfMessage(message)));
    tokens += own;
  }
  return tokens;
}

/** Tokens of plain text, roughly. */
export function tokensOfText(text: string): number {
  return Math.ceil(text.length / unitsPerToken);
}

/** Length of a text that has about so many tokens. */
export function unitsOfTokens(tokens: number): number {
  return Math.max(0, Math.floor(tokens)) * unitsPerToken;
}

function tokensOfMessage(message: Message): number {
  return Math.ceil((envelopeUnits + unitsOfMessage(message)) / unitsPerToken);
}

function unitsOfMessage(message: Message): number {
  switch (message.role) {
    case 'user':
      return sum(message.content.map(unitsOfUserPart));
    case 'assistant':
      return sum(message.parts.map(unitsOfAssistantPart));
    case 'tool':
      return sum(message.answers.map(unitsOfAnswer));
  }
}

function unitsOfUserPart(part: UserPart): number {
  switch (part.type) {
    case 'text':
      return part.text.length;
    case 'file':
      return envelopeUnits + part.filename.length + part.text.length;
    case 'media':
      return unitsOfTokens(tokensPerMedia);
  }
}

function unitsOfAssistantPart(part: AssistantPart): number {
  // What a provider gives for itself can be the longest of all: signatures, sealed reasoning.
  const sealed = part._provider === undefined ? 0 : JSON.stringify(part._provider).length;
  if (part.kind === 'tool-call') return sealed + envelopeUnits + part.call.name.length + part.call.arguments.length;
  return sealed + part.text.length;
}

function unitsOfAnswer({ content, media = [] }: ToolAnswer): number {
  return envelopeUnits + content.length + media.length * unitsOfTokens(tokensPerMedia);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
