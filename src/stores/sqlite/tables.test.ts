import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from './open-sqlite.ts';

test('E-800, E-841: what is stored where: the row that each append changes is numbers alone, and none holds a state', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reins-tables-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'reins.db');
  await using _store = openSqlite(path);
  using db = new DatabaseSync(path);
  const columns = db
    .prepare(
      "SELECT m.name AS owner, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'",
    )
    .all()
    .map(({ owner, name, type }) => ({ owner: String(owner), name: String(name), type: String(type) }));
  const tables = [...new Set(columns.map(({ owner }) => owner))];
  const named = ['sessions', 'runs', 'event_batches', 'idempotency', 'approvals', 'rules', 'contents', 'owners'];
  expect(tables).toEqual(expect.arrayContaining([...named, 'schema_versions']));
  const head = columns.filter(({ owner }) => owner === 'heads');
  expect(head.map(({ name }) => name)).toEqual(['run_no', 'generation', 'last_seq', 'open']);
  expect(new Set(head.map(({ type }) => type))).toEqual(new Set(['INTEGER']));
  expect(columns.filter(({ name }) => /state|snapshot|transcript/.test(name))).toEqual([]);
});
