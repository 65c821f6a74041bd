import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { encodeSse } from '../protocol/sse.ts';
import { isTerminal, type UhpEvent, type UhpEventOf } from '../protocol/uhp/events.ts';
import { createUhpView, type UhpResponse, type UhpViewOptions } from './uhp-view.ts';

/** The frames `first` to `last` of one stream, as one text to write; shared by all readers of a run. */
export interface FrameBatch {
  readonly first: number;
  readonly last: number;
  readonly text: string;
  /** The last of them ends the stream. */
  readonly terminal: boolean;
}

/** The UHP stream of one run as encoded frames, and its response: one fold (UD-20). */
export interface UhpFrames {
  /** Folds events; their frames, or null where they gave none or `encode` is off. */
  push(events: readonly (EventDraft | RunEvent)[]): FrameBatch | null;
  response(): UhpResponse;
  /** Number of the next frame. */
  readonly sequence: number;
  /** Off: frames are numbered and not made. */
  encode: boolean;
}

export function createUhpFrames(options: Omit<UhpViewOptions, 'emit'> & { readonly encode: boolean }): UhpFrames {
  const view = createUhpView({ ...options, emit: options.encode });
  const encode = createEncoder();
  return {
    push(events) {
      const first = view.sequence;
      let [text, terminal] = ['', false];
      for (const event of events)
        for (const wire of view.push(event)) {
          text += encode(wire);
          terminal = isTerminal(wire);
        }
      return text === '' ? null : { first, last: view.sequence - 1, text, terminal };
    },
    response: () => view.response(),
    get sequence() {
      return view.sequence;
    },
    get encode() {
      return view.emit;
    },
    set encode(on) {
      view.emit = on;
    },
  };
}

function createEncoder(): (event: UhpEvent) => string {
  // Nearly all events are deltas of a few open items: what those of one item share is encoded once.
  const shared: { readonly itemId: string; readonly text: string }[] = [];
  const encodeDelta = (event: UhpEventOf<'response.output_text.delta'>): string => {
    const { sequence_number: sequence, item_id, output_index } = event;
    let place = shared[output_index];
    if (place?.itemId !== item_id) place = shared[output_index] = { itemId: item_id, text: encodePlace(event) };
    const delta = JSON.stringify(event.delta);
    return encodeSse(
      sequence,
      `{"type":"response.output_text.delta","sequence_number":${sequence}${place.text}${delta}}`,
    );
  };
  return (event) =>
    event.type === 'response.output_text.delta'
      ? encodeDelta(event)
      : encodeSse(event.sequence_number, JSON.stringify(event));
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
