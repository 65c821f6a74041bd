// Where the bytes of files lie: uploads, what tasks made, how working directories stood. A folder (`folder-blobs.ts`), or a
// bucket that servers on several machines share (`s3-blobs.ts`).
//
// B1. A blob is there whole or not at all, and outlives a power cut once `put` has resolved.
// B2. Keys are made of our own ids and hashes: no name that a client or an agent gave is part of one (B121).
// B3. Who says what he expects gets these very bytes or an error. A whole reading that goes wrong ends before its last bytes.
// B4. What is not there is null. A store that cannot be reached is tried a few times, then `FilesUnavailableError`.

import { RequestError } from '../core/errors.ts';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

export type BlobArea = 'uploads' | 'files';
export type BlobKey = `${BlobArea}/${string}`;

/** Of the content, hex. */
export interface BlobSum {
  readonly bytes: number;
  readonly sha256: string;
}

/** A file that is synced and lies in the data folder, under a name that nobody looks for. */
export interface StagedFile extends BlobSum {
  readonly path: string;
}

export interface ByteRange {
  readonly start: number;
  /** The last byte. */
  readonly end: number;
}

/** To be disposed of, or read to its end. */
export interface OpenBlob {
  readonly bytes: number;
  /** Once. Absent: all of it. */
  stream(range?: ByteRange): Readable;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface BlobInfo {
  readonly key: BlobKey;
  readonly bytes: number;
  readonly writtenAtMs: number;
}

export interface BlobStore {
  /** Whether it lies beside the working directories: whoever reaches the one then reaches the others. */
  readonly place: 'data-folder' | 'bucket';
  /** The largest that it takes. */
  readonly maxBytes: number;
  /** A staged file is used up. What was there under this key is replaced. */
  put(key: BlobKey, content: StagedFile | Uint8Array): Promise<void>;
  open(key: BlobKey, sum?: BlobSum): Promise<OpenBlob | null>;
  /** Makes a new file of it, of default mode. False: it is not there, and neither is the file. */
  copyTo(path: string, key: BlobKey, sum?: BlobSum): Promise<boolean>;
  /** Nothing happens where there is none. */
  remove(key: BlobKey): Promise<void>;
  /** All below a key, in any order. */
  list(folder: BlobKey | BlobArea): AsyncIterable<BlobInfo>;
  /** Names that stand right below. */
  names(area: BlobArea): AsyncIterable<string>;
}

/** Why a working directory is on its machine alone. */
export type WhyNotStored = 'too-large' | 'not-whole' | 'changing' | 'failed';
export type NoFiles = 'unreachable' | WhyNotStored | 'not-stored';

const onAnother = 'The working directory of this session is on another server alone';
const noFiles: Readonly<Record<NoFiles, string>> = {
  unreachable: 'The place where files are kept cannot be reached now; try again later.',
  'too-large': `${onAnother}: it is too large to be stored for all.`,
  'not-whole': `${onAnother}: it holds too many files, or some that may not be stored for all.`,
  changing: `${onAnother}: files in it were being written when it was to be stored for all.`,
  failed: `${onAnother}: it could not be stored for all.`,
  'not-stored': `${onAnother}, as it was not stored for all.`,
};

/** 503 `reins_files_unavailable`: the store of files cannot be reached, or refuses, or what is asked for is not in it. */
export class FilesUnavailableError extends RequestError {
  readonly reason: NoFiles;
  /** @param cause  For the operator. */
  constructor(reason: NoFiles, cause: unknown = null) {
    super({
      status: 503,
      errorType: 'server_error',
      code: 'reins_files_unavailable',
      message: noFiles[reason],
      headers: { 'Retry-After': '5' },
      cause,
    });
    this.reason = reason;
  }
}

const plainName = /^\w[\w.-]{0,254}$/;

/** @throws Error  A name is not plain (B2). */
export function blobKey(area: BlobArea, ...names: readonly string[]): BlobKey {
  const bad = names.length === 0 || names.some((name) => !plainName.test(name));
  if (bad) throw new Error('A key of a blob is made of plain names.');
  return `${area}/${names.join('/')}`;
}

/** Undefined: this key is none of ours. */
export function parseBlobKey(key: string): BlobKey | undefined {
  const [area, ...names] = key.split('/');
  if ((area !== 'uploads' && area !== 'files') || names.length === 0) return undefined;
  return names.every((name) => plainName.test(name)) ? `${area}/${names.join('/')}` : undefined;
}

/** Null: it is not there. */
export async function readBlobText(blobs: BlobStore, key: BlobKey): Promise<string | null> {
  await using blob = await blobs.open(key);
  return blob === null ? null : await text(blob.stream());
}
