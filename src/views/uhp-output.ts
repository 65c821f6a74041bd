// The output items of one response (UD-81), folded from what the model and its tools did. Owns which item stands at which
// index; how an item looks on the wire is `uhp-items.ts`, how its events are numbered `uhp-writer.ts`.
//
// O1. An index holds one item at a time. Items of an attempt that was given up are closed as incomplete, and later items
//     take their indexes again, from the attempt's first (UD-22, UD-23).
// O2. The attempt that is entered last is the only one whose events count; what an older one still says is dropped (E-123).
// O3. An item that is closed never changes. At the end none is open and every index holds a kept item (UD-25, UD-23).
// O4. Deltas only join strings: no event looks at an item's text again before the reply is complete.

import { cutMiddle } from '../core/text.ts';
import type { EventData, ReplyPart, ToolCall, TurnComplete } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Annotation, ItemStatus, OutputItem } from '../protocol/uhp/response.ts';
import { GrowingText } from './growing-text.ts';
import { snapshotOf, type CallItem, type Item, type TextItem } from './uhp-items.ts';
import type { UhpWriter } from './uhp-writer.ts';

type TextType = TextItem['type'];

export interface AttemptPlace {
  readonly step: number;
  readonly attempt: number;
  readonly block?: number;
}

/** Half of the longest tool output on the wire (UD-81); what is longer loses its middle. */
const halfOutputUnits = 32 * 1024;

/** Of a message that a reply without text is given: no block of a reply has this number. */
const silentBlock = 1_000_000;

const idPrefix = { message: 'msg', reasoning: 'rs', function_call: 'fc', function_call_output: 'fco' } as const;

export class UhpOutput {
  readonly #writer: UhpWriter;
  readonly #idToken: string;
  readonly #items: Item[] = [];
  /** Calls whose outcome nobody knows, by their id on the wire (UD-81). */
  readonly unknownOutcomes: string[] = [];
  /** Step in which an accepted reply first used a call id. */
  readonly #callSteps = new Map<string, number>();
  /** Index of the next item; behind it stand only items that were given up. */
  #next = 0;
  #step = 0;
  #attempt = 0;
  #first = 0;
  #accepted = false;
  /** The accepted reply ran into its output limit. */
  #cut = false;
  #text = '';
  #thinking = '';
  readonly #texts = new Map<number, TextItem>();
  readonly #calls = new Map<string, CallItem>();
  #newest: TextItem | null = null;

  constructor(writer: UhpWriter, runId: RunId) {
    this.#writer = writer;
    this.#idToken = runId.slice('resp_'.length);
  }

  items(): readonly OutputItem[] {
    return this.#items.map(snapshotOf);
  }

  /** The id on the wire of a call of the open step. */
  callIdOf(id: string): string {
    return this.#calls.get(id)?.callId ?? id;
  }

  textDelta(type: TextType, place: AttemptPlace, delta: string): void {
    if (!this.#enter(place) || this.#accepted) return;
    const block = place.block ?? 0;
    const newest = this.#newest;
    const item =
      newest !== null && newest.type === type && newest.block === block ? newest : this.#textItem(type, block);
    if (item.status === 'in_progress') this.#append(item, delta);
  }

  callDelta(place: AttemptPlace, data: EventData['tool-call-delta']): void {
    if (!this.#enter(place) || this.#accepted) return;
    const item = this.#calls.get(data.id) ?? this.#openCall(data, place.block ?? this.#calls.size);
    if (data.partialJson === '') return;
    item.arguments += data.partialJson;
    this.#writer.delta(item, data.partialJson);
  }

  thinkingComplete(place: AttemptPlace, text: string): void {
    if (!this.#enter(place)) return;
    this.#thinking = text;
    const shown = [...this.#texts.values()].filter((item) => item.type === 'reasoning');
    if (shown.map((item) => item.text.whole).join('') !== text) return;
    for (const item of shown) this.#close(item, 'completed');
  }

  textComplete(place: AttemptPlace, text: string): void {
    if (this.#enter(place)) this.#text = text;
  }

  /** The reply is accepted: its blocks get their whole content, and what cannot change any more is closed. */
  turnComplete(place: AttemptPlace, turn: TurnComplete): void {
    if (!this.#enter(place)) return;
    this.#accepted = true;
    this.#cut = turn.finishReason === 'max-tokens';
    const kept = new Set<Item>();
    for (const part of turn.parts) {
      const item = part.kind === 'tool-call' ? this.#acceptCall(part, turn.calls) : this.#acceptText(part);
      if (item === null) continue;
      kept.add(item);
      // A reply without calls may be the last: its messages wait for what belongs to the task's end (UD-54).
      if (item.type === 'reasoning' || (item.type === 'message' && turn.calls.length > 0))
        this.#close(item, 'completed');
    }
    for (const item of this.#open()) if (!kept.has(item)) this.#close(item, 'incomplete');
  }

  /** A call begins to run; one that will not run stays open for its outcome. */
  callStarted({ id, willRun }: EventData['tool-call-start']): void {
    const item = this.#calls.get(id);
    if (item !== undefined && willRun) this.#close(item, 'completed');
  }

  callComplete({ id, outcome }: EventData['tool-call-complete']): void {
    const item = this.#calls.get(id);
    if (item === undefined) return;
    item.outcome = outcome;
    this.#close(item, outcome === 'not-run' || outcome === 'cancelled' ? 'incomplete' : 'completed');
  }

  /** False when the result has no item: its call was never made good. */
  toolResult({ toolCallId, content }: EventData['tool-result']): boolean {
    const call = this.#calls.get(toolCallId);
    if (call === undefined || call.status !== 'completed') return false;
    const { callId, outcome } = call;
    const item: Item = {
      id: this.#idOf('function_call_output', call.block),
      index: this.#next++,
      status: 'in_progress',
      type: 'function_call_output',
      callId,
      output: cutMiddle(content, halfOutputUnits, halfOutputUnits),
    };
    if (outcome === 'unknown') this.unknownOutcomes.push(callId);
    this.#add(item);
    const unfinished = outcome === 'timeout' || outcome === 'cancelled' || outcome === 'unknown';
    this.#close(item, unfinished ? 'incomplete' : 'completed');
    return true;
  }

  /** Gives an attempt up. The first index that will be used again, or null when nothing of it was shown (UD-22). */
  reset(place: AttemptPlace, nextAttempt: number): number | null {
    if (!this.#enter(place)) return null;
    const shown = this.#next > this.#first;
    for (const item of this.#open()) this.#close(item, 'incomplete');
    this.#next = this.#first;
    this.#begin(place.step, nextAttempt);
    return shown ? this.#first : null;
  }

  /** The step before is over: a message that waited is complete, a reply that was never accepted is not. */
  nextStep(): void {
    for (const item of this.#open()) {
      this.#close(item, this.#accepted && item.type === 'message' ? 'completed' : 'incomplete');
    }
  }

  /** @param annotate  What the last message is to cite, by its text (UD-54); null: nothing. */
  end(annotate: ((text: string) => readonly Annotation[]) | null = null): void {
    if (annotate !== null) this.#annotate(annotate);
    for (const item of this.#open()) {
      this.#close(item, this.#accepted && item.type === 'message' && !this.#cut ? 'completed' : 'incomplete');
    }
    for (let index = this.#next; index < this.#items.length; index++) {
      const item: Item = { id: `rs_${this.#idToken}_x${index}`, index, status: 'in_progress', type: 'filler' };
      this.#add(item);
      this.#close(item, 'incomplete');
    }
  }

  /** On the message that is open; where the last reply is accepted and says nothing, on one without text. */
  #annotate(annotate: (text: string) => readonly Annotation[]): void {
    const open = this.#open().findLast((item) => item.type === 'message');
    const message = open ?? (this.#accepted && this.#calls.size === 0 ? this.#textItem('message', silentBlock) : null);
    if (message?.type === 'message') message.annotations = annotate(message.text.whole);
  }

  /** True when the event belongs to the newest attempt, which it may begin (O2). */
  #enter({ step, attempt }: AttemptPlace): boolean {
    if (step === this.#step && attempt === this.#attempt) return true;
    if (step < this.#step || (step === this.#step && attempt < this.#attempt)) return false;
    this.nextStep();
    this.#begin(step, attempt);
    return true;
  }

  #begin(step: number, attempt: number): void {
    this.#step = step;
    this.#attempt = attempt;
    this.#first = this.#next;
    this.#accepted = false;
    this.#cut = false;
    this.#text = '';
    this.#thinking = '';
    this.#texts.clear();
    this.#calls.clear();
    this.#newest = null;
  }

  /** Open items of this attempt in the order of their indexes. */
  #open(): Item[] {
    return this.#items.slice(this.#first, this.#next).filter((item) => item.status === 'in_progress');
  }

  #textItem(type: TextType, block: number): TextItem {
    const known = this.#texts.get(textKey(type, block));
    if (known !== undefined) return (this.#newest = known);
    return this.#openText(type, block, { id: this.#idOf(type, block), index: this.#next++ });
  }

  #openText(type: TextType, block: number, at: { readonly id: string; readonly index: number }): TextItem {
    const text = new GrowingText();
    const item: TextItem = { ...at, status: 'in_progress', type, block, text, annotations: [] };
    this.#texts.set(textKey(type, block), item);
    this.#newest = item;
    this.#add(item);
    this.#writer.partAdded(item);
    return item;
  }

  #openCall({ id, name }: { readonly id: string; readonly name: string }, block: number, again?: CallItem): CallItem {
    const firstStep = this.#callSteps.get(id) ?? this.#step;
    const item: CallItem = {
      id: again === undefined ? this.#idOf('function_call', block) : `${again.id}_whole`,
      index: again?.index ?? this.#next++,
      status: 'in_progress',
      type: 'function_call',
      block,
      callId: firstStep === this.#step ? id : `${id}_${this.#step}`,
      name,
      arguments: '',
      outcome: null,
    };
    this.#calls.set(id, item);
    this.#add(item);
    return item;
  }

  #acceptText(part: Exclude<ReplyPart, { kind: 'tool-call' }>): TextItem | null {
    const type = part.kind === 'text' ? 'message' : 'reasoning';
    const whole = (part.kind === 'text' ? this.#text : this.#thinking).slice(part.start, part.end);
    const shown = this.#texts.get(textKey(type, part.block));
    if (shown === undefined && whole === '') return null;
    if (shown !== undefined && (shown.text.whole === whole || shown.status !== 'in_progress')) return shown;
    // Deltas were lost on the way to the log: the item begins again at its index with the whole text (UD-81).
    if (shown !== undefined) this.#close(shown, 'incomplete');
    const at =
      shown === undefined
        ? { id: this.#idOf(type, part.block), index: this.#next++ }
        : { id: `${shown.id}_whole`, index: shown.index };
    const item = this.#openText(type, part.block, at);
    this.#append(item, whole);
    return item;
  }

  #acceptCall(part: Extract<ReplyPart, { kind: 'tool-call' }>, calls: readonly ToolCall[]): CallItem | null {
    const call = calls.find(({ id }) => id === part.id);
    if (call === undefined) return null;
    if (!this.#callSteps.has(call.id)) this.#callSteps.set(call.id, this.#step);
    const shown = this.#calls.get(call.id);
    const lost = shown !== undefined && shown.arguments !== '' && shown.arguments !== call.arguments;
    if (lost) this.#close(shown, 'incomplete');
    const item = shown === undefined || lost ? this.#openCall(call, part.block, shown) : shown;
    if (item.arguments !== call.arguments) {
      item.arguments = call.arguments;
      this.#writer.delta(item, call.arguments);
    }
    this.#writer.argumentsDone(item);
    return item;
  }

  #add(item: Item): void {
    this.#items[item.index] = item;
    this.#writer.itemAdded(item);
  }

  #append(item: TextItem, delta: string): void {
    item.text.append(delta);
    this.#writer.delta(item, delta);
  }

  #close(item: Item, status: Exclude<ItemStatus, 'in_progress'>): void {
    if (item.status !== 'in_progress') return;
    item.status = status;
    if (item.type === 'message' || item.type === 'reasoning') this.#writer.partDone(item);
    this.#writer.itemDone(item);
  }

  #idOf(type: keyof typeof idPrefix, block: number): string {
    return `${idPrefix[type]}_${this.#idToken}_${this.#step}_${this.#attempt}_${block}`;
  }
}

/** A number, as blocks that take turns look theirs up at each delta. */
function textKey(type: TextType, block: number): number {
  return block * 2 + (type === 'message' ? 0 : 1);
}
