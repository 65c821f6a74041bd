import { buffer } from 'node:stream/consumers';
import { StorageError } from '../core/errors.ts';
import type { FileHandle } from 'node:fs/promises';
import type { FileRecord } from '../stores/file-store.ts';
import type { Services } from './services.ts';

/** The bytes of an upload or an artifact, to be closed; null: they are gone. */
export async function openStored({ files, uploads }: Services, record: FileRecord): Promise<FileHandle | null> {
  if (record.sessionId === null) return (await uploads?.open(record.fileId)) ?? null;
  return (await files?.open(record.sessionId, record.sha256)) ?? null;
}

/** @throws StorageError  They are gone. */
export async function readStored(services: Services, record: FileRecord): Promise<Uint8Array> {
  const handle = await openStored(services, record);
  if (handle === null) throw new StorageError('The bytes of a file are gone.');
  return buffer(handle.createReadStream({ autoClose: true }));
}
