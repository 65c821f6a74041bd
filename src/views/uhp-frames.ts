import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { encodeSse } from '../protocol/sse.ts';
import { isTerminal, type UhpEvent, type UhpEventOf } from '../protocol/uhp/events.ts';
import { createUhpView, type UhpViewOptions } from './uhp-view.ts';

export interface Frame {
  readonly sequence: number;
  /** One event as SSE text, ready to be written; shared by all readers of a run. */
  readonly text: string;
  readonly terminal: boolean;
}

export interface UhpFrames {
  push(event: EventDraft | RunEvent): readonly Frame[];
}

/** The UHP stream of one run as encoded frames. */
export function createUhpFrames(options: Omit<UhpViewOptions, 'emit'>): UhpFrames {
  const view = createUhpView({ ...options, emit: true });
  const encode = createEncoder();
  return { push: (event) => view.push(event).map(encode) };
}

function createEncoder(): (event: UhpEvent) => Frame {
  // Nearly all events are deltas of a few open items: what those of one item share is encoded once.
  const shared: { readonly itemId: string; readonly text: string }[] = [];
  const encodeDelta = (event: UhpEventOf<'response.output_text.delta'>): Frame => {
    const { sequence_number: sequence, item_id, output_index } = event;
    let place = shared[output_index];
    if (place?.itemId !== item_id) place = shared[output_index] = { itemId: item_id, text: encodePlace(event) };
    const delta = JSON.stringify(event.delta);
    const data = `{"type":"response.output_text.delta","sequence_number":${sequence}${place.text}${delta}}`;
    return { sequence, text: encodeSse(sequence, data), terminal: false };
  };
  return (event) => {
    if (event.type === 'response.output_text.delta') return encodeDelta(event);
    const sequence = event.sequence_number;
    return { sequence, text: encodeSse(sequence, JSON.stringify(event)), terminal: isTerminal(event) };
  };
}

function encodePlace({ item_id, output_index, content_index }: UhpEventOf<'response.output_text.delta'>): string {
  return `,"item_id":${JSON.stringify(item_id)},"output_index":${output_index},"content_index":${content_index},"delta":`;
}

/** The frames of a text of whole frames from number `id` on, which is one of them. */
export function framesFrom(text: string, id: number): string {
  const start = `id: ${id}\n`;
  // No line of a frame but its first begins so: data are one line of JSON.
  return text.startsWith(start) ? text : text.slice(text.indexOf(`\n\n${start}`) + 2);
}
