// The agent view: a run as `POST /api/agent` tells it, as a stream and as one JSON answer: the last event of the one is the
// other.
//
// G1. Exactly one terminal event, and nothing after it. It is this view's alone to give: who finds that no result will
//     come asks for it with `end`.
// G2. Every string but an id is redacted, also a secret that is cut over deltas.
// G3. A call that began gets its result before `done`, and each is in the trace, in the order of the calls.
// G4. What a viewer keeps, and `done.text`, are made of accepted replies alone: where what was shown of one differs from
//     it, what was shown is void.
// G5. What sub-agents do is their run's: the call that they answer is told like any other.

import { cancelledError, emptyError, failureOf, internalError } from './agent-ending.ts';
import { flatOutput } from './flat-output.ts';
import { createRedactor, redactJson, type Redact } from '../core/redact.ts';
import { head } from '../core/text.ts';
import { redactsStreams, type StreamRedactor } from '../core/redact-stream.ts';
import { shortensPaths } from './short-paths.ts';
import { toolPreview, toolSummary } from './tool-summary.ts';
import { usesFiles } from './tool-kind.ts';
import type { AgentAnswer, AgentError, AgentEvent, ToolTrace } from '../protocol/agent/events.ts';
import type { EventData, EventDraft, RunEvent } from '../core/run-event.ts';
import type { JsonValue } from '../core/json.ts';
import type { RunResultData } from '../core/outcome.ts';

export interface AgentViewOptions {
  readonly secrets: readonly string[];
  /** The directory the turn works in, below its workspace; null: it has none. */
  readonly cwd: string | null;
  /** Absolute path of the workspace; absent or null: nobody is told of it. */
  readonly workspace?: string | null;
  readonly errorId: string;
}

export interface AgentView {
  /** @param whole  The result of a `tool-result` that is kept elsewhere, where `content` is only its head and tail. */
  push(event: EventDraft | RunEvent, whole?: string): readonly AgentEvent[];
  /** The run gives no result any more. Nothing where it gave one. */
  end(why: 'cancelled' | 'fault'): readonly AgentEvent[];
  readonly ended: boolean;
}

type Spoken = 'text' | 'thinking';

interface Call {
  readonly id: string;
  readonly name: string;
  input: JsonValue | undefined;
  fileBytes: number | undefined;
  result: ToolTrace | null;
}

const maxNameUnits = 128;

export function createAgentView({ secrets, cwd, workspace = null, errorId }: AgentViewOptions): AgentView {
  const [redact, shorten] = [createRedactor(secrets), shortensPaths(workspace, cwd ?? '.')];
  return new View({ cwd, errorId, redact, shorten, stream: redactsStreams(secrets)() });
}

interface ViewParts extends Pick<AgentViewOptions, 'cwd' | 'errorId'> {
  readonly redact: Redact;
  /** Of a summary: no path in it says where the workspace lies. */
  readonly shorten: (text: string) => string;
  /** One is enough: it is flushed at each switch of kind. */
  readonly stream: StreamRedactor;
}

class View implements AgentView {
  readonly #o: ViewParts;
  #out: AgentEvent[] = [];
  #ended = false;
  #speaking: Spoken | null = null;
  /** Of the attempt in flight, as the model said it. */
  #shown: Record<Spoken, string> = { text: '', thinking: '' };
  /** Text of accepted replies: all of it, and since the last tool event. */
  #answer: string[] = [];
  #sinceTool = '';
  #empty = false;
  readonly #calls = new Map<string, Call>();
  #usedFiles = false;

  constructor(parts: ViewParts) {
    this.#o = parts;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(event: EventDraft | RunEvent, whole?: string): readonly AgentEvent[] {
    if (this.#ended || (event.agentPath !== undefined && event.agentPath.length > 0)) return [];
    this.#out = [];
    this.#take(event, whole);
    return this.#out;
  }

  end(why: 'cancelled' | 'fault'): readonly AgentEvent[] {
    if (this.#ended) return [];
    this.#out = [];
    this.#finish(why === 'cancelled' ? cancelledError : internalError(this.#o.errorId));
    return this.#out;
  }

  #take(event: EventDraft | RunEvent, whole: string | undefined): void {
    switch (event.type) {
      case 'text-delta':
        return this.#say('text', event.data);
      case 'thinking-delta':
        return this.#say('thinking', event.data);
      case 'thinking-complete':
        // Thinking is no part of the answer: what was shown of it may stay as it is.
        if (this.#shown.thinking === '') this.#say('thinking', event.data);
        return;
      case 'text-complete':
        return this.#completeText(event.data, event.attempt);
      case 'turn-complete':
        return this.#accept(event.data);
      case 'attempt-reset':
        return this.#reset(event.data.attempt);
      case 'tool-call-start':
        this.#startCall(keyOf(event.step, event.data.id), event.data);
        return;
      case 'tool-dispatched':
        this.#usedFiles ||= usesFiles(this.#calls.get(keyOf(event.step, event.data.id))?.name ?? '');
        return;
      case 'file-changed':
        return this.#noteFile(event.data);
      case 'tool-call-complete':
        return this.#noteInput(keyOf(event.step, event.data.id), event.data);
      case 'tool-result':
        return this.#endCall(keyOf(event.step, event.data.toolCallId), event.data, whole);
      case 'run-result':
        return this.#conclude(event.data);
      case 'run-started':
      case 'user-message':
      case 'step-started':
      case 'tool-call-delta':
      case 'model-switched':
      case 'waiting':
      case 'tool-output-delta':
      case 'todos-updated':
      case 'approval-required':
      case 'recovery-required':
      case 'approval-decided':
      case 'compacted':
      case 'budget-reached':
      case 'step-finished':
      case 'gap':
      case 'error':
        return;
      default:
        event satisfies never;
    }
  }

  #say(kind: Spoken, piece: string): void {
    if (this.#speaking !== kind) this.#flush();
    this.#speaking = kind;
    this.#shown[kind] += piece;
    this.#emitText(kind, this.#o.stream.push(piece));
  }

  #flush(): void {
    const kind = this.#speaking;
    this.#speaking = null;
    if (kind !== null) this.#emitText(kind, this.#o.stream.flush());
  }

  #emitText(kind: Spoken, text: string): void {
    if (text === '') return;
    this.#out.push({ type: kind === 'text' ? 'text_delta' : 'reasoning_delta', text });
  }

  /** Deltas can be missing, or have come in another order than the blocks of the reply (G4). */
  #completeText(text: string, attempt: number): void {
    if (!text.startsWith(this.#shown.text)) this.#reset(attempt);
    const rest = text.slice(this.#shown.text.length);
    if (rest !== '') this.#say('text', rest);
  }

  #accept({ empty }: EventData['turn-complete']): void {
    const { text } = this.#shown;
    this.#answer.push(text);
    this.#sinceTool += text;
    this.#shown = { text: '', thinking: '' };
    this.#empty = empty === true;
  }

  /** What is kept is told again as a whole, so a viewer need not know where one reply ended and the next began. */
  #reset(attempt: number): void {
    const { text, thinking } = this.#shown;
    this.#shown = { text: '', thinking: '' };
    this.#flush();
    if (text === '' && thinking === '') return;
    this.#out.push({ type: 'attempt_reset', attempt, kept: this.#o.redact(this.#sinceTool) });
  }

  #beforeTool(): void {
    this.#flush();
    this.#sinceTool = '';
  }

  #nameOf(name: string): string {
    return head(this.#o.redact(name === '' ? 'tool' : name), maxNameUnits);
  }

  #startCall(
    key: string,
    { id, name: given, input }: Omit<EventData['tool-call-start'], 'executionKey' | 'willRun'>,
  ): Call {
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    this.#beforeTool();
    const call: Call = { id, name: this.#nameOf(given), input, fileBytes: undefined, result: null };
    this.#calls.set(key, call);
    this.#out.push({ type: 'tool_start', name: call.name, ...idOf(call) });
    return call;
  }

  #noteInput(key: string, { input }: EventData['tool-call-complete']): void {
    const call = this.#calls.get(key);
    if (call !== undefined) call.input = input;
  }

  /** Of a call: its key ends with step and id. What the server finds at the end belongs to none. */
  #noteFile({ executionKey, bytes }: EventData['file-changed']): void {
    if (executionKey === undefined) return;
    const call = this.#calls.get(executionKey.slice(executionKey.indexOf(':') + 1));
    if (call !== undefined) call.fileBytes = bytes;
  }

  #endCall(key: string, { toolCallId: id, name, content, isError }: EventData['tool-result'], whole = content): void {
    const { redact, shorten } = this.#o;
    const call = this.#startCall(key, { id, name, input: null });
    if (call.result !== null) return;
    this.#beforeTool();
    const text = redact(flatOutput(call.name, whole));
    const { fileBytes } = call;
    const input = call.input === undefined ? {} : { input: redactJson(call.input, (each) => shorten(redact(each))) };
    const summary = toolSummary({ name: call.name, isError, content: shorten(text), fileBytes, ...input });
    const preview = toolPreview(text);
    call.result = { name: call.name, ok: !isError, summary };
    this.#out.push({
      type: 'tool_result',
      ...call.result,
      ...(preview === null ? {} : { preview }),
      ...idOf(call),
    });
  }

  #conclude(result: RunResultData): void {
    const { redact, errorId, cwd } = this.#o;
    const failure = failureOf(result, { redact, errorId, empty: this.#empty });
    if (failure !== null) return this.#finish(failure);
    const text = redact(this.#answer.join('')).trim();
    if (text === '') return this.#finish(emptyError);
    for (const call of this.#calls.values()) if (call.result === null) this.#giveUp(call);
    const toolTrace = [...this.#calls.values()].flatMap((call) => call.result ?? []);
    this.#finish({
      type: 'done',
      text,
      ...(toolTrace.length === 0 ? {} : { toolTrace }),
      ...(this.#usedFiles && cwd !== null ? { cwd: redact(cwd) } : {}),
    });
  }

  /** A call whose result nobody wrote. */
  #giveUp(call: Call): void {
    const { name } = call;
    call.result = { name, ok: false, summary: toolSummary({ name, isError: true, content: '' }) };
    this.#flush();
    this.#out.push({ type: 'tool_result', ...call.result, ...idOf(call) });
  }

  #finish(last: (AgentAnswer & { readonly type: 'done' }) | AgentError): void {
    this.#flush();
    this.#ended = true;
    this.#out.push(last);
  }
}

function keyOf(step: number, id: string): string {
  return `${step}:${id}`;
}

function idOf({ id }: Call): { readonly id?: string } {
  return id === '' ? {} : { id };
}
