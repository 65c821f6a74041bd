import { terminalTypeOf, type ReinsEvent, type UhpEvent } from '../protocol/uhp/events.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';
import { shellOf, snapshotOf, type CallItem, type Item, type TextItem } from './uhp-items.ts';

/**
 * Numbers the events of one stream, and builds them only when somebody reads: a fold for the response alone counts.
 * Knows the order of events inside an item (U-306); what happens when is the fold's.
 */
export class UhpWriter {
  readonly #emit: boolean;
  #sequence = 0;
  #events: UhpEvent[] = [];

  constructor(emit: boolean) {
    this.#emit = emit;
  }

  /** Number of the next event. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Hands over what was written since the last call. */
  take(): readonly UhpEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  started(type: 'response.created' | 'response.in_progress', response: () => UhpResponse): void {
    const sequence_number = this.#sequence++;
    if (this.#emit) this.#events.push({ type, sequence_number, response: response() });
  }

  ended(response: () => UhpResponse): void {
    const sequence_number = this.#sequence++;
    if (!this.#emit) return;
    const last = response();
    if (last.status === 'in_progress') throw new TypeError('A response that is in progress has not ended.');
    this.#events.push({ type: terminalTypeOf(last.status), sequence_number, response: last });
  }

  itemAdded(item: Item): void {
    const sequence_number = this.#sequence++;
    if (!this.#emit) return;
    const output_index = item.index;
    this.#events.push({ type: 'response.output_item.added', sequence_number, output_index, item: shellOf(item) });
  }

  partAdded(item: TextItem): void {
    const sequence_number = this.#sequence++;
    if (!this.#emit) return;
    const place = { item_id: item.id, output_index: item.index };
    if (item.type === 'message') {
      const part = { type: 'output_text' as const, text: '', annotations: [] };
      this.#events.push({ type: 'response.content_part.added', sequence_number, ...place, content_index: 0, part });
    } else {
      const part = { type: 'summary_text' as const, text: '' };
      const type = 'response.reasoning_summary_part.added';
      this.#events.push({ type, sequence_number, ...place, summary_index: 0, part });
    }
  }

  /** The hot path: one object, no spread. */
  delta(item: TextItem | CallItem, delta: string): void {
    const sequence_number = this.#sequence++;
    if (!this.#emit) return;
    const { id: item_id, index: output_index } = item;
    switch (item.type) {
      case 'message': {
        const type = 'response.output_text.delta';
        this.#events.push({ type, sequence_number, item_id, output_index, content_index: 0, delta });
        return;
      }
      case 'reasoning': {
        const type = 'response.reasoning_summary_text.delta';
        this.#events.push({ type, sequence_number, item_id, output_index, summary_index: 0, delta });
        return;
      }
      case 'function_call': {
        const type = 'response.function_call_arguments.delta';
        this.#events.push({ type, sequence_number, item_id, output_index, delta });
        return;
      }
    }
  }

  partDone(item: TextItem): void {
    const { text } = item;
    const place = { item_id: item.id, output_index: item.index };
    if (item.type === 'reasoning') {
      const part = { type: 'summary_text' as const, text };
      const type = 'response.reasoning_summary_part.done';
      this.#push({ type, sequence_number: this.#sequence++, ...place, summary_index: 0, part });
      return;
    }
    const part = { type: 'output_text' as const, text, annotations: [] };
    const at = { ...place, content_index: 0 };
    this.#push({ type: 'response.output_text.done', sequence_number: this.#sequence++, ...at, text });
    this.#push({ type: 'response.content_part.done', sequence_number: this.#sequence++, ...at, part });
  }

  argumentsDone(item: CallItem): void {
    const place = { item_id: item.id, output_index: item.index, arguments: item.arguments };
    const type = 'response.function_call_arguments.done';
    this.#push({ type, sequence_number: this.#sequence++, ...place });
  }

  itemDone(item: Item): void {
    const sequence_number = this.#sequence++;
    if (!this.#emit) return;
    const output_index = item.index;
    this.#events.push({ type: 'response.output_item.done', sequence_number, output_index, item: snapshotOf(item) });
  }

  reins(event: ReinsEvent): void {
    this.#push({ sequence_number: this.#sequence++, ...event });
  }

  #push(event: UhpEvent): void {
    if (this.#emit) this.#events.push(event);
  }
}
