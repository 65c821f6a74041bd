import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createUploads, TooLargeError, type Uploads } from './uploads.ts';
import { fileIds } from '../core/ids.ts';

let dataDir: string;
let uploads: Uploads;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'reins-uploads-'));
  uploads = createUploads(dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const id = fileIds.make('1');
const there = () => readdirSync(join(dataDir, 'uploads'));

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test('U-400: an upload is written as it comes, and read as it was', async () => {
  const sum = { bytes: 4, sha256: createHash('sha256').update('abcd').digest('hex') };
  expect(await uploads.save(id, pieces('ab', 'cd'), 4)).toEqual(sum);
  const stored = await uploads.open(id, sum);
  expect(stored === null ? null : await textOf(stored.stream())).toBe('abcd');
  await uploads.remove(id);
  expect(await uploads.open(id, sum)).toBeNull();
});

test('UT-30: one byte over, or cut off, nothing is kept, and no more is read', async () => {
  let asked = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      asked += 1;
      yield new Uint8Array(10);
    }
  }
  await expect(uploads.save(id, endless(), 19)).rejects.toThrow(TooLargeError);
  expect(asked).toBe(2);
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield* pieces('ab');
    throw new Error('gone');
  }
  await expect(uploads.save(id, broken(), 100)).rejects.toThrow('gone');
  expect(there()).toEqual([]);
});

test('what a crash left is swept when it is old: cut off, or known to nobody', async () => {
  await uploads.sweep(0, async () => true); // There is nothing yet.
  await uploads.save(id, pieces('known'), 10);
  for (const name of ['.new-file_2', 'file_3', '.new-file_4', 'file_5'])
    writeFileSync(join(dataDir, 'uploads', name), 'x');
  const nowMs = Date.parse('2030-01-01');
  for (const name of there()) {
    const isOld = !['.new-file_4', 'file_5'].includes(name);
    utimesSync(join(dataDir, 'uploads', name), new Date(), new Date(nowMs - (isOld ? 3_600_001 : 60_000)));
  }
  await uploads.sweep(nowMs, async (fileId) => fileId === id);
  expect(there().toSorted()).toEqual(['.new-file_4', 'file_1', 'file_5']);
  expect(existsSync(join(dataDir, 'uploads'))).toBe(true);
});
