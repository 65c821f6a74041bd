// The requests to one bucket, at AWS or any store that speaks S3. Of the ways to speak it AWS's own client is taken: it alone has all
// the ways of AWS to get credentials that rotate (roles of machines, containers, service accounts).
//
// S1. Each is tried up to four times, for less than a minute; what a store refuses for good is not tried again (B4).
// S2. A reading that is cut off or stalls goes on where it broke: objects are never changed.

import {
  GetObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import { FilesUnavailableError, type ByteRange } from './blob-store.ts';
import { Readable } from 'node:stream';
import { sleep, type Clock } from '../core/clock.ts';
import type { S3Address } from './s3-address.ts';

export interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

export interface S3Bucket extends Disposable {
  /** @throws FilesUnavailableError  It was tried as often as it may be. */
  tried<T>(work: (client: S3Client) => Promise<T>): Promise<T>;
  /** Null: there is no such object. */
  ifThere<T>(work: (client: S3Client) => Promise<T>): Promise<T | null>;
  bytesOf(name: ObjectName, range: ByteRange): AsyncGenerator<Uint8Array>;
  pages(asked: Pick<ListObjectsV2CommandInput, 'Prefix' | 'Delimiter'>): AsyncGenerator<ListObjectsV2CommandOutput>;
}

const nothing = () => {};
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
const pausesMs = [200, 600, 1_800];
const stalledAfterMs = 10_000;
const timeouts = { connectionTimeout: 3_000, socketTimeout: stalledAfterMs };

export function openS3Bucket({ bucket, endpoint, region }: S3Address, clock: Clock): S3Bucket {
  const client = new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    // Stores of others ask for one, and take any.
    ...(region === null && endpoint === null ? {} : { region: region ?? 'us-east-1' }),
    maxAttempts: 1, // (S1)
    logger: silent, // it has words of its own for what is said here by errors
    requestHandler: timeouts,
  });

  async function tried<T>(work: (client: S3Client) => Promise<T>): Promise<T> {
    for (let failures = 0; ;) {
      try {
        return await work(client);
      } catch (cause) {
        const pauseMs = pausesMs[failures++];
        if (pauseMs === undefined || !mayPass(cause)) throw new FilesUnavailableError('unreachable', cause);
        await sleep(clock, pauseMs);
      }
    }
  }

  const ifThere = <T>(work: (client: S3Client) => Promise<T>): Promise<T | null> =>
    tried(() => work(client).catch((cause: unknown) => (isAbsent(cause) ? null : Promise.reject(cause))));

  async function* bytesOf(name: ObjectName, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let [next, cuts] = [start, 0]; next <= end;) {
      const part = { ...name, Range: `bytes=${next}-${end}` };
      const answer = await ifThere(() => client.send(new GetObjectCommand(part)));
      if (!(answer?.Body instanceof Readable))
        throw new FilesUnavailableError('unreachable', new Error('The object is gone.'));
      try {
        for await (const chunk of unlessStalled(answer.Body, clock)) {
          next += chunk.byteLength;
          cuts = 0;
          yield chunk;
        }
        if (next <= end) throw new Error('The answer of the store was cut off.');
      } catch (cause) {
        const pauseMs = pausesMs[cuts++];
        if (pauseMs === undefined) throw new FilesUnavailableError('unreachable', cause);
        await sleep(clock, pauseMs);
      }
    }
  }

  async function* pages(
    asked: Pick<ListObjectsV2CommandInput, 'Prefix' | 'Delimiter'>,
  ): AsyncGenerator<ListObjectsV2CommandOutput> {
    let next: string | undefined;
    do {
      const more = next === undefined ? {} : { ContinuationToken: next };
      const page = await tried(() => client.send(new ListObjectsV2Command({ Bucket: bucket, ...asked, ...more })));
      yield page;
      next = page.NextContinuationToken;
    } while (next !== undefined);
  }

  return { tried, ifThere, bytesOf, pages, [Symbol.dispose]: () => client.destroy() };
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
