// The conversation as the model will read it: a fold of committed events. Of live events it knows nothing, so a given-up
// attempt leaves no trace in it (E-212).
//
// T1. Every call of an assistant message has exactly one result in the tool message after it (E-565): results are
//     collected while the step is open and placed, in call order, when it finishes (E-533).
// T2. A user message accepted while a step is open stands after that step's results (E-660).

import type { JsonObject } from './json.ts';
import type { ReplyPart, RunEvent, ToolCall, UserPart } from './run-event.ts';

export type AssistantPart =
  | { readonly kind: 'text'; readonly text: string; readonly _provider?: JsonObject }
  | { readonly kind: 'thinking'; readonly text: string; readonly _provider?: JsonObject }
  | { readonly kind: 'tool-call'; readonly call: ToolCall; readonly _provider?: JsonObject };

export interface ToolAnswer {
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string;
  readonly isError: boolean;
}

export type Message =
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly answers: readonly ToolAnswer[] };

export interface Transcript {
  readonly messages: readonly Message[];
  /** Whole texts of the reply that is being accepted: they stand before its `turn-complete`. */
  readonly text: string;
  readonly thinking: string;
  /** Calls of the open step, and the answers so far. */
  readonly calls: readonly ToolCall[];
  readonly answers: readonly ToolAnswer[];
  /** User messages that wait for the open step to finish. */
  readonly held: readonly Message[];
  readonly stepOpen: boolean;
}

export const emptyTranscript: Transcript = {
  messages: [],
  text: '',
  thinking: '',
  calls: [],
  answers: [],
  held: [],
  stepOpen: false,
};

/** One event further; events that say nothing about the conversation give the same object back. */
export function extendTranscript(transcript: Transcript, event: RunEvent): Transcript {
  if (event.agentPath !== undefined && event.agentPath.length > 0) return transcript; // A sub-agent's (E-114).
  switch (event.type) {
    case 'run-started': {
      const input = event.data.input ?? [];
      const messages = input.map(({ content }): Message => ({ role: 'user', content }));
      return input.length === 0 ? transcript : { ...transcript, messages: [...transcript.messages, ...messages] };
    }
    case 'user-message':
      return addUserMessage(transcript, { role: 'user', content: event.data.content });
    case 'step-started':
      return { ...transcript, stepOpen: true, text: '', thinking: '', calls: [], answers: [] };
    case 'thinking-complete':
      return { ...transcript, thinking: event.data };
    case 'text-complete':
      return { ...transcript, text: event.data };
    case 'turn-complete': {
      if (event.data.empty) return transcript;
      const parts = event.data.parts.map((part) => assistantPart(transcript, event.data.calls, part));
      const reply: Message = { role: 'assistant', parts: parts.filter((part) => part !== null) };
      return { ...transcript, messages: [...transcript.messages, reply], calls: event.data.calls };
    }
    case 'tool-result':
      return { ...transcript, answers: [...transcript.answers, event.data] };
    case 'step-finished':
      return closeStep(transcript);
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-call-delta':
    case 'waiting':
    case 'attempt-reset':
    case 'model-switched':
    case 'tool-call-start':
    case 'tool-dispatched':
    case 'tool-call-complete':
    case 'todos-updated':
    case 'file-changed':
    case 'approval-required':
    case 'recovery-required':
    case 'approval-decided':
    case 'compacted':
    case 'budget-reached':
    case 'gap':
    case 'error':
    case 'run-result':
      return transcript;
    default:
      event satisfies never;
      return transcript;
  }
}

function addUserMessage(transcript: Transcript, message: Message): Transcript {
  return transcript.stepOpen
    ? { ...transcript, held: [...transcript.held, message] }
    : { ...transcript, messages: [...transcript.messages, message] };
}

function assistantPart(transcript: Transcript, calls: readonly ToolCall[], part: ReplyPart): AssistantPart | null {
  const extra = part._provider === undefined ? {} : { _provider: part._provider };
  switch (part.kind) {
    case 'text':
    case 'thinking':
      return { kind: part.kind, text: transcript[part.kind].slice(part.start, part.end), ...extra };
    case 'tool-call': {
      const call = calls.find(({ id }) => id === part.id);
      return call === undefined ? null : { kind: 'tool-call', call, ...extra };
    }
  }
}

function closeStep(transcript: Transcript): Transcript {
  const ordered = transcript.calls.flatMap(
    ({ id }) => transcript.answers.find((answer) => answer.toolCallId === id) ?? [],
  );
  const results: Message[] = ordered.length === 0 ? [] : [{ role: 'tool', answers: ordered }];
  return {
    ...emptyTranscript,
    messages: [...transcript.messages, ...results, ...transcript.held],
  };
}
