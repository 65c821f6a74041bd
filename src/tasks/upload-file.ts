import { fileIds } from '../core/ids.ts';
import { RequestError } from '../core/errors.ts';
import { safeName } from '../files/safe-name.ts';
import { TooLargeError } from '../files/uploads.ts';
import type { FileRecord } from '../stores/file-store.ts';
import { chargeUpload, uploadBytesLeft, uploadQuotaExhausted } from './principal-limits.ts';
import type { Services } from './services.ts';

export interface NewFile {
  readonly filename: string;
  readonly mediaType: string | null;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Bytes that are written, and not yet a file of anybody's. */
export interface ReceivedFile {
  /** @throws RequestError  429 `quota_exhausted`: others have used the room up meanwhile; nothing is left. */
  keep(): Promise<FileRecord>;
  discard(): Promise<void>;
}

/** Keeps a file of a principal, for tasks to name (U-400). @throws RequestError  As `receiveFile`. */
export async function uploadFile(services: Services, principal: string, file: NewFile): Promise<FileRecord> {
  return (await receiveFile(services, principal, file)).keep();
}

/** @throws RequestError  413 `file_too_large`, 429 `quota_exhausted`; nothing is left. */
export async function receiveFile(services: Services, principal: string, file: NewFile): Promise<ReceivedFile> {
  const { store, uploads, clock, random, settings } = services;
  if (uploads === null) throw noUploads();
  const left = await uploadBytesLeft(services, principal);
  const fileId = fileIds.make(random.token());
  const createdAtMs = clock.now();
  try {
    const saved = await uploads.save(fileId, file.bytes, Math.min(settings.maxUploadBytes, left ?? Infinity));
    const { mediaType } = file;
    const whose = { fileId, principal, sessionId: null, runId: null, filename: safeName(file.filename) };
    const record: FileRecord = { ...whose, ...saved, mediaType, createdAtMs, removed: false };
    return {
      async keep() {
        try {
          await chargeUpload(services, principal, saved.bytes);
          await store.putUpload(record);
        } catch (cause) {
          await uploads.remove(fileId);
          throw cause;
        }
        return record;
      },
      discard: () => uploads.remove(fileId),
    };
  } catch (cause) {
    if (!(cause instanceof TooLargeError)) throw cause;
    if (cause.maxBytes < settings.maxUploadBytes) throw await uploadQuotaExhausted(services, principal);
    throw new RequestError({
      status: 413,
      errorType: 'invalid_request_error',
      code: 'file_too_large',
      message: `A file may have at most ${cause.maxBytes} bytes.`,
      param: 'file',
      detail: { max_bytes: cause.maxBytes },
    });
  }
}

function noUploads(): RequestError {
  return new RequestError({
    status: 501,
    errorType: 'server_error',
    code: 'reins_capability_unsupported',
    message: 'Files are not kept here.',
  });
}
