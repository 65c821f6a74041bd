// An S3 of a test file's own: moto, which others have written, on loopback, behind a network that can be broken. Where it is not
// installed (`pip install 'moto[server]'`) the tests say that they are skipped; REINS_REQUIRE_S3 forbids that.

import { afterAll, describe } from 'vitest';
import { connect, createServer, type Socket } from 'node:net';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { findProgram } from '../../src/process/find-program.ts';

const program = findProgram('moto_server', process.env['PATH']);
const isRequired = (process.env['REINS_REQUIRE_S3'] ?? '') !== '';
const credentials = { AWS_ACCESS_KEY_ID: 'reins-test', AWS_SECRET_ACCESS_KEY: 'reins-test-secret' };

export interface S3 extends AsyncDisposable {
  /** What a server in a process of its own needs. */
  readonly env: Readonly<Record<string, string>>;
  readonly network: Network;
  /** A new bucket; its address as `REINS_FILES_URL` has it. */
  bucket(): Promise<{ readonly name: string; readonly url: string }>;
  keys(bucket: string): Promise<readonly string[]>;
  /** As somebody would who is no Reins. */
  overwrite(bucket: string, key: string, text: string): Promise<void>;
}

/** Connections from now on: as they should be, refused, silent, or cut after so many bytes of an answer. */
export type Weather = 'fair' | 'refused' | 'silent' | { readonly cutAfter: number };

export interface Network {
  weather: Weather;
  /** Connections that it was asked for. */
  asked: number;
}

/** A suite with an S3, which the whole of it shares. */
export function describeWithS3(name: string, suite: (s3: () => Promise<S3>) => void): void {
  const isSkipped = program === null && !isRequired;
  describe.skipIf(isSkipped)(isSkipped ? `${name} (skipped: no moto_server on this machine)` : name, () => {
    let started: Promise<S3> | null = null;
    afterAll(async () => (await started)?.[Symbol.asyncDispose]());
    suite(() => (started ??= startS3()));
  });
}

async function startS3(): Promise<S3> {
  if (program === null) throw new Error('REINS_REQUIRE_S3 is set, and there is no moto_server on this machine.');
  // The client in this very process takes them from there.
  Object.assign(process.env, credentials);
  const child = spawn(program, ['-H', '127.0.0.1', '-p', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const over = once(child, 'exit');
  const port = await portOf(child.stderr);
  child.stderr.resume();
  const { network, port: outer, close } = await startNetwork(port);
  const client = new S3Client({ endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', forcePathStyle: true });
  let buckets = 0;
  return {
    env: credentials,
    network,
    async bucket() {
      const name = `bucket-${++buckets}`;
      await client.send(new CreateBucketCommand({ Bucket: name }));
      return { name, url: `s3://${name}/some/where?endpoint=${encodeURIComponent(`http://127.0.0.1:${outer}`)}` };
    },
    async keys(Bucket) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      return Contents.map(({ Key = '' }) => Key);
    },
    async overwrite(Bucket, Key, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key, Body }));
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      close();
      child.kill();
      await over;
    },
  };
}

async function portOf(said: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface(said)) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('moto_server did not start.');
}

async function startNetwork(upstream: number) {
  const network: Network = { weather: 'fair', asked: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client.on('error', () => {}).on('close', () => sockets.delete(client)));
    network.asked += 1;
    const { weather } = network;
    if (weather === 'refused') return void client.destroy();
    if (weather === 'silent') return void client.resume();
    const target = connect(upstream, '127.0.0.1').on('error', () => {});
    const end = () => [client, target].forEach((socket) => socket.destroy());
    client.on('close', end).pipe(target);
    target.on('close', end);
    if (weather === 'fair') return void target.pipe(client);
    let left = weather.cutAfter;
    target.on('data', (chunk: Buffer) => {
      client.write(chunk.subarray(0, Math.max(left, 0)));
      left -= chunk.length;
      if (left <= 0) setImmediate(end);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { network, port, close };
}
