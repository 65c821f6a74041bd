// The laws of `files/blob-store.ts`, for each of its implementations; and what a bucket has besides, by its faults.

import { afterEach, describe, expect, test } from 'vitest';
import {
  blobKey,
  parseBlobKey,
  readBlobText,
  type BlobStore,
  type BlobSum,
  type ByteRange,
  type OpenBlob,
} from '../src/files/blob-store.ts';
import { createFolderBlobs } from '../src/files/folder-blobs.ts';
import { createHash } from 'node:crypto';
import { createS3Blobs, type S3Blobs } from '../src/files/s3-blobs.ts';
import { describeWithS3, type S3 } from './support/s3.ts';
import { createServer } from 'node:http';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { parseS3Address, type S3Address } from '../src/files/s3-address.ts';
import { systemClock } from '../src/system.ts';
import { temporaryFolder } from './support/folders.ts';
import { buffer } from 'node:stream/consumers';

const bytesOf = (content: string) => new TextEncoder().encode(content);
const sumOf = (content: string | Uint8Array): BlobSum => ({
  bytes: Buffer.from(content).length,
  sha256: createHash('sha256').update(content).digest('hex'),
});
const key = blobKey('files', 'hsess1', 'kept', 'abc');

/** A file as the callers stage them. */
function staged(content: string | Uint8Array) {
  const path = join(temporaryFolder(), '.new-1');
  writeFileSync(path, content);
  return { path, ...sumOf(content) };
}

/** Of this process, where the kernel says it. */
function openFiles(): readonly string[] {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      return [];
    }
  });
}

async function bytesFrom(blob: OpenBlob | null, range?: ByteRange): Promise<Buffer> {
  if (blob === null) throw new Error('There is no such blob.');
  return buffer(blob.stream(range));
}

function describeBlobs(name: string, open: () => Promise<BlobStore>): void {
  describe(`blobs: ${name}`, () => {
    test('B1: what was put is read, whole and by ranges, and a staged file is used up', async () => {
      const blobs = await open();
      const content = Buffer.alloc(3_000_000, 'Ab1 ');
      const file = staged(content);
      await blobs.put(key, file);
      expect(existsSync(file.path)).toBe(false);
      const read = async (range?: ByteRange) => bytesFrom(await blobs.open(key, sumOf(content)), range);
      expect((await read()).equals(content)).toBe(true);
      expect((await read({ start: 0, end: 0 })).toString()).toBe('A');
      expect((await read({ start: 2_999_998, end: 2_999_999 })).toString()).toBe('1 ');
      const blob = await blobs.open(key);
      expect(blob?.bytes).toBe(content.length);
      await blob?.[Symbol.asyncDispose]();
    });

    test('nothing is something: an empty blob is there', async () => {
      const blobs = await open();
      await blobs.put(key, staged(''));
      expect(await readBlobText(blobs, key)).toBe('');
      const to = join(temporaryFolder(), 'copy');
      expect(await blobs.copyTo(to, key, sumOf(''))).toBe(true);
      expect(readFileSync(to, 'utf8')).toBe('');
    });

    test('B1: what is put again is replaced', async () => {
      const blobs = await open();
      for (const content of ['one', 'two']) await blobs.put(key, bytesOf(content));
      expect(await readBlobText(blobs, key)).toBe('two');
    });

    test('B4: what is not there, or not any more, is null, and removing it is nothing', async () => {
      const blobs = await open();
      await blobs.remove(key);
      await blobs.put(key, bytesOf('x'));
      await blobs.remove(key);
      const to = join(temporaryFolder(), 'copy');
      expect([await blobs.open(key), await readBlobText(blobs, key), await blobs.copyTo(to, key)]).toEqual([
        null,
        null,
        false,
      ]);
      expect(existsSync(to)).toBe(false);
    });

    test('a copy is a new file, over nothing that is there', async () => {
      const blobs = await open();
      await blobs.put(key, bytesOf('content'));
      const folder = temporaryFolder();
      expect(await blobs.copyTo(join(folder, 'copy'), key, sumOf('content'))).toBe(true);
      expect(readFileSync(join(folder, 'copy'), 'utf8')).toBe('content');
      await expect(blobs.copyTo(join(folder, 'copy'), key)).rejects.toMatchObject({ code: 'EEXIST' });
    });

    test('all below a folder are listed with their sizes, those of others are not, however many there are', async () => {
      const blobs = await open();
      expect(await Array.fromAsync(blobs.list('files'))).toEqual([]);
      const beginMs = Date.now();
      const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
      await Promise.all(names.map((each) => blobs.put(blobKey('files', 'hsess1', 'kept', each), bytesOf(each))));
      await blobs.put(blobKey('files', 'hsess1', 'left.json'), bytesOf('[]'));
      await blobs.put(blobKey('files', 'hsess11', 'kept', 'other'), bytesOf('x'));
      await blobs.put(blobKey('uploads', 'file_1'), bytesOf('x'));
      const listed = await Array.fromAsync(blobs.list(blobKey('files', 'hsess1')));
      const expected = [...names.map((each) => `files/hsess1/kept/${each}`), 'files/hsess1/left.json'];
      expect(listed.map((each) => each.key).toSorted()).toEqual(expected.toSorted());
      expect(listed.find((each) => each.key.endsWith('/n10'))).toMatchObject({ bytes: 3 });
      for (const { writtenAtMs } of listed) expect(Math.abs(writtenAtMs - beginMs)).toBeLessThan(20_000);
      expect((await Array.fromAsync(blobs.names('files'))).toSorted()).toEqual(['hsess1', 'hsess11']);
      expect(await Array.fromAsync(blobs.list('uploads'), (each) => each.key)).toEqual(['uploads/file_1']);
    });
  });
}

test('B2: a key is made of plain names alone', () => {
  for (const bad of ['..', '.', '', '.new-1', 'a\nb', 'a\\b', 'ä']) {
    expect(() => blobKey('files', bad)).toThrow('plain names');
    expect(parseBlobKey(`files/${bad}`)).toBeUndefined();
  }
  expect(() => blobKey('files', 'a/b')).toThrow('plain names');
  for (const other of ['files', 'bundles/a', '/files/a', 'files//a']) expect(parseBlobKey(other)).toBeUndefined();
});

test('an address is read as it is meant, or said to be wrong without being repeated', () => {
  expect(parseS3Address('s3://b')).toEqual({ bucket: 'b', prefix: '', endpoint: null, region: null });
  expect(parseS3Address('s3://b.c/one/two/?endpoint=https://s3.example:9000&region=eu')).toEqual({
    bucket: 'b.c',
    prefix: 'one/two/',
    endpoint: 'https://s3.example:9000',
    region: 'eu',
  });
  const wrong = [
    'secret',
    's3:///secret',
    'https://secret',
    's3://key:secret@b',
    's3://b?endpoint=secret',
    's3://b?secret=1',
  ];
  for (const text of [...wrong, 's3://b/%E0%A4%A']) {
    const said = parseS3Address(text);
    expect(said).toEqual(expect.any(String));
    expect(said).not.toContain('secret');
  }
});

describeBlobs('folder', async () => createFolderBlobs(temporaryFolder()));

test('what is still being written, and what is none of ours, is in no list of a folder', async () => {
  const folder = temporaryFolder();
  const blobs = createFolderBlobs(folder);
  await blobs.put(key, bytesOf('x'));
  writeFileSync(join(folder, 'files/hsess1/kept/.new-2'), 'x');
  expect(await Array.fromAsync(blobs.list('files'), (each) => each.key)).toEqual([key]);
  expect(readdirSync(join(folder, 'files/hsess1/kept'))).toHaveLength(2);
});

describeWithS3('a bucket', (s3) => {
  const opened: S3Blobs[] = [];
  afterEach(async () => {
    (await s3()).network.weather = 'fair';
    for (const blobs of opened.splice(0)) await blobs[Symbol.asyncDispose]();
  });

  async function open(): Promise<{ readonly blobs: S3Blobs; readonly store: S3; readonly name: string }> {
    const store = await s3();
    const { name, url } = await store.bucket();
    const blobs = createS3Blobs({ address: parsed(url), clock: systemClock });
    opened.push(blobs);
    return { blobs, store, name };
  }

  describeBlobs('S3', async () => (await open()).blobs);

  test('a probe leaves nothing; keys stand below the prefix', async () => {
    const { blobs, store, name } = await open();
    await blobs.probe('one');
    expect(await store.keys(name)).toEqual([]);
    await blobs.put(key, bytesOf('x'));
    expect(await store.keys(name)).toEqual([`some/where/${key}`]);
  });

  test('B4: a store that cannot be reached is asked four times, then it is said; nothing was put, and the copy stays', async () => {
    const { blobs, store } = await open();
    const { network } = store;
    network.weather = 'refused';
    const before = network.asked;
    const file = staged('content');
    const unreachable = { status: 503, code: 'reins_files_unavailable' };
    await expect(blobs.put(key, file)).rejects.toMatchObject(unreachable);
    expect(network.asked - before).toBe(4);
    expect(existsSync(file.path)).toBe(true);
    network.weather = 'fair';
    expect(await blobs.open(key)).toBeNull();
  });

  test('B4: of a copy that could not be put nothing stays open; one that is gone is an error of its putting', async () => {
    const { blobs, store } = await open();
    store.network.weather = 'refused';
    const file = staged('x'.repeat(300_000));
    await expect(blobs.put(key, file)).rejects.toMatchObject({ status: 503 });
    await expect.poll(() => openFiles().includes(file.path)).toBe(false);
    store.network.weather = 'fair';
    const gone = { ...file, path: join(temporaryFolder(), 'gone') };
    await expect(blobs.put(key, gone)).rejects.toMatchObject({ status: 503, cause: { code: 'ENOENT' } });
    expect(await blobs.open(key)).toBeNull();
  });

  test('S1: what goes wrong for a moment is not noticed', async () => {
    const { blobs, store } = await open();
    store.network.weather = 'refused';
    const put = blobs.put(key, staged('content'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    store.network.weather = 'fair';
    await put;
    expect(await readBlobText(blobs, key)).toBe('content');
  });

  test('S2, B3: a reading that is cut off goes on where it broke; one that is always cut off ends in an error', async () => {
    const { blobs, store } = await open();
    const content = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
    await blobs.put(key, staged(content));
    const [blob, again] = [await blobs.open(key, sumOf(content)), await blobs.open(key, sumOf(content))];
    // Connections that are kept would be as they were.
    await blobs[Symbol.asyncDispose]();
    store.network.weather = { cutAfter: 150_000 };
    expect((await bytesFrom(blob)).equals(content)).toBe(true);
    store.network.weather = { cutAfter: 200 };
    await expect(bytesFrom(again)).rejects.toMatchObject({ status: 503 });
  });

  test('B3: an object that somebody has changed is an error at its end, and is no copy', async () => {
    const { blobs, store, name } = await open();
    await blobs.put(key, staged('right'));
    await store.overwrite(name, `some/where/${key}`, 'wrong');
    const blob = await blobs.open(key, sumOf('right'));
    let seen = '';
    await expect(
      (async () => {
        for await (const chunk of blob?.stream() ?? []) seen += String(chunk);
      })(),
    ).rejects.toThrow('not as it was stored');
    expect(seen).toBe('');
    const to = join(temporaryFolder(), 'copy');
    await expect(blobs.copyTo(to, key, sumOf('right'))).rejects.toThrow('not as it was stored');
    expect(existsSync(to)).toBe(false);
  });

  test('B4: an object that goes while it is read is an error, never an end', async () => {
    const { blobs } = await open();
    await blobs.put(key, staged('content'));
    const blob = await blobs.open(key);
    await blobs.remove(key);
    await expect(bytesFrom(blob)).rejects.toMatchObject({ code: 'reins_files_unavailable' });
  });

  test('B4: a bucket that is not there is said at once, by its reason', async () => {
    const { blobs, store } = await open();
    const address = { ...parsed((await store.bucket()).url), bucket: 'no-such-bucket' };
    const wrong = createS3Blobs({ address, clock: systemClock });
    opened.push(wrong);
    const before = store.network.asked;
    await expect(wrong.probe('one')).rejects.toMatchObject({ cause: { name: 'NoSuchBucket' } });
    expect(store.network.asked - before).toBe(1);
    expect(await Array.fromAsync(blobs.list('files'))).toEqual([]);
  });
});

test('what a store leaves out of its answers is an error, and no measurement: nothing has no bytes, or is old, for that', async () => {
  const keyOfUpload = blobKey('uploads', 'file_1');
  const server = createServer(({ method }, answer) => {
    if (method === 'HEAD') return void answer.writeHead(200, { 'transfer-encoding': 'chunked' }).end();
    answer.setHeader('content-type', 'application/xml');
    answer.end(`<ListBucketResult><Contents><Key>${keyOfUpload}</Key><Size>1</Size></Contents></ListBucketResult>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' });
  await using blobs = createS3Blobs({
    address: parsed(`s3://bucket?endpoint=http://127.0.0.1:${port}`),
    clock: systemClock,
  });
  const lacks = { code: 'reins_files_unavailable', cause: { message: 'The answer lacks a size or a time.' } };
  await expect(blobs.open(keyOfUpload)).rejects.toMatchObject(lacks);
  await expect(Array.fromAsync(blobs.list('uploads'))).rejects.toMatchObject(lacks);
  server.close();
});

function parsed(url: string): S3Address {
  const address = parseS3Address(url);
  if (typeof address === 'string') throw new Error(address);
  return address;
}
