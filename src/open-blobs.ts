// Where a server keeps files: its data folder, or the bucket that the operator names, which servers on several machines share.

import { ConfigurationError } from './core/errors.ts';
import { createFolderBlobs } from './files/folder-blobs.ts';
import { FilesUnavailableError, type BlobStore } from './files/blob-store.ts';
import { loadOptional } from './load-optional.ts';
import { parseS3Address } from './files/s3-address.ts';
import { reasonOf } from './reason-of.ts';
import type { Clock } from './core/clock.ts';
import type { Config } from './config.ts';
import type { Random } from './core/random.ts';
import type { S3Blobs } from './files/s3-blobs.ts';

/** @throws ConfigurationError  The bucket cannot be used with these settings, or does not answer. */
export async function openBlobs(
  config: Config,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<BlobStore & AsyncDisposable> {
  const { url } = config.files;
  if (url === null) return { ...createFolderBlobs(config.server.dataDir), [Symbol.asyncDispose]: async () => {} };
  const blobs = await bucketOf(url, config, clock);
  try {
    await blobs.probe(random.token());
  } catch (cause) {
    throw new ConfigurationError(`The bucket of REINS_FILES_URL cannot be used: ${whyNoFiles(cause)}.`, { cause });
  }
  return blobs;
}

/** Of the settings, before anything is asked of it. @throws ConfigurationError  It cannot be used with these. */
export async function bucketOf(url: string, { limits }: Pick<Config, 'limits'>, clock: Clock): Promise<S3Blobs> {
  const address = parseS3Address(url);
  if (typeof address === 'string') throw new ConfigurationError(`'files.url' cannot be used: ${address}.`);
  const { createS3Blobs } = await loadOptional(() => import('./files/s3-blobs.ts'), {
    what: 'A bucket for files',
    packages: ['@aws-sdk/client-s3'],
  });
  const blobs = createS3Blobs({ address, clock });
  if (limits.maxUploadBytes > blobs.maxBytes)
    throw new ConfigurationError(`'limits.maxUploadBytes' is above what a bucket takes, which is ${blobs.maxBytes}.`);
  return blobs;
}

/** For the operator, without the last stop. */
export function whyNoFiles(cause: unknown): string {
  return reasonOf(cause instanceof FilesUnavailableError && cause.cause instanceof Error ? cause.cause : cause);
}
