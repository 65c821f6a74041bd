// A conversation with a model that was recorded in a run's log, played again: an agent can be tried on it without a model, a
// key, or a network.
//
// M1. The n-th request gets the n-th accepted reply. Attempts that were given up then are not repeated.
// M2. Before that, what is new in a request is compared with what was new in the recorded one: what people said, and what
//     tools have answered. Whatever differs is named, and is no request of the recording.
// M3. Instructions and tools on offer are not compared: the model's words stay the same, whatever it was told by them.

import { attachedFileText, isPlacedFileText } from '../engine/attached-file.ts';
import { createScriptedModel, type ScriptedModel } from './scripted-model.ts';
import { emptyTranscript, extendTranscript, type Message } from '../core/transcript.ts';
import { isTaskListText } from '../engine/task-list-text.ts';
import { ReinsError } from '../core/errors.ts';
import type { ModelRequest } from '../engine/model.ts';
import type { ReplyFinish, ReplyPiece, ScriptedReply } from './model-servers/reply-script.ts';
import type { RunEvent, TurnComplete, UserPart } from '../core/run-event.ts';
import type { StopReason } from '../core/outcome.ts';

/** The agent asked for something that was not recorded. */
export class RecordingError extends ReinsError {}

export interface RecordedModel extends ScriptedModel {
  /** @throws RecordingError  A request was not as recorded, which is named; or replies are left that nobody asked for. */
  verify(): void;
}

export interface RecordedModelOptions {
  /** Text that may differ, such as a time or a folder, made the same on both sides. Absent: every word counts. */
  readonly normalize?: (text: string) => string;
}

interface RecordedReply {
  readonly reply: ScriptedReply;
  /** What came before it and after the reply before; null: the recording does not say what people said (P-068). */
  readonly said: readonly string[] | null;
  readonly results: ReadonlyMap<string, string>;
}

/** @param logs  Runs of one conversation, in their order. */
export function createRecordedModel(
  logs: readonly (readonly RunEvent[])[],
  { normalize = (text) => text }: RecordedModelOptions = {},
): RecordedModel {
  const replies = repliesOf(logs.flat());
  const started = logs[0]?.find(({ type }) => type === 'run-started');
  const model = started?.type === 'run-started' ? started.data.model : { provider: 'recorded', model: 'recorded' };
  const faults: string[] = [];
  const scripted = createScriptedModel(
    (request, index) => {
      const recorded = replies[index];
      const fault = recorded === undefined ? beyond(replies.length) : difference(recorded, request, normalize);
      if (fault === null) return recorded?.reply ?? {};
      const message = `Reply ${index + 1}: ${fault}`;
      faults.push(message);
      return { fault: { kind: 'status', status: 400, type: 'not_recorded', message } };
    },
    { provider: model.provider, modelId: model.model },
  );
  return {
    ...scripted,
    verify() {
      const [first] = faults;
      if (first !== undefined) throw new RecordingError(first);
      const left = replies.length - scripted.calls.length;
      if (left > 0) throw new RecordingError(`${left} of ${replies.length} recorded replies were not asked for.`);
    },
  };
}

const beyond = (count: number) => `it was asked for, and ${count} were recorded.`;

function repliesOf(events: readonly RunEvent[]): readonly RecordedReply[] {
  const replies: RecordedReply[] = [];
  let transcript = emptyTranscript;
  let before: readonly Message[] = [];
  let hasInput = false;
  for (const event of events) {
    if (event.agentPath !== undefined && event.agentPath.length > 0) continue;
    if (event.type === 'run-started' && event.data.leg === 1) hasInput = (event.data.input ?? []).length > 0;
    if (event.type === 'step-started') before = sinceReply(transcript.messages);
    if (event.type === 'turn-complete') {
      const said = before.flatMap((message) => (message.role === 'user' ? textsOf(message.content) : []));
      const answers = before.flatMap((message) => (message.role === 'tool' ? message.answers : []));
      const results = new Map(answers.map(({ toolCallId, content }) => [toolCallId, content]));
      replies.push({ reply: replyOf(event.data, transcript), said: hasInput ? said : null, results });
    }
    transcript = extendTranscript(transcript, event);
  }
  return replies;
}

/** Of a transcript: what the model has not answered yet. */
function sinceReply(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

function textsOf(content: readonly UserPart[]): readonly string[] {
  return content.flatMap((part) => {
    if (part.type === 'text') return part.text;
    return part.type === 'file' ? attachedFileText(part.filename, part.text, part.path) : [];
  });
}

function replyOf(
  { parts, calls, finishReason, rawFinishReason, usage, served }: TurnComplete,
  whole: { readonly text: string; readonly thinking: string },
): ScriptedReply {
  const pieces = parts.flatMap((part): readonly ReplyPiece[] => {
    if (part.kind !== 'tool-call') return [{ kind: part.kind, chunks: [whole[part.kind].slice(part.start, part.end)] }];
    const call = calls.find(({ id }) => id === part.id);
    return call === undefined ? [] : [{ kind: 'tool-call', id: call.id, name: call.name, arguments: [call.arguments] }];
  });
  const { inputTokens = null, outputTokens = null } = usage ?? {};
  return {
    pieces,
    finish: finishes[finishReason] ?? 'stop',
    ...(rawFinishReason === null ? {} : { rawFinish: rawFinishReason }),
    ...(inputTokens === null || outputTokens === null ? {} : { usage: { inputTokens, outputTokens } }),
    ...(served === null ? {} : { modelId: served.model }),
  };
}

const finishes: Partial<Record<StopReason, ReplyFinish>> = {
  'tool-use': 'tool-calls',
  'max-tokens': 'length',
  refusal: 'content-filter',
  safety: 'content-filter',
};

/** M2. Null: it is the recorded one. */
function difference(
  { said, results }: RecordedReply,
  { prompt }: ModelRequest,
  normalize: (text: string) => string,
): string | null {
  const added = prompt.slice(prompt.findLastIndex(({ role }) => role === 'assistant') + 1);
  const now = added.flatMap((message) => (message.role === 'tool' ? message.content : []));
  for (const part of now) {
    if (part.type !== 'tool-result') continue;
    const recorded = results.get(part.toolCallId);
    const text = outputOf(part.output);
    if (recorded === undefined)
      return `"${part.toolName}" has an answer to ${part.toolCallId}, which was not recorded.`;
    if (text !== null && normalize(text) !== normalize(recorded))
      return `"${part.toolName}" answers ${quoted(text)}, and ${quoted(recorded)} was recorded.`;
  }
  if (said === null) return null;
  const heard = added
    .flatMap((message) => (message.role === 'user' ? message.content : []))
    .flatMap((part) => (part.type === 'text' && isSaid(part.text) ? [part.text] : []));
  const [words, recorded] = [heard.join('\n'), said.join('\n')];
  return normalize(words) === normalize(recorded)
    ? null
    : `the model is told ${quoted(words)}, and ${quoted(recorded)} was recorded.`;
}

type Output = Extract<
  Extract<ModelRequest['prompt'][number], { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>['output'];

/** Null: not in words alone. */
function outputOf(output: Output): string | null {
  return output.type === 'text' || output.type === 'error-text' ? output.value : null;
}

/** And not the engine's own note. */
const isSaid = (text: string) => !isTaskListText(text) && !isPlacedFileText(text);

const quoted = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
