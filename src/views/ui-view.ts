// The UI view: a run as `useChat` is told it (P-083 to P-095).
//
// I1. A message has one `start` and one end, and nothing behind it. A run that waits has no end: who leaves it there says so.
// I2. A message that was steered into the run begins the next UI message, at the next step; chunks about calls of an earlier
//     message never go into a later one, as clients throw on a call they do not know (P-090).
// I3. Every block and input is closed before its step ends. What a client keeps of a given-up attempt is dropped by
//     `reset-step`, and what of the step stays is said again behind it; with `chunks: 6` it is closed, and named.
// I4. What sub-agents do is their run's; what they ask is this one's to ask (E-612): `ui-decisions.ts`.
// I5. Texts of an accepted reply are what the reply says: what was not shown of it, or otherwise, is mended before its calls.

import { compactionPart } from './compaction-part.ts';
import { PartBlocks, type WordKind } from './part-blocks.ts';
import { isJsonObject, parsedOrText, type JsonObject } from '../core/json.ts';
import { ranBy, UiDecisions } from './ui-decisions.ts';
import { partReason } from './part-reasons.ts';
import { toUIMessageChunks } from '../protocol/parts/to-ui-message-chunks.ts';
import { translatePart } from '../protocol/parts/translate-part.ts';
import { uiDataOf } from './ui-data.ts';
import { uiEndingOf } from './ui-ending.ts';
import type { EventData, RunEvent, ToolCall } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { RunResultData } from '../core/outcome.ts';
import type { StreamPart } from '../protocol/parts/stream-part.ts';
import type { UiChunk, UiFinishReason, UiForm } from '../protocol/ui/chunk.ts';

export { endsMessage, type UiChunk, type UiForm } from '../protocol/ui/chunk.ts';

export const plainForm: UiForm = { chunks: 7, sendReasoning: true };

export interface UiView {
  push(event: RunEvent): readonly UiChunk[];
  /** Number of the message that is told now; 0 before the first steered one. */
  readonly message: number;
  /** `waiting`: for a person. */
  readonly stage: 'working' | 'waiting' | 'ended';
}

/** Id of the message behind the `message`-th steered one. */
export function uiMessageId(runId: RunId, message: number): string {
  return message === 0 ? `msg_${runId}` : `msg_${runId}_${message}`;
}

export function createUiView(runId: RunId, form: UiForm = plainForm): UiView {
  return new View(runId, form);
}

class View implements UiView {
  readonly #runId: RunId;
  readonly #form: UiForm;
  #out: UiChunk[] = [];
  #isOver = false;
  #metadata: JsonObject = {};
  #message = 0;
  #steered = 0;
  /** Reason of the last step, for a message that ends with another one behind it. */
  #reason: UiFinishReason = 'stop';
  #place = { step: 0, attempt: 0 };
  #blocks = new PartBlocks({ step: 0, attempt: 0 });
  #openInputs = new Set<string>();
  #thinking = '';
  /** Calls of the message that is told. */
  #calls = new Set<string>();
  #denied = new Set<string>();
  /** Of the step: what a reset takes back with the rest (I3). */
  #lasting: UiChunk[] = [];
  readonly #decisions: UiDecisions;
  readonly #changed = new Set<string>();
  #parked = false;

  constructor(runId: RunId, form: UiForm) {
    this.#runId = runId;
    this.#form = form;
    this.#decisions = new UiDecisions(form);
  }

  get message(): number {
    return this.#message;
  }

  get stage(): UiView['stage'] {
    if (this.#isOver) return 'ended';
    return this.#parked && this.#decisions.open > 0 ? 'waiting' : 'working';
  }

  push(event: RunEvent): readonly UiChunk[] {
    if (this.#isOver) return [];
    this.#out = [];
    if (event.agentPath === undefined || event.agentPath.length === 0) this.#take(event);
    else this.#takeDecision(event);
    return this.#out;
  }

  #take(event: RunEvent): void {
    switch (event.type) {
      case 'run-started':
        return this.#begin(event.data, event.sessionId);
      case 'step-started':
        return this.#beginStep(event.step);
      case 'text-delta':
        return this.#say('text', event.block ?? 0, event.data);
      case 'thinking-delta':
        return this.#say('reasoning', event.block ?? 0, event.data);
      case 'tool-call-delta':
        return this.#input(event.data, event.block ?? 0);
      case 'text-complete':
        return this.#complete('text', event.data);
      case 'thinking-complete':
        return this.#complete('reasoning', event.data);
      case 'turn-complete':
        return this.#accept(event.data);
      case 'attempt-reset':
        return this.#reset(event.data);
      case 'approval-required':
      case 'recovery-required':
      case 'approval-decided':
        return this.#takeDecision(event);
      case 'tool-call-complete':
        if (event.data.outcome === 'denied') this.#denied.add(event.data.id);
        return;
      case 'tool-result':
        return this.#result(event.data);
      case 'file-changed': {
        const { kind, path, fileId } = event.data;
        // The look at the workspace at the end names what tools have said already.
        if (fileId !== undefined && this.#changed.has(path)) return;
        this.#changed.add(path);
        return this.#keep(this.#chunksOf({ type: 'file-change', event: kind, path }, event.seq));
      }
      case 'compacted':
        return this.#keep(this.#chunksOf(compactionPart(event.data), event.seq));
      case 'step-finished':
        this.#reason = partReason(event.data.finishReason, null).unified;
        this.#closeAll('The call was not completed.');
        this.#out.push({ type: 'finish-step' });
        this.#lasting = [];
        return;
      case 'user-message':
        if (event.data.mode === 'steer') this.#steered++;
        return this.#keepData(uiDataOf(event));
      case 'waiting':
      case 'todos-updated':
      case 'model-switched':
      case 'budget-reached':
      case 'gap':
        return this.#keepData(uiDataOf(event));
      case 'error':
        return this.#end({ type: 'error', errorText: event.data.message });
      case 'run-result':
        return this.#conclude(event.data);
      case 'tool-call-start':
      case 'tool-dispatched':
      case 'tool-output-delta':
        return;
      default:
        event satisfies never;
    }
  }

  #begin({ leg, model }: EventData['run-started'], sessionId: string): void {
    this.#parked = false;
    if (leg > 1) return;
    this.#metadata = { model: model.model, responseId: this.#runId, sessionId };
    this.#start();
  }

  #start(): void {
    const messageId = uiMessageId(this.#runId, this.#message);
    this.#out.push({ type: 'start', messageId, messageMetadata: this.#metadata });
  }

  #beginStep(step: number): void {
    if (this.#steered > this.#message) {
      this.#out.push({ type: 'finish', finishReason: this.#reason });
      this.#message = this.#steered;
      this.#calls.clear();
      this.#decisions.turnPage();
      this.#start();
    }
    this.#denied.clear();
    this.#lasting = [];
    this.#openAttempt({ step, attempt: 1 });
    this.#out.push({ type: 'start-step' });
  }

  #openAttempt(place: { readonly step: number; readonly attempt: number }): void {
    this.#place = place;
    this.#blocks = new PartBlocks(place);
    this.#openInputs.clear();
    this.#thinking = '';
  }

  #say(kind: WordKind, block: number, delta: string): void {
    if (kind === 'reasoning' && !this.#form.sendReasoning) return;
    for (const part of this.#blocks.addWords(kind, block, delta))
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') this.#out.push(part);
      else this.#part(part);
  }

  #input({ id, name, partialJson }: EventData['tool-call-delta'], block: number): void {
    const before = this.#blocks.beginInput(id, block);
    if (before !== null) {
      this.#openInputs.add(id);
      for (const part of before) this.#part(part);
      this.#out.push({ type: 'tool-input-start', toolCallId: id, toolName: name, dynamic: true, ...ranBy(name) });
    }
    if (partialJson !== '') this.#out.push({ type: 'tool-input-delta', toolCallId: id, inputTextDelta: partialJson });
  }

  /** I5. */
  #complete(kind: WordKind, whole: string): void {
    if (kind === 'reasoning' && !this.#form.sendReasoning) return;
    const shown = this.#blocks.shown(kind);
    if (shown !== '' && shown !== whole) {
      const thinking = this.#thinking;
      this.#takeBack(this.#place);
      // An id is never used again (P-063).
      this.#openAttempt({ ...this.#place, attempt: this.#place.attempt + 1_000 });
      if (kind === 'text') this.#complete('reasoning', thinking);
    }
    if (kind === 'reasoning') this.#thinking = whole;
    if (whole !== '' && this.#blocks.shown(kind) === '') this.#say(kind, 0, whole);
    for (const part of this.#blocks.endWords(kind)) this.#part(part);
  }

  #accept({ calls }: EventData['turn-complete']): void {
    for (const part of this.#blocks.endAll()) this.#part(part);
    for (const call of calls) {
      this.#openInputs.delete(call.id);
      this.#call(call);
    }
    this.#closeAll('The reply does not hold this call.');
  }

  #call({ id, name, arguments: text }: ToolCall): void {
    this.#calls.add(id);
    const input = parsedOrText(text === '' ? '{}' : text);
    const named = { toolCallId: id, toolName: name, dynamic: true, ...ranBy(name) } as const;
    if (isJsonObject(input)) this.#out.push({ type: 'tool-input-available', ...named, input });
    else
      this.#out.push({
        type: 'tool-input-error',
        ...named,
        input: text,
        errorText: 'The arguments are no JSON object.',
      });
  }

  #reset({ step, attempt, nextAttempt, shown }: EventData['attempt-reset']): void {
    if (shown) this.#takeBack({ step, attempt });
    this.#openAttempt({ step, attempt: nextAttempt });
  }

  /** I3. */
  #takeBack({ step, attempt }: { readonly step: number; readonly attempt: number }): void {
    if (this.#form.chunks === 7) return void this.#out.push({ type: 'reset-step' }, ...this.#lasting);
    this.#closeAll('This reply was begun anew.');
    const id = `reset-${step}-${attempt}`;
    this.#out.push({ type: 'data-reins-reset', id, data: { step, attempt } });
  }

  #closeAll(errorText: string): void {
    for (const part of this.#blocks.endAll()) this.#part(part);
    for (const toolCallId of this.#openInputs) this.#out.push({ type: 'tool-output-error', toolCallId, errorText });
    this.#openInputs.clear();
  }

  #result({ toolCallId, name: toolName, content: result, isError }: EventData['tool-result']): void {
    if (!this.#calls.has(toolCallId)) return; // (I2)
    if (this.#denied.has(toolCallId)) this.#out.push({ type: 'tool-output-denied', toolCallId });
    else this.#part({ type: 'tool-result', toolCallId, toolName, result, isError });
  }

  #takeDecision(event: RunEvent): void {
    if (event.type === 'approval-required' || event.type === 'recovery-required')
      this.#keepData(this.#decisions.ask(event, this.#calls));
    else if (event.type === 'approval-decided') this.#keepData(this.#decisions.decide(event.data));
  }

  #conclude(result: RunResultData): void {
    const ending = uiEndingOf(result);
    this.#parked = ending === null;
    if (ending === null) return;
    this.#out.push(...ending.before);
    this.#end(ending.last);
  }

  #end(last: UiChunk): void {
    // A step that broke off has no end of its own in the log.
    if (last.type !== 'error') this.#closeAll('The call was not completed.');
    this.#out.push(last);
    this.#isOver = true;
  }

  /** Of the step as long as no reset is behind it. */
  #keep(chunks: readonly UiChunk[]): void {
    this.#out.push(...chunks);
    this.#lasting.push(...chunks);
  }

  #keepData(chunks: readonly UiChunk[]): void {
    for (const chunk of chunks)
      if ('data' in chunk && chunk.transient !== true) this.#keep([chunk]);
      else this.#out.push(chunk);
  }

  #part(part: StreamPart): void {
    this.#out.push(...this.#chunksOf(part));
  }

  #chunksOf(part: StreamPart, seq = 0): readonly UiChunk[] {
    return translatePart(part, { ids: { runId: this.#runId, seq } }).flatMap((chunk) => toUIMessageChunks(chunk));
  }
}
