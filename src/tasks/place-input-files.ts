import { FilesUnavailableError } from '../files/blob-store.ts';
import { fileIds } from '../core/ids.ts';
import { openStored } from './stored-file.ts';
import { placeFile } from '../files/place-file.ts';
import { safeName } from '../files/safe-name.ts';
import { DamageError, FolderError, isOutage, StorageError } from '../core/errors.ts';
import type { Readable } from 'node:stream';
import type { Services } from './services.ts';
import type { UserMessage, UserPart } from '../core/run-event.ts';

/**
 * Puts the files of these messages where the log says that they lie (UD-44). What is there already stays: it was put there
 * before, and may be the agent's by now. Gives the names of those that are new.
 */
export async function placeInputFiles(
  services: Services,
  workspace: string,
  messages: readonly Pick<UserMessage, 'content'>[],
): Promise<readonly string[]> {
  const placed: string[] = [];
  for (const part of messages.flatMap(({ content }) => content)) {
    if (part.type === 'text' || part.path === undefined || part.path !== safeName(part.path)) continue;
    const isNew = await placeFile(workspace, part.path, () => contentOf(services, part)).catch((cause: unknown) => {
      const isAway = isOutage(cause) || cause instanceof FilesUnavailableError;
      const Kind = isAway ? StorageError : FolderError;
      throw new Kind('A file of the input could not be put into the working directory.', { cause });
    });
    if (isNew) placed.push(part.path);
  }
  return placed;
}

async function contentOf(
  services: Services,
  part: Exclude<UserPart, { type: 'text' }>,
): Promise<Uint8Array | Readable> {
  if (part.type === 'file') return new TextEncoder().encode(part.text);
  const id = part.ref.startsWith('file:') ? fileIds.parse(part.ref.slice('file:'.length)) : undefined;
  const record = id === undefined ? null : await services.store.file(id);
  const stored = record === null ? null : await openStored(services, record);
  const content = stored?.stream() ?? (await services.store.content(part.ref));
  if (content === null) throw new DamageError('A file of the input is gone.');
  return content;
}
