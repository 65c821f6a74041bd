// Blobs as objects of a bucket. Its client is loaded only where one is set.
//
// An object is put in one request, with the hash that the store shall find: it is there whole or not at all (B1).

import { blobKey, FilesUnavailableError, parseBlobKey, readBlobText } from './blob-store.ts';
import { checkedBytes } from './checked-bytes.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { openS3Bucket } from './s3-bucket.ts';
import { Readable } from 'node:stream';
import { rm, writeFile } from 'node:fs/promises';
import type { BlobKey, BlobStore, BlobSum, ByteRange } from './blob-store.ts';
import type { Clock } from '../core/clock.ts';
import type { S3Address } from './s3-address.ts';

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

export function createS3Blobs({ address, clock }: S3BlobsOptions): S3Blobs {
  const bucket = openS3Bucket(address, clock);
  const { prefix } = address;
  const at = (key: BlobKey) => ({ Bucket: address.bucket, Key: `${prefix}${key}` });

  function streamOf(key: BlobKey, bytes: number, o: { readonly range?: ByteRange; readonly sum?: BlobSum }): Readable {
    const { range, sum } = o;
    const source = bucket.bytesOf(at(key), range ?? { start: 0, end: bytes - 1 });
    const checked = range === undefined && sum !== undefined ? checkedBytes(source, sum) : source;
    return Readable.from(checked, { objectMode: false });
  }

  const blobs: S3Blobs = {
    place: 'bucket',
    maxBytes: mostBytes,
    async put(key, content) {
      const isInMemory = content instanceof Uint8Array;
      const hash = isInMemory ? createHash('sha256').update(content).digest() : Buffer.from(content.sha256, 'hex');
      const ChecksumSHA256 = hash.toString('base64');
      const ContentLength = isInMemory ? content.byteLength : content.bytes;
      const asked = { ...at(key), ContentLength, ChecksumSHA256 };
      await bucket.tried((client) =>
        isInMemory
          ? client.send(new PutObjectCommand({ ...asked, Body: content }))
          : putFile(client, asked, content.path),
      );
      if (!isInMemory) await rm(content.path, { force: true });
    },
    async open(key, sum) {
      const head = await bucket.ifThere((client) => client.send(new HeadObjectCommand(at(key))));
      if (head === null) return null;
      const bytes = told(head.ContentLength);
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
      await bucket.ifThere((client) => client.send(new DeleteObjectCommand(at(key))));
    },
    async *list(folder) {
      for await (const { Contents = [] } of bucket.pages({ Prefix: `${prefix}${folder}/` })) {
        for (const { Key = '', Size, LastModified } of Contents) {
          const key = parseBlobKey(Key.slice(prefix.length));
          if (key !== undefined) yield { key, bytes: told(Size), writtenAtMs: told(LastModified).getTime() };
        }
      }
    },
    async *names(area) {
      for await (const { CommonPrefixes = [] } of bucket.pages({ Prefix: `${prefix}${area}/`, Delimiter: '/' }))
        for (const { Prefix = '' } of CommonPrefixes) yield Prefix.slice(prefix.length + area.length + 1, -1);
    },
    async probe(name) {
      const key = blobKey('files', 'probe', name);
      await blobs.put(key, new TextEncoder().encode('Written at each start of a server, and removed at once.'));
      await readBlobText(blobs, key);
      await Array.fromAsync(blobs.list(key));
      await blobs.remove(key);
    },
    async [Symbol.asyncDispose]() {
      bucket[Symbol.dispose]();
    },
  };
  return blobs;
}

/** The client only reads the file: it neither closes it nor hears of its faults. */
async function putFile(client: S3Client, asked: Omit<PutObjectCommandInput, 'Body'>, path: string): Promise<unknown> {
  const Body = createReadStream(path);
  const fault = new AbortController();
  Body.on('error', (cause) => fault.abort(cause));
  try {
    return await client.send(new PutObjectCommand({ ...asked, Body }), { abortSignal: fault.signal });
  } catch (cause) {
    throw fault.signal.aborted ? fault.signal.reason : cause;
  } finally {
    Body.destroy();
  }
}

/** What a store leaves out of its answer is not zero: an upload without a time would be taken for an old one. */
function told<T>(value: T | undefined): T {
  if (value === undefined)
    throw new FilesUnavailableError('unreachable', new Error('The answer lacks a size or a time.'));
  return value;
}
