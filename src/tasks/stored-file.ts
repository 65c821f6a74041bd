import { buffer } from 'node:stream/consumers';
import { DamageError } from '../core/errors.ts';
import type { FileRecord } from '../stores/file-store.ts';
import type { OpenBlob } from '../files/blob-store.ts';
import type { Services } from './services.ts';

/** The bytes of an upload or an artifact; null: they are gone. */
export async function openStored({ files, uploads }: Services, record: FileRecord): Promise<OpenBlob | null> {
  if (record.sessionId === null) return (await uploads?.open(record.fileId, record)) ?? null;
  return (await files?.open(record.sessionId, record)) ?? null;
}

/** @throws DamageError  They are gone. */
export async function readStored(services: Services, record: FileRecord): Promise<Uint8Array> {
  const content = await openStored(services, record);
  if (content === null) throw new DamageError('The bytes of a file are gone.');
  return buffer(content.stream());
}
