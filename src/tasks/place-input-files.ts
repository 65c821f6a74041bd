import { fileIds } from '../core/ids.ts';
import { join } from 'node:path';
import { open } from 'node:fs/promises';
import { readStored } from './stored-file.ts';
import { safeName } from '../files/safe-name.ts';
import { StorageError } from '../core/errors.ts';
import type { Services } from './services.ts';
import type { UserMessage, UserPart } from '../core/run-event.ts';

/**
 * Puts the files of these messages where the log says that they lie (UD-44). What is there already was put there before: it
 * may be the agent's by now. Nothing is followed out of the working directory: the name is a plain one, and is made anew.
 */
export async function placeInputFiles(
  services: Services,
  workspace: string,
  messages: readonly Pick<UserMessage, 'content'>[],
): Promise<void> {
  for (const part of messages.flatMap(({ content }) => content)) {
    if (part.type === 'text' || part.path === undefined || part.path !== safeName(part.path)) continue;
    const file = await open(join(workspace, part.path), 'wx', 0o644).catch((cause: unknown) => {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return null;
      throw new StorageError('A file of the input could not be put into the working directory.', { cause });
    });
    if (file === null) continue;
    try {
      await file.writeFile(await bytesOf(services, part));
    } finally {
      await file.close();
    }
  }
}

async function bytesOf(services: Services, part: Exclude<UserPart, { type: 'text' }>): Promise<Uint8Array> {
  if (part.type === 'file') return new TextEncoder().encode(part.text);
  const id = part.ref.startsWith('file:') ? fileIds.parse(part.ref.slice('file:'.length)) : undefined;
  if (id !== undefined) {
    const record = await services.store.file(id);
    if (record !== null) return readStored(services, record);
  }
  const bytes = await services.store.content(part.ref);
  if (bytes === null) throw new StorageError('A file of the input is gone.');
  return bytes;
}
