// What deletion leaves in the file itself, and what a crash leaves of a deletion.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { fileIds, webhookIds } from '../../core/ids.ts';
import { crashEverywhere, type Crash } from '../../testing/crash-points.ts';
import { fileDraft, shareOf } from '../../testing/store-records.ts';
import {
  admissionOf,
  noteDraft,
  pendingOf,
  queuedOf,
  requestDraft,
  ruleOf,
  stampAll,
  textDraft,
} from '../../testing/store-samples.ts';
import { finish, lastSeq, write } from '../../testing/store-steps.ts';
import { openSqlite } from './open-sqlite.ts';

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reins-deletion-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'reins.db');
}

/** Tables with a column that holds one of the words, or a row of one of the runs. */
function tablesNaming(path: string, words: readonly string[], runNos: readonly number[]): readonly string[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  return tables
    .map(({ name }) => String(name))
    .filter((name) =>
      db
        .prepare(`SELECT * FROM ${name}`)
        .all()
        .some((row) => {
          const said = Object.values(row).map((value) =>
            value instanceof Uint8Array ? String(Buffer.from(value)) : String(value),
          );
          return (
            words.some((word) => said.some((value) => value.includes(word))) || runNos.includes(Number(row['run_no']))
          );
        }),
    )
    .toSorted();
}

test('U-370: no row names a deleted session, or holds what was said in it, but the tombstones of its runs and their keys', async () => {
  const path = newPath();
  await using store = openSqlite(path);
  const source = admissionOf('x');
  await store.admit(source);
  const run = admissionOf('gone', {
    newSession: {
      title: 'secret',
      fork: { from: source.runId, history: { messages: [], todos: null }, contents: [] },
    },
    idempotency: { key: 'k', bodyHash: 'h' },
  });
  const child = admissionOf('gonechild', { parentRunId: run.runId });
  for (const each of [run, child]) {
    await store.admit(each);
    await store.putContent(each.runId, Buffer.from('secret'));
    const asked = requestDraft(pendingOf('1', each.runId, { reason: 'secret' }));
    await write(store, each, [asked, fileDraft(each.runId, 'secret'), noteDraft('secret')]);
    await store.countTakeover(each.runId, { nowMs: 1, sinceMs: 0 });
  }
  const { runId, sessionId } = run;
  await store.putRule(ruleOf('one', { sessionId, runId }));
  for (const each of [child, run]) await finish(store, each, await lastSeq(store, each));
  await store.enqueue({ ...queuedOf('next', sessionId), body: { input: 'secret' } }, 9);
  await store.putShare(shareOf('gone', sessionId));
  expect(tablesNaming(path, ['secret'], [])).toContain('files');
  await store.deleteSession(sessionId);
  expect(tablesNaming(path, ['secret'], [])).toEqual([]);
  expect(tablesNaming(path, ['gone'], [2, 3])).toEqual(['heads', 'idempotency', 'runs', 'sessions']);
  await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
  expect(tablesNaming(path, ['gone'], [2, 3])).toEqual(['heads', 'runs', 'sessions']);
});

test('a log over many eras goes whole, in pieces that let others in, and the logs between stay', async () => {
  const path = newPath();
  await using store = openSqlite(path);
  const [a, b] = [admissionOf('a'), admissionOf('b')];
  for (const admission of [a, b]) await store.admit(admission);
  const batches = 6_000;
  await store.append(
    Array.from({ length: 2 * batches }, (_, index) => {
      const { runId, sessionId } = index % 2 === 0 ? a : b;
      const events = stampAll([textDraft('x')], runId, sessionId);
      return { runId, generation: 1, after: 1 + Math.floor(index / 2), events };
    }),
    { durable: false },
  );
  await finish(store, a, batches + 1);
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 0);
  await store.deleteSession(a.sessionId);
  clearInterval(ticking);
  expect(turns).toBeGreaterThan(0);
  using db = new DatabaseSync(path);
  const left = db.prepare('SELECT run_no, count(*) AS n FROM event_batches GROUP BY run_no').all();
  expect(left.map(({ run_no: runNo, n }) => [runNo, n])).toEqual([[2, batches + 1]]);
});

/** A task makes a file and ends, and its session is published and deleted. */
const script = `
const run = samples.admissionOf('a');
const { runId, sessionId } = run;
await store.addWebhook(records.webhookOf('w'), 9);
await store.admit(run);
const append = (after, drafts, end) =>
  store.append([{ runId, generation: 1, after, events: samples.stampAll(drafts, runId, sessionId), ...(end && { end }) }], { durable: true });
await append(1, [records.fileDraft('one', 'x')]);
say('made');
await append(2, [samples.resultDraft(runId, sessionId)], { status: 'completed', response: { output: 'done' }, atMs: 5, spent: { tokens: 3, dollars: 0 } });
say('ended');
await store.putShare(records.shareOf('s', sessionId));
await store.deleteSession(sessionId);
say('deleted');
`;

test('UR-51, UD-53, U-370: killed anywhere, file, charge and delivery are there with their event; a session is deleted whole or not at all', async () => {
  const records = JSON.stringify(import.meta.resolve('../../testing/store-records.ts'));
  const whole = `import * as records from ${records};\n${script}`;
  expect(await crashEverywhere<string>(whole, checkDeletion)).toBeGreaterThan(30);
}, 180_000);

async function checkDeletion({ path, facts, killedAt }: Crash<string>): Promise<void> {
  await using store = openSqlite(path);
  const { runId, sessionId } = admissionOf('a');
  const run = await store.run(runId);
  const deleted = run?.deleted === true;
  const ended = run?.status === 'completed';
  const has = (await store.readEvents(runId, { after: 0, limit: 99 })).map(({ type }) => type);
  const file = await store.file(fileIds.make('one'));
  const said = [deleted || has.includes('file-changed'), ended, deleted];
  for (const [index, fact] of ['made', 'ended', 'deleted'].entries())
    expect(said[index] === true || !facts.includes(fact), `acknowledged before statement ${killedAt}`).toBe(true);
  expect(file !== null).toBe(!deleted && has.includes('file-changed'));
  expect(await store.deliveries(webhookIds.make('w'), { limit: 9 })).toHaveLength(ended ? 1 : 0);
  expect(await store.spending('owner', '1970-01-01')).toMatchObject({ tokens: ended ? 3 : 0 });
  expect((await store.session(sessionId)) !== null).toBe(run !== null && !deleted);
  if (!deleted) return;
  expect([run.response, await store.share(sessionId)]).toEqual([null, null]);
  await store.prune({ endedBeforeMs: 0, nowMs: 0 });
  expect(await store.readEvents(runId, { after: 0, limit: 99 })).toEqual([]);
}
