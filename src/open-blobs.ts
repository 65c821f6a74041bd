// Where a server keeps files: its data folder, or the bucket that the operator names, which servers on several machines share.

import { ConfigurationError } from './core/errors.ts';
import { createFolderBlobs } from './files/folder-blobs.ts';
import { FilesUnavailableError, type BlobStore } from './files/blob-store.ts';
import { loadOptional } from './load-optional.ts';
import { parseS3Address } from './files/s3-address.ts';
import type { Clock } from './core/clock.ts';
import type { Config } from './config.ts';
import type { Random } from './core/random.ts';

/** @throws ConfigurationError  The bucket cannot be used with these settings. */
export async function openBlobs(
  { files, server, limits }: Config,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<BlobStore & AsyncDisposable> {
  if (files.url === null) return { ...createFolderBlobs(server.dataDir), [Symbol.asyncDispose]: async () => {} };
  const address = parseS3Address(files.url);
  if (typeof address === 'string') throw new ConfigurationError(`'files.url' cannot be used: ${address}.`);
  const { createS3Blobs } = await loadOptional(() => import('./files/s3-blobs.ts'), {
    what: 'A bucket for files',
    packages: ['@aws-sdk/client-s3'],
  });
  const blobs = createS3Blobs({ address, clock });
  if (limits.maxUploadBytes > blobs.maxBytes)
    throw new ConfigurationError(`'limits.maxUploadBytes' is above what a bucket takes, which is ${blobs.maxBytes}.`);
  try {
    await blobs.probe(random.token());
  } catch (cause) {
    const reason = cause instanceof FilesUnavailableError && cause.cause instanceof Error ? cause.cause : cause;
    throw new ConfigurationError(`The bucket of REINS_FILES_URL cannot be used: ${wordsOf(reason)}.`, { cause });
  }
  return blobs;
}

function wordsOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Of several addresses that were tried the error has no text of its own.
  const words = cause.message || (cause instanceof AggregateError ? cause.errors.map(wordsOf).join(', ') : cause.name);
  return words.replace(/\.$/, '');
}
