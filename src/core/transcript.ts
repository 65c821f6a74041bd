// The conversation as the model will read it: a fold of committed events. Of live events it knows nothing, so a given-up
// attempt leaves no trace in it (E-212).
//
// T1. Every call of an assistant message has exactly one result in the tool message after it (E-565): results are
//     collected while the step is open and placed, in call order, when it finishes (E-533).
// T2. A user message accepted while a step is open stands after that step's results (E-660).
// T3. Every message has a place. In its own run that is the `seq` of the event that put it there; before the run the newest
//     message has 0, the one before it -1, and so on. Places never fall from one message to the next.
// T4. Compaction touches what is read, never what is kept: `throughSeq` is a place, and the messages up to it are read
//     without their tool output or not at all (E-442). What the run was asked, at place 1, is always read (E-443).

import type { JsonObject } from './json.ts';
import type { ContentRef, EventData, MediaRef, ReplyPart, RunEvent, ToolCall, UserPart } from './run-event.ts';

export type AssistantPart =
  | { readonly kind: 'text'; readonly text: string; readonly _provider?: JsonObject }
  | { readonly kind: 'thinking'; readonly text: string; readonly _provider?: JsonObject }
  | { readonly kind: 'tool-call'; readonly call: ToolCall; readonly _provider?: JsonObject };

export interface ToolAnswer {
  readonly toolCallId: string;
  readonly name: string;
  readonly content: string;
  readonly isError: boolean;
  readonly spill?: ContentRef;
  readonly media?: readonly MediaRef[];
}

/** `seq`: its place in its own run (T3); a message of an earlier run of the session has none. */
export type Message = { readonly seq?: number } & (
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly answers: readonly ToolAnswer[] }
);

export interface Transcript {
  /** Up to this place tool output is not read any more; null = all of it is. */
  readonly clearedThrough: number | null;
  /** Up to this place messages are not read any more; `summary` stands for them. */
  readonly droppedThrough: number | null;
  readonly summary: Message | null;
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
  clearedThrough: null,
  droppedThrough: null,
  summary: null,
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
      const messages = input.map(({ content }): Message => ({ role: 'user', content, seq: event.seq }));
      return input.length === 0 ? transcript : { ...transcript, messages: [...transcript.messages, ...messages] };
    }
    case 'user-message':
      return addUserMessage(transcript, { role: 'user', content: event.data.content, seq: event.seq });
    case 'step-started':
      return { ...transcript, stepOpen: true, text: '', thinking: '', calls: [], answers: [] };
    case 'thinking-complete':
      return { ...transcript, thinking: event.data };
    case 'text-complete':
      return { ...transcript, text: event.data };
    case 'turn-complete': {
      if (event.data.empty) return transcript;
      const parts = event.data.parts.map((part) => assistantPart(transcript, event.data.calls, part));
      const reply: Message = { role: 'assistant', parts: parts.filter((part) => part !== null), seq: event.seq };
      return { ...transcript, messages: transcript.messages.concat(reply), calls: event.data.calls };
    }
    case 'tool-result':
      return { ...transcript, answers: [...transcript.answers, event.data] };
    case 'step-finished':
      return closeStep(transcript, event.seq);
    case 'compacted':
      return compactTranscript(transcript, event.data);
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
    case 'tool-output-delta':
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

/** The transcript as it is read from now on (T4). */
export function compactTranscript(
  transcript: Transcript,
  { method, throughSeq, summary }: Pick<EventData['compacted'], 'method' | 'throughSeq' | 'summary'>,
): Transcript {
  switch (method) {
    case 'prune':
      return { ...transcript, clearedThrough: Math.max(throughSeq, transcript.clearedThrough ?? throughSeq) };
    case 'summary':
    case 'trim': {
      const droppedThrough = Math.max(throughSeq, transcript.droppedThrough ?? throughSeq);
      // A trim forgets messages; what an earlier summary remembers stays.
      const stays = summary === undefined ? transcript.summary : null;
      return { ...transcript, droppedThrough, summary: stays ?? summaryMessage(summary) };
    }
  }
}

function summaryMessage(summary: string | undefined): Message {
  const text =
    summary === undefined
      ? '[Messages that stood here were left out to save space.]'
      : `[Messages that stood here were left out to save space. This is what they came to:]\n\n${summary}`;
  return { role: 'user', content: [{ type: 'text', text }] };
}

/**
 * What a model reads of a run and of what came before it. `earlier`: the messages before the run, all of them.
 * What the run was asked stands before the summary of what it did since.
 */
export function viewOf(transcript: Transcript, earlier: readonly Message[]): readonly Message[] {
  const { messages, clearedThrough, droppedThrough, summary } = transcript;
  if (clearedThrough === null && droppedThrough === null) return [...earlier, ...messages];
  const read = readMessages(transcript, earlier);
  const first = (droppedThrough ?? askedAt) > askedAt ? read.findIndex(({ place }) => place > askedAt) : 0;
  const view = read.map(({ message }) => message);
  if (summary !== null) view.splice(first < 0 ? view.length : first, 0, summary);
  return view;
}

/** A message as the next run of the session has it: places hold in one run only. */
export function withoutPlace({ seq: _seq, ...message }: Message): Message {
  return message;
}

/** What compaction may still take away: all that is read, but what this run was asked. */
export function compactable(transcript: Transcript, earlier: readonly Message[]): readonly PlacedMessage[] {
  return readMessages(transcript, earlier).filter(({ place }) => place !== askedAt);
}

export interface PlacedMessage {
  readonly message: Message;
  readonly place: number;
}

/** The first event of a log is the `run-started` with the input (E-121). */
const askedAt = 1;

/** What is read, with its places (T3). */
function readMessages(transcript: Transcript, earlier: readonly Message[]): readonly PlacedMessage[] {
  const cleared = transcript.clearedThrough ?? -Infinity;
  const dropped = transcript.droppedThrough ?? -Infinity;
  const read: PlacedMessage[] = [];
  const add = (message: Message, place: number) => {
    if (place > dropped || place === askedAt)
      read.push({ message: place <= cleared ? withoutOutput(message) : message, place });
  };
  earlier.forEach((message, index) => add(message, index - earlier.length + 1));
  for (const message of transcript.messages) add(message, message.seq ?? askedAt);
  return read;
}

const clearedOf = new WeakMap<Message, Message>();

/** The message with its tool output cleared; short answers stay. The same object each time, so that its size is reckoned once. */
export function withoutOutput(message: Message): Message {
  if (message.role !== 'tool') return message;
  const known = clearedOf.get(message);
  if (known !== undefined) return known;
  const answers = message.answers.map(clearAnswer);
  const cleared = answers.some((answer, index) => answer !== message.answers[index])
    ? { ...message, answers }
    : message;
  clearedOf.set(message, cleared);
  return cleared;
}

function clearAnswer(answer: ToolAnswer): ToolAnswer {
  const { media, ...rest } = answer;
  const page = `read_tool_result(id: ${JSON.stringify(answer.toolCallId)})`;
  const note = `[Old tool output was cleared to save space; ${page} shows it again.]`;
  if (answer.content.length > note.length) return { ...rest, content: note };
  return media === undefined ? answer : rest;
}

function closeStep(transcript: Transcript, seq: number): Transcript {
  const ordered = transcript.calls.flatMap(
    ({ id }) => transcript.answers.find((answer) => answer.toolCallId === id) ?? [],
  );
  const results: Message[] = ordered.length === 0 ? [] : [{ role: 'tool', answers: ordered, seq }];
  const held = transcript.held.map((message) => ({ ...message, seq }));
  const { clearedThrough, droppedThrough, summary } = transcript;
  const messages = transcript.messages.concat(results, held);
  return { ...emptyTranscript, clearedThrough, droppedThrough, summary, messages };
}
