// What a client sees of an event stream: raw frames, so that bytes can be compared, with the event read out of each.

/** One event as it came: its text byte for byte, its `id:` and its `data`. */
export interface SeenFrame {
  readonly text: string;
  readonly id: number;
  readonly event: StreamEvent;
}

export interface StreamEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly delta?: string;
  readonly item?: Item;
  readonly part?: { readonly text: string };
  readonly response?: Body;
  readonly [field: string]: unknown;
}

export interface Item {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: string;
  readonly content?: readonly { readonly text: string }[];
  readonly summary?: readonly { readonly text: string }[];
}

/** A response object, or the error envelope. */
export interface Body {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly model: string;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly error: { readonly type: string; readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly session_id: string };
  readonly [field: string]: unknown;
}

/** Frames as they arrive; ends with the stream, also where the connection breaks. Comments are skipped. */
export async function* readFrames(bytes: ReadableStream<Uint8Array>): AsyncGenerator<SeenFrame> {
  let rest = '';
  try {
    for await (const chunk of bytes.pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))) {
      const pieces = (rest + chunk).split('\n\n');
      rest = pieces.pop() ?? '';
      for (const text of pieces) if (!text.startsWith(':')) yield parseFrame(text);
    }
  } catch (cause) {
    if (!isCut(cause)) throw cause;
  }
}

function parseFrame(text: string): SeenFrame {
  const parts = /^id: (\d+)\ndata: ([^\n]+)$/.exec(text);
  if (parts === null) throw new Error(`This is no frame of an event stream: ${text}`);
  const frame = { text, id: Number(parts[1]), event: JSON.parse(parts[2] ?? '') as StreamEvent };
  // B025: the cursor of the header and the number of the event are one.
  if (frame.id !== frame.event.sequence_number) throw new Error(`id: and sequence_number differ: ${text}`);
  return frame;
}

/** The ends that a client or a killed server gives a connection. */
function isCut(cause: unknown): boolean {
  return cause instanceof Error && (cause.name === 'AbortError' || cause.message === 'terminated');
}

export const isDelta = ({ event }: SeenFrame): boolean => event.delta !== undefined;

export const isTerminal = ({ event }: SeenFrame): boolean =>
  event.type === 'response.completed' || event.type === 'response.failed' || event.type === 'response.incomplete';

/** The output as a plain client builds it (U-444): by `output_index`, from deltas, each whole field checked against them. */
export function assembleOutput(frames: readonly SeenFrame[]): readonly Item[] {
  const open = new Map<number, string>();
  const items = new Map<number, Item>();
  for (const { event } of frames) {
    const { type, output_index: index = -1, delta, item } = event;
    if (type === 'response.output_item.added' && item !== undefined) {
      open.set(index, '');
      items.set(index, item);
    }
    if (delta !== undefined) open.set(index, (open.get(index) ?? '') + delta);
    if (type !== 'response.output_item.done' || item === undefined) continue;
    const said = textOf(item);
    if (item.type !== 'function_call_output' && said !== open.get(index))
      throw new Error(`Item ${item.id} says ${JSON.stringify(said)}, its deltas ${JSON.stringify(open.get(index))}`);
    if (item.id !== items.get(index)?.id)
      throw new Error(`Item ${item.id} is done, but was not the one added at ${index}.`);
    items.set(index, item);
  }
  return [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

/** What a person reads of an item. */
export function textOf({ content, summary, arguments: args, output }: Item): string {
  return [...(content ?? []), ...(summary ?? [])].map(({ text }) => text).join('') + (args ?? '') + (output ?? '');
}

/** The text of all messages, joined. */
export function answerOf({ output }: Pick<Body, 'output'>): string {
  return output
    .filter(({ type }) => type === 'message')
    .map(textOf)
    .join('');
}
