// What a task made, for a person: saved under a harmless name, or shown (C-053). Nothing of it is ever run or rendered as a
// page: what is not one of the pictures below is text, or is not shown.

import { safeFileName } from './file-name.ts';
import { messageOf } from './call-failures.ts';
import type { ActionLoop } from './action-loop.ts';
import type { FileDoor, FilePreview } from '../panels/console-store.ts';
import type { Client } from '../../client/index.ts';
import type { Platform } from './platform.ts';
import type { UhpFile } from '../state/wire.ts';

const maxUnits = 100_000;
const maxPixels = 25_000_000;
const maxImageBytes = 50 * 1024 * 1024;
const tooLarge = 'This picture is too large to be shown here.';
const imageTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

export interface FileParts {
  readonly platform: Pick<Platform, 'save' | 'pixelsOf'>;
  readonly client: Client;
  readonly attach: FileDoor['attach'];
  readonly dispatch: ActionLoop['dispatch'];
}

export function createSessionFiles({ platform, client, attach, dispatch }: FileParts): FileDoor {
  const content = async ({ container_id, id }: UhpFile, options: Parameters<Client['files']['content']>[2] = {}) => {
    if (container_id === undefined) throw new TypeError('An upload has no content to be read.');
    return client.files.content(container_id, id, options);
  };
  const saved = (answer: Promise<Response>, name: string) =>
    void answer
      .then((response) => response.arrayBuffer())
      .then((bytes) => platform.save(bytes, name))
      .catch((error: unknown) => dispatch({ type: 'failed', id: 'download', message: messageOf(error) }));
  return {
    attach,
    async preview(file, signal) {
      if (file.reins_deleted === true) return { kind: 'none', why: 'The agent has removed this file since.' };
      const type = imageTypes[/\.([^.]+)$/.exec(file.filename.toLowerCase())?.[1] ?? ''];
      if (type === undefined) return previewText(file, (range) => content(file, { range, signal }));
      if (file.bytes > maxImageBytes) return { kind: 'none', why: tooLarge };
      const image = new Blob([await (await content(file, { signal })).arrayBuffer()], { type });
      const pixels = await platform.pixelsOf(image);
      if (pixels === null) return { kind: 'none', why: 'This picture cannot be read.' };
      return pixels > maxPixels ? { kind: 'none', why: tooLarge } : { kind: 'image', blob: image };
    },
    download: (file) => saved(content(file), safeFileName(file.filename)),
    downloadAll: (sessionId, title) =>
      saved(client.sessions.archive(sessionId), `${safeFileName(title.slice(0, 80).trim() || sessionId)}.zip`),
    async output(responseId, callId) {
      try {
        const { output } = await client.responses.get(responseId);
        const given = output.findLast((item) => item.type === 'function_call_output' && item.call_id === callId);
        return given?.type === 'function_call_output' ? given.output : null;
      } catch (error) {
        dispatch({ type: 'failed', id: 'output', message: messageOf(error) });
        return null;
      }
    },
  };
}

async function previewText(
  { bytes }: UhpFile,
  read: (range: { readonly start: number; readonly end: number }) => Promise<Response>,
): Promise<FilePreview> {
  if (bytes === 0) return { kind: 'text', text: '', whole: true };
  const [start, most] = [0, maxUnits * 4];
  const got = await (await read({ start, end: Math.min(bytes, most) - 1 })).arrayBuffer();
  const text = new TextDecoder().decode(got);
  if (text.includes('\0')) return { kind: 'none', why: 'This file is not text; it can be downloaded.' };
  return {
    kind: 'text',
    text: text.slice(0, maxUnits).toWellFormed(),
    whole: bytes <= most && text.length <= maxUnits,
  };
}
