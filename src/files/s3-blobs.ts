// Blobs as objects of a bucket, at AWS or any store that speaks S3. Of the ways to speak it AWS's own client is taken, as it alone
// has all the ways of AWS to get credentials that rotate (roles of machines, containers, service accounts); it is loaded only here.
//
// S1. Each request is tried up to four times, for less than a minute; what a store refuses for good is not tried again (B4).
// S2. A reading that is cut off or stalls goes on where it broke: objects are never changed.
// S3. An object is put in one request, with the hash that the store shall find: it is there whole or not at all.

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import { checkedBytes } from './checked-bytes.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { blobKey, FilesUnavailableError, parseBlobKey, readBlobText } from './blob-store.ts';
import { Readable } from 'node:stream';
import { rm, writeFile } from 'node:fs/promises';
import { sleep, type Clock } from '../core/clock.ts';
import type { BlobKey, BlobStore, BlobSum, ByteRange } from './blob-store.ts';
import type { S3Address } from './s3-address.ts';

const nothing = () => {};
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
const pausesMs = [200, 600, 1_800];
const stalledAfterMs = 10_000;
const timeouts = { connectionTimeout: 3_000, socketTimeout: stalledAfterMs };
/** What S3 takes in one request. */
const mostBytes = 5 * 1024 ** 3;

export interface S3BlobsOptions {
  readonly address: S3Address;
  readonly clock: Clock;
}

export interface S3Blobs extends BlobStore, AsyncDisposable {
  /**
   * Writes, reads, lists and removes a blob of this name.
   * @throws FilesUnavailableError  Not all of it can be done with these settings.
   */
  probe(name: string): Promise<void>;
}

export function createS3Blobs({ address: { bucket, prefix, endpoint, region }, clock }: S3BlobsOptions): S3Blobs {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    // Stores of others ask for one, and take any.
    ...(region === null && endpoint === null ? {} : { region: region ?? 'us-east-1' }),
    maxAttempts: 1, // (S1)
    logger: silent, // it has words of its own for what is said here by errors
    requestHandler: timeouts,
  });
  const at = (key: BlobKey) => ({ Bucket: bucket, Key: `${prefix}${key}` });

  async function tried<T>(work: () => Promise<T>): Promise<T> {
    for (const pauseMs of [...pausesMs, null]) {
      try {
        return await work();
      } catch (cause) {
        if (pauseMs === null || !mayPass(cause)) throw new FilesUnavailableError(cause);
        await sleep(clock, pauseMs);
      }
    }
    throw new Error('The last try ends it.');
  }

  /** Null: there is no such object. */
  const ifThere = <T>(work: () => Promise<T>): Promise<T | null> =>
    tried(() => work().catch((cause: unknown) => (isAbsent(cause) ? null : Promise.reject(cause))));

  async function* bytesOf(key: BlobKey, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let [next, cuts] = [start, 0]; next <= end;) {
      const part = { ...at(key), Range: `bytes=${next}-${end}` };
      const answer = await ifThere(() => client.send(new GetObjectCommand(part)));
      if (!(answer?.Body instanceof Readable)) throw new FilesUnavailableError(new Error('The object is gone.'));
      try {
        for await (const chunk of unlessStalled(answer.Body, clock)) {
          next += chunk.byteLength;
          cuts = 0;
          yield chunk;
        }
        if (next <= end) throw new Error('The answer of the store was cut off.');
      } catch (cause) {
        const pauseMs = pausesMs[cuts++];
        if (pauseMs === undefined) throw new FilesUnavailableError(cause);
        await sleep(clock, pauseMs);
      }
    }
  }

  function streamOf(key: BlobKey, bytes: number, o: { readonly range?: ByteRange; readonly sum?: BlobSum }): Readable {
    const { range, sum } = o;
    const source = bytesOf(key, range ?? { start: 0, end: bytes - 1 });
    const checked = range === undefined && sum !== undefined ? checkedBytes(source, sum) : source;
    return Readable.from(checked, { objectMode: false });
  }

  async function* pages(
    folder: string,
    how: Pick<ListObjectsV2CommandInput, 'Delimiter' | 'MaxKeys'> = {},
  ): AsyncGenerator<ListObjectsV2CommandOutput> {
    const asked = { Bucket: bucket, Prefix: `${prefix}${folder}/`, ...how };
    let next: string | undefined;
    do {
      const more = next === undefined ? {} : { ContinuationToken: next };
      const page = await tried(() => client.send(new ListObjectsV2Command({ ...asked, ...more })));
      yield page;
      next = page.NextContinuationToken;
    } while (next !== undefined);
  }

  const blobs: S3Blobs = {
    place: 'bucket',
    maxBytes: mostBytes,
    async put(key, content) {
      const isText = content instanceof Uint8Array;
      const hash = isText ? createHash('sha256').update(content).digest() : Buffer.from(content.sha256, 'hex');
      const ChecksumSHA256 = hash.toString('base64');
      const ContentLength = isText ? content.byteLength : content.bytes;
      await tried(() => {
        const Body = isText ? content : createReadStream(content.path);
        return client.send(new PutObjectCommand({ ...at(key), Body, ContentLength, ChecksumSHA256 }));
      });
      if (!isText) await rm(content.path, { force: true });
    },
    async open(key, sum) {
      const head = await ifThere(() => client.send(new HeadObjectCommand(at(key))));
      if (head === null) return null;
      const bytes = head.ContentLength ?? 0;
      return {
        bytes,
        stream: (range) => streamOf(key, bytes, { ...(range && { range }), ...(sum && { sum }) }),
        [Symbol.asyncDispose]: async () => {},
      };
    },
    async copyTo(path, key, sum) {
      const blob = await blobs.open(key, sum);
      if (blob === null) return false;
      try {
        await writeFile(path, blob.stream(), { flag: 'wx' });
        return true;
      } catch (cause) {
        await rm(path, { force: true });
        throw cause;
      }
    },
    async remove(key) {
      await ifThere(() => client.send(new DeleteObjectCommand(at(key))));
    },
    async *list(folder) {
      for await (const { Contents = [] } of pages(folder)) {
        for (const { Key = '', Size = 0, LastModified } of Contents) {
          const key = parseBlobKey(Key.slice(prefix.length));
          if (key !== undefined) yield { key, bytes: Size, writtenAtMs: LastModified?.getTime() ?? 0 };
        }
      }
    },
    async *names(area) {
      for await (const { CommonPrefixes = [] } of pages(area, { Delimiter: '/' }))
        for (const { Prefix = '' } of CommonPrefixes) yield Prefix.slice(prefix.length + area.length + 1, -1);
    },
    async probe(name) {
      const key = blobKey('files', 'probe', name);
      await blobs.put(key, new TextEncoder().encode('Written at each start of a server, and removed at once.'));
      await readBlobText(blobs, key);
      await pages('files/probe', { MaxKeys: 1 }).next();
      await blobs.remove(key);
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
    },
  };
  return blobs;
}

/** What a store says when there is no such object; of a bucket that is gone it says something else. */
function isAbsent(cause: unknown): boolean {
  return cause instanceof Error && (cause.name === 'NoSuchKey' || cause.name === 'NotFound');
}

/** Faults of the network, and those that a store has for a while. */
function mayPass(cause: unknown): boolean {
  if (!(cause instanceof Error) || cause.name === 'CredentialsProviderError') return false;
  const status = cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined;
  return status === undefined || status === 429 || status >= 500;
}

async function* unlessStalled(body: Readable, clock: Clock): AsyncGenerator<Uint8Array> {
  const reader = body.iterator({ destroyOnReturn: true });
  try {
    for (;;) {
      // Only while it is asked: whoever reads may take his time.
      const cancel = clock.timer(stalledAfterMs, () => body.destroy(new Error('The store has stopped sending.')));
      const { done, value }: IteratorResult<unknown> = await reader.next().finally(cancel);
      if (done === true) return;
      if (value instanceof Uint8Array) yield value;
    }
  } finally {
    body.destroy();
  }
}
