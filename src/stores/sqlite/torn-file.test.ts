// What a crash can leave of the file that was written last: any part of its newest bytes.

import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admissionOf, noteDraft, stampAll } from '../../testing/store-samples.ts';
import { openSqlite } from './open-sqlite.ts';
import { temporaryFolder } from '../../../test/support/folders.ts';

const { runId, sessionId, ...rest } = admissionOf('a');
const text = 'é漢🚀'.repeat(40);

/** A log of three events, the last one in the newest bytes of the file beside the database. */
async function writeLog(path: string) {
  await using store = openSqlite(path);
  await store.admit({ runId, sessionId, ...rest });
  const append = (after: number) =>
    store.append([{ runId, generation: 1, after, events: stampAll([noteDraft(text)], runId, sessionId) }], {
      durable: true,
    });
  await append(1);
  const before = readFileSync(`${path}-wal`).length;
  await append(2);
  // As they are while a process that will be killed has them open.
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, `${path}.killed${suffix}`);
  return { before, whole: readFileSync(`${path}-wal`).length };
}

test('B128: cut anywhere in its newest record, the log is what stood before it or all of it, and takes the next', async () => {
  const folder = temporaryFolder();
  const { before, whole } = await writeLog(join(folder, 'a.db'));
  expect(whole).toBeGreaterThan(before);
  const [database, wal] = ['', '-wal'].map((suffix) => readFileSync(join(folder, `a.db.killed${suffix}`)));
  if (database === undefined || wal === undefined) throw new Error('There are no files.');
  // Every byte near a border of what SQLite writes at once, and every 211th between them.
  const cuts = Array.from({ length: whole - before + 1 }, (_, at) => at).filter(
    (at) => at % 211 === 0 || at < 40 || whole - before - at < 40 || at % 4_120 < 40,
  );
  const found = new Set<number>();
  for (const cut of cuts) {
    const path = join(folder, `${cut}.db`);
    writeFileSync(path, database);
    writeFileSync(`${path}-wal`, wal);
    truncateSync(`${path}-wal`, before + cut);
    await using store = openSqlite(path);
    const read = async () =>
      (await store.readEvents(runId, { after: 0, limit: 9 })).map(({ seq, data }) => [seq, data]);
    const stood = await read();
    found.add(stood.length);
    expect(stood.slice(0, 2).map(([seq]) => seq)).toEqual([1, 2]);
    for (const [, data] of stood.slice(1)) expect(JSON.stringify(data)).toContain(text);
    const events = stampAll([noteDraft('next')], runId, sessionId);
    const [stored] = await store.append([{ runId, generation: 1, after: stood.length, events }], { durable: true });
    expect(stored).toMatchObject({ outcome: 'stored' });
    expect((await read()).slice(0, -1)).toEqual(stood);
  }
  expect([...found].toSorted((a, b) => a - b)).toEqual([2, 3]);
});
