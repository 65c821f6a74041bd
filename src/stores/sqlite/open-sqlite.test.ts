import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { allowAll } from '../../core/run-config.ts';
import { harnessIds, keyIds, webhookIds } from '../../core/ids.ts';
import { plainSetup } from '../harness-record.ts';
import { SchemaError, StorageError } from '../../core/errors.ts';
import { evolve, initialRunState } from '../../core/run-state.ts';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { describeStoreContract } from '../../testing/store-contract.ts';
import { auditOf, delivered, deliveryOf, shareOf, uploadOf, webhookOf } from '../../testing/store-records.ts';
import {
  admissionOf,
  factOf,
  noteDraft,
  pendingOf,
  queuedOf,
  requestDraft,
  resultDraft,
  ruleOf,
  stampAll,
  textDraft,
} from '../../testing/store-samples.ts';
import { stampEvent } from '../event-shape.ts';
import { openSqlite } from './open-sqlite.ts';

const folders: string[] = [];
async function newPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-sqlite-'));
  folders.push(folder);
  return join(folder, 'reins.db');
}
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

describeStoreContract('sqlite', async () => {
  const path = await newPath();
  return { store: openSqlite(path), reopen: async () => openSqlite(path) };
});

test('a store in memory needs no file', async () => {
  await using store = openSqlite(':memory:');
  expect(await store.admit(admissionOf('a'))).toMatchObject({ outcome: 'admitted' });
});

test('E-804: a schema of a newer Reins, or one that was changed by hand, is refused at the start', async () => {
  const path = await newPath();
  await openSqlite(path)[Symbol.asyncDispose]();
  const tamper = (sql: string) => {
    using db = new DatabaseSync(path);
    db.exec(sql);
  };
  tamper(`INSERT INTO schema_versions VALUES (99, 'x')`);
  expect(() => openSqlite(path)).toThrow(SchemaError);
  tamper(`DELETE FROM schema_versions WHERE version = 99; UPDATE schema_versions SET checksum = 'x'`);
  expect(() => openSqlite(path)).toThrow(SchemaError);
});

test('a path that cannot be opened is a StorageError', async () => {
  expect(() => openSqlite('/nowhere/at/all/reins.db')).toThrow(StorageError);
});

test('E-804: a damaged record is reported where it stands; what is before and after it can be read', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const { runId, sessionId, ...rest } = admissionOf('a');
  await store.admit({ runId, sessionId, ...rest });
  for (const after of [1, 2, 3]) {
    await store.append([{ runId, generation: 1, after, events: stampAll([noteDraft('n')], runId, sessionId) }], {
      durable: true,
    });
  }
  using db = new DatabaseSync(path);
  db.exec(`UPDATE event_batches SET body = substr(body, 1, 20) WHERE first_seq = 3`);
  expect((await store.readEvents(runId, { after: 0, limit: 99 })).map(({ seq }) => seq)).toEqual([1, 2]);
  await expect(store.readEvents(runId, { after: 2, limit: 99 })).rejects.toThrow('damaged at events 3 to 3');
  expect(await store.readEvents(runId, { after: 3, limit: 99 })).toHaveLength(1);
});

test('E-804: what stands before the damage inside one batch is given first, then the damage is reported', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const { runId, sessionId, ...rest } = admissionOf('a');
  await store.admit({ runId, sessionId, ...rest });
  const events = stampAll([noteDraft('2'), noteDraft('3'), noteDraft('4')], runId, sessionId);
  await store.append([{ runId, generation: 1, after: 1, events }], { durable: true });
  using db = new DatabaseSync(path);
  db.exec(`UPDATE event_batches SET body = json_set(body, '$[1]', 'lost') WHERE first_seq = 2`);
  expect((await store.readEvents(runId, { after: 0, limit: 99 })).map(({ seq }) => seq)).toEqual([1, 2]);
  await expect(store.readEvents(runId, { after: 2, limit: 99 })).rejects.toThrow(StorageError);
});

test('E-804: a record that cannot be read is reported to who asks for it, and takes no list with it', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const [a, b] = [admissionOf('a'), admissionOf('b')];
  for (const admission of [a, b]) await store.admit(admission);
  const key = {
    keyId: keyIds.make('a'),
    principal: 'owner',
    name: null,
    hash: 'a',
    scopes: [],
    createdAtMs: 1,
    revokedAtMs: null,
  };
  for (const keyId of [keyIds.make('a'), keyIds.make('b')]) await store.putKey({ ...key, keyId, hash: keyId });
  const rest = {
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    planning: null,
    setup: plainSetup,
  };
  const place = { principal: 'owner', base: 'native', defaultModel: null, createdAtMs: 1, deleted: false };
  const permissions = { ...allowAll, tools: { bash: 'ask' } } as const;
  for (const name of ['a', 'b'])
    await store.putHarness({ ...rest, ...place, harnessId: harnessIds.make(name), name, permissions });
  using db = new DatabaseSync(path);
  db.exec(`
    UPDATE runs SET response = '{', control = 'x' WHERE run_id = '${a.runId}';
    UPDATE harnesses SET permissions = json_set(permissions, '$.tools.bash', 'perhaps') WHERE name = 'a';
    UPDATE keys SET scopes = '[' WHERE key_id = 'key_a'`);
  await expect(store.harness(harnessIds.make('a'))).rejects.toThrow(StorageError);
  expect(await store.harnesses('owner')).toMatchObject([{ name: 'b', permissions }]);
  await expect(store.run(a.runId)).rejects.toThrow(StorageError);
  expect((await store.unfinishedRuns()).map(({ runId }) => runId)).toEqual([b.runId]);
  await expect(store.keyByHash('key_a')).rejects.toThrow(StorageError);
  expect((await store.keys()).map(({ keyId }) => keyId)).toEqual(['key_b']);
});

test('a reader of committed events does not even parse a batch of live ones', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const { runId, sessionId, ...rest } = admissionOf('a');
  await store.admit({ runId, sessionId, ...rest });
  for (const [index, draft] of [textDraft('x'), noteDraft('n')].entries()) {
    const events = stampAll([draft], runId, sessionId);
    await store.append([{ runId, generation: 1, after: 1 + index, events }], { durable: false });
  }
  using db = new DatabaseSync(path);
  db.exec(`UPDATE event_batches SET body = '[' WHERE first_seq = 2`);
  const events = await store.readEvents(runId, { after: 0, limit: 99, committedOnly: true });
  expect(events.map(({ seq }) => seq)).toEqual([1, 3]);
});

test('E-802: whatever the last append was, every other write is synced to the disk', async () => {
  const statements: string[] = [];
  await using store = openSqlite(':memory:', { onStatement: (sql) => statements.push(sql.trim()) });
  const a = admissionOf('a');
  await store.admit(a);
  const key = {
    keyId: keyIds.make('a'),
    principal: 'owner',
    name: null,
    hash: 'a',
    scopes: [],
    createdAtMs: 1,
    revokedAtMs: null,
  };
  const owner = { principal: 'owner', name: 'x', base: 'native', createdAtMs: 1, deleted: false };
  const nothing = {
    defaultModel: null,
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    permissions: null,
    planning: null,
    setup: plainSetup,
  };
  const writes: readonly (() => Promise<unknown>)[] = [
    () => store.admit(admissionOf('b')),
    () => store.requestCancel(a.runId),
    () => store.requestPause(a.runId),
    () => store.takeOver(a.runId, 'there'),
    () => store.appendFact(factOf(noteDraft('m'), a)),
    () => store.putRule(ruleOf('one')),
    () => store.deleteRule(ruleOf('one').ruleId),
    () => store.enqueue(queuedOf('1', a.sessionId), 1),
    () => store.holdQueue(a.sessionId, true),
    () => store.unqueue(a.sessionId, '1'),
    () => store.putContent(a.runId, new Uint8Array(1)),
    () => store.release(a.runId, 'there'),
    () => store.countTakeover(a.runId, { nowMs: 1, sinceMs: 0 }),
    () => store.deleteResponse(a.runId),
    () => store.expireSessions({ updatedBeforeMs: 0, nowMs: 1 }),
    () => store.putKey(key),
    () => store.putConsoleSession({ hash: 's', keyId: key.keyId, expiresAtMs: 9 }, 1),
    () => store.deleteConsoleSession('s'),
    () => store.putModelBlock({ provider: 'p', model: 'm' }, 1),
    () => store.putHarness({ ...owner, ...nothing, harnessId: a.harnessId }),
    () => store.putUpload(uploadOf('u')),
    () => store.expireUploads(9_000),
    () => store.spend('owner', '2026-01-01', { tokens: 1 }),
    () => store.appendAudit(auditOf('one')),
    () => store.pruneAudit(9_000),
    () => store.addWebhook(webhookOf('w'), 9),
    () => store.putDelivery(deliveryOf('d', webhookIds.make('w'))),
    () => store.claimDeliveries({ nowMs: 9_000, untilMs: 9_500, limit: 9, except: { webhooks: [], principals: [] } }),
    () => store.settleDelivery('d', delivered),
    () => store.pruneDeliveries(9_000),
    () => store.deleteWebhook(webhookIds.make('w')),
    () => store.putShare(shareOf('s', a.sessionId)),
    () => store.revokeShare(a.sessionId),
    () => store.renameSession(a.sessionId, 'new'),
  ];
  for (const write of writes) {
    await store.append([], { durable: false });
    statements.length = 0;
    await write();
    expect(statements.slice(0, 2)).toEqual(['PRAGMA synchronous = FULL', 'BEGIN IMMEDIATE']);
    expect(statements[2]).toMatch(/^(?:INSERT|UPDATE|DELETE)/);
    expect(statements.at(-1)).toBe('COMMIT');
  }
});

test('E-804: a database of the first schema is brought up to date and read as before', async () => {
  const path = await newPath();
  const { runId, sessionId, ...rest } = admissionOf('a');
  {
    await using store = openSqlite(path);
    await store.admit({ runId, sessionId, ...rest });
    const events = stampAll([textDraft('x'), noteDraft('n')], runId, sessionId);
    await store.append([{ runId, generation: 1, after: 1, events }], { durable: true });
    using db = new DatabaseSync(path);
    db.exec(`
      DROP INDEX approvals_of_run; DROP TABLE stretches; DROP TABLE rules; DROP TABLE messages; DROP TABLE queued_tasks;
      DROP TABLE content_uses; DROP TABLE contents; DROP TABLE owners; DROP INDEX runs_of_parent;
      DROP TABLE model_blocks; DROP TABLE shares; DROP TABLE files; DROP TABLE bundles; DROP TABLE spending; DROP TABLE audit;
      DROP TABLE deliveries; DROP TABLE webhooks; DROP TABLE console_sessions; DROP INDEX sessions_of_principal; DROP INDEX runs_of_principal;
      DROP INDEX runs_at_work; DROP INDEX runs_to_empty; DROP INDEX runs_with_uploads;
      ALTER TABLE runs DROP COLUMN uploads; ALTER TABLE keys DROP COLUMN name;
      ALTER TABLE harnesses DROP COLUMN setup; ALTER TABLE sessions DROP COLUMN internal;
      ALTER TABLE sessions DROP COLUMN deleted_at; ALTER TABLE sessions DROP COLUMN forked_from;
      ALTER TABLE sessions DROP COLUMN fork_history;
      DROP INDEX event_batches_by_era; DROP INDEX runs_unfinished; DROP INDEX runs_prunable;
      ALTER TABLE event_batches DROP COLUMN committed;
      ALTER TABLE runs DROP COLUMN phase; ALTER TABLE runs DROP COLUMN parent_run_id;
      ALTER TABLE sessions DROP COLUMN queue_held;
      ALTER TABLE harnesses DROP COLUMN permissions; ALTER TABLE harnesses DROP COLUMN planning;
      CREATE INDEX event_batches_by_era ON event_batches (batch_no >> 11, run_no, last_seq);
      CREATE INDEX runs_unfinished ON runs (run_no) WHERE status = 'running';
      CREATE INDEX runs_prunable ON runs (ended_at) WHERE pruned = 0;
      DELETE FROM schema_versions WHERE version > 1`);
  }
  await using store = openSqlite(path);
  const read = async (range: { committedOnly?: true }) =>
    (await store.readEvents(runId, { after: 0, limit: 99, ...range })).map(({ seq }) => seq);
  expect([await read({}), await read({ committedOnly: true })]).toEqual([
    [1, 2, 3],
    [1, 3],
  ]);
  expect(await store.unfinishedRuns()).toMatchObject([{ phase: 'active', openApprovals: 0 }]);
});

test('a run that spans many eras of the batch index is read whole and in order', async () => {
  await using store = openSqlite(':memory:');
  const [a, b] = [admissionOf('a'), admissionOf('b')];
  await store.admit(a);
  await store.admit(b);
  const append = (admission: typeof a, after: number) => ({
    runId: admission.runId,
    generation: 1,
    after,
    events: stampAll([noteDraft(`${after}`)], admission.runId, admission.sessionId),
  });
  for (let round = 0; round < 10; round++) {
    const filler = Array.from({ length: 600 }, (_, index) => append(b, 1 + round * 600 + index));
    await store.append([append(a, 1 + round), ...filler], { durable: false });
  }
  const events = await store.readEvents(a.runId, { after: 0, limit: 99 });
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect((await store.readEvents(a.runId, { after: 10, limit: 99 })).map(({ seq }) => seq)).toEqual([11]);
});

test('a run that was parked for many eras is read whole and once, and nobody looks through what was written meanwhile', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const [a, b] = [admissionOf('a'), admissionOf('b')];
  for (const admission of [a, b]) await store.admit(admission);
  const append = async (admission: typeof a, after: number, generation: number, draft = noteDraft(`${after}`)) => {
    const { runId, sessionId } = admission;
    const events = stampAll([draft], runId, sessionId);
    expect(await store.append([{ runId, generation, after, events }], { durable: false })).toMatchObject([
      { outcome: 'stored' },
    ]);
  };
  let written = 1;
  const others = async (batches: number) => {
    const filler = Array.from({ length: batches }, () => {
      const events = stampAll([textDraft('x')], b.runId, b.sessionId);
      return { runId: b.runId, generation: 1, after: written++, events };
    });
    await store.append(filler, { durable: false });
  };
  let last = 1;
  for (let leg = 1; leg <= 3; leg++) {
    await append(a, last++, leg);
    await append(a, last++, leg, resultDraft(a.runId, a.sessionId, 'paused'));
    await others(leg === 1 ? 10 : 9_000);
    await store.appendFact(factOf(noteDraft(`fact ${leg}`), a));
    last += 1;
    await others(leg === 1 ? 10 : 9_000);
    await store.takeOver(a.runId, 'there', { phase: 'paused' });
  }
  await append(a, last++, 4);
  expect((await store.readEvents(a.runId, { after: 0, limit: 99 })).map(({ seq }) => seq)).toEqual(
    Array.from({ length: last }, (_, index) => index + 1),
  );
  expect((await store.readEvents(a.runId, { after: last - 2, limit: 99 })).map(({ seq }) => seq)).toEqual([
    last - 1,
    last,
  ]);
  using db = new DatabaseSync(path);
  const stretches = db.prepare('SELECT last_batch - first_batch + 1 AS batches FROM stretches ORDER BY first_batch');
  expect(stretches.all().map(({ batches }) => batches)).toEqual([4, 1, 2, 1, 2, 1]);
});

test('E-804, E-844: a damaged approval or content is reported to who asks for it; the run can still end', async () => {
  const path = await newPath();
  await using store = openSqlite(path);
  const a = admissionOf('a');
  await store.admit(a);
  const { runId, sessionId } = a;
  const [one, two] = [pendingOf('1', runId), pendingOf('2', runId)];
  const events = stampAll([requestDraft(one), requestDraft(two)], runId, sessionId);
  await store.append([{ runId, generation: 1, after: 1, events }], { durable: true });
  const { ref } = await store.putContent(runId, Buffer.from('bytes'));
  using db = new DatabaseSync(path);
  db.exec(`
    UPDATE approvals SET asked = '[' WHERE approval_id = '${one.approvalId}';
    UPDATE contents SET bytes = x'00'`);
  await expect(store.approval(one.approvalId)).rejects.toThrow(StorageError);
  await expect(store.content(ref)).rejects.toThrow(StorageError);
  const listed = await store.approvals({ principal: 'owner', status: 'all', limit: 9 });
  expect(listed.map(({ approvalId }) => approvalId)).toEqual([two.approvalId]);
  const end = { status: 'failed', response: null, atMs: 5 } as const;
  const result = stampAll([resultDraft(runId, sessionId, 'failed')], runId, sessionId);
  const [ended] = await store.append([{ runId, generation: 1, after: 3, events: result, end }], { durable: true });
  expect(ended).toMatchObject({ outcome: 'stored' });
  expect(await store.approval(two.approvalId)).toMatchObject({ pending: { status: 'cancelled' } });
});

test('E-845: the fold of a pruned log is the fold of the whole log', async () => {
  await using store = openSqlite(':memory:');
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(arbitraryLog, fc.integer({ min: 1, max: 9 }), async (log, size) => {
      const admission = admissionOf(`run${runs++}`);
      const { runId, sessionId } = admission;
      const events = log.map((event) => stampEvent(event, { runId, sessionId, at: event.at, leg: event.leg }));
      await store.admit({ ...admission, events: events.slice(0, 1) });
      for (let after = 1; after < events.length; after += size) {
        const slice = events.slice(after, after + size);
        const ends = after + size >= events.length && {
          end: { status: 'completed', response: null, atMs: runs } as const,
        };
        await store.append([{ runId, generation: 1, after, events: slice, ...ends }], { durable: false });
      }
      const fold = async () => {
        const stored = await store.readEvents(runId, { after: 0, limit: 100_000 });
        return { state: stored.reduce(evolve, initialRunState(runId, sessionId)), count: stored.length };
      };
      const whole = await fold();
      expect(whole.count).toBe(log.length);
      await store.prune({ endedBeforeMs: runs + 1, nowMs: runs + 1 });
      expect((await fold()).state).toEqual(whole.state);
    }),
  );
});
