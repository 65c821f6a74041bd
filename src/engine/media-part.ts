// Images and other files of the conversation, by reference in the log and by their bytes in a request (E-105, E-552). What a
// model does not take stands there in words.

import type { ContentStore } from './content-store.ts';
import type { MediaRef } from '../core/run-event.ts';
import type { Message } from '../core/transcript.ts';

export type MediaPart =
  | {
      readonly type: 'file';
      readonly mediaType: string;
      readonly data: { readonly type: 'data'; readonly data: Uint8Array };
      readonly filename?: string;
    }
  | { readonly type: 'text'; readonly text: string };

type NamedMedia = MediaRef & { readonly filename?: string };

/** The files that a model can be shown, by reference; null: the store has lost them. */
export type MediaShelf = ReadonlyMap<string, Uint8Array | null>;

/** The shelf with what is new in these messages: what the model takes is read, once, and nothing else. */
export async function loadMedia(
  messages: readonly Message[],
  o: { readonly content: ContentStore; readonly accepts: readonly string[]; readonly shelf: MediaShelf },
): Promise<MediaShelf> {
  if (o.accepts.length === 0) return o.shelf;
  const refs = new Set<string>();
  for (const message of messages)
    for (const media of mediaOf(message)) if (isTaken(media, o.accepts) && !o.shelf.has(media.ref)) refs.add(media.ref);
  if (refs.size === 0) return o.shelf;
  const more = await Promise.all([...refs].map(async (ref) => [ref, await o.content.content(ref)] as const));
  return new Map([...o.shelf, ...more]);
}

/** The file as a part of a request. */
export function mediaPart({ ref, bytes, mediaType, filename }: NamedMedia, shelf: MediaShelf): MediaPart {
  const data = shelf.get(ref);
  if (data instanceof Uint8Array)
    return { type: 'file', mediaType, data: { type: 'data', data }, ...(filename === undefined ? {} : { filename }) };
  const what = `${filename === undefined ? 'A file' : `The file ${JSON.stringify(filename)}`} (${mediaType}, ${bytes} bytes)`;
  const why = data === null ? 'is not kept any more' : 'cannot be shown to this model';
  return { type: 'text', text: `[${what} ${why}.]` };
}

function mediaOf(message: Message): readonly NamedMedia[] {
  switch (message.role) {
    case 'user':
      return message.content.filter((part) => part.type === 'media').filter(isToBeSeen);
    case 'assistant':
      return [];
    case 'tool':
      return message.answers.flatMap(({ media }) => media ?? []);
  }
}

/** What lies in the working directory is read there; an image is looked at as well (UD-44). */
function isToBeSeen({ path, mediaType }: { readonly path?: string; readonly mediaType: string }): boolean {
  return path === undefined || mediaType.startsWith('image/');
}

/** `image/*` takes every image. Parameters and letter case of a type say nothing here. */
function isTaken({ mediaType }: NamedMedia, accepts: readonly string[]): boolean {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return accepts.some((pattern) =>
    pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1).toLowerCase()) : type === pattern.toLowerCase(),
  );
}
