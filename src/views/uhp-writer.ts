import { terminalTypeOf, type ReinsEvent, type UhpEvent } from '../protocol/uhp/events.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';
import { shellOf, snapshotOf, type CallItem, type Item, type TextItem } from './uhp-items.ts';

/**
 * Numbers the events of one stream, and builds them only when somebody reads: a fold for the response alone counts.
 * Knows the order of events inside an item (U-306); what happens when is the fold's.
 */
export class UhpWriter {
  /** Off: events are numbered and not built. May change between two events of the log. */
  emit: boolean;
  #sequence = 0;
  #events: UhpEvent[] = [];

  constructor(emit: boolean) {
    this.emit = emit;
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
    this.#write((sequence_number) => ({ type, sequence_number, response: response() }));
  }

  ended(response: () => UhpResponse): void {
    this.#write((sequence_number) => {
      const last = response();
      if (last.status === 'in_progress') throw new TypeError('A response that is in progress has not ended.');
      return { type: terminalTypeOf(last.status), sequence_number, response: last };
    });
  }

  itemAdded(item: Item): void {
    const type = 'response.output_item.added';
    this.#write((sequence_number) => ({ type, sequence_number, output_index: item.index, item: shellOf(item) }));
  }

  partAdded(item: TextItem): void {
    this.#write((sequence_number) => {
      const place = { sequence_number, item_id: item.id, output_index: item.index };
      if (item.type === 'reasoning') {
        const part = { type: 'summary_text', text: '' } as const;
        return { type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part };
      }
      const part = { type: 'output_text', text: '', annotations: [] } as const;
      return { type: 'response.content_part.added', ...place, content_index: 0, part };
    });
  }

  /** The hot path: one object, no spread, no closure. */
  delta(item: TextItem | CallItem, delta: string): void {
    const sequence_number = this.#sequence++;
    if (!this.emit) return;
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
    const { id: item_id, index: output_index } = item;
    const text = item.text.whole;
    if (item.type === 'reasoning') {
      return this.#write((sequence_number) => {
        const type = 'response.reasoning_summary_part.done';
        const part = { type: 'summary_text', text } as const;
        return { type, sequence_number, item_id, output_index, summary_index: 0, part };
      });
    }
    const content_index = 0;
    this.#write((sequence_number) => {
      const type = 'response.output_text.done';
      return { type, sequence_number, item_id, output_index, content_index, text };
    });
    const { annotations } = item;
    for (const [annotation_index, annotation] of annotations.entries())
      this.#write((sequence_number) => {
        const type = 'response.output_text.annotation.added';
        return { type, sequence_number, item_id, output_index, content_index, annotation_index, annotation };
      });
    this.#write((sequence_number) => {
      const type = 'response.content_part.done';
      const part = { type: 'output_text', text, annotations } as const;
      return { type, sequence_number, item_id, output_index, content_index, part };
    });
  }

  argumentsDone(item: CallItem): void {
    this.#write((sequence_number) => ({
      type: 'response.function_call_arguments.done',
      sequence_number,
      item_id: item.id,
      output_index: item.index,
      arguments: item.arguments,
    }));
  }

  itemDone(item: Item): void {
    const type = 'response.output_item.done';
    this.#write((sequence_number) => ({ type, sequence_number, output_index: item.index, item: snapshotOf(item) }));
  }

  reins(event: ReinsEvent): void {
    this.#write((sequence_number) => ({ sequence_number, ...event }));
  }

  #write(build: (sequence_number: number) => UhpEvent): void {
    const sequence_number = this.#sequence++;
    if (this.emit) this.#events.push(build(sequence_number));
  }
}
