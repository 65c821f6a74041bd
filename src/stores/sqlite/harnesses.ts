// Harnesses, and the bundles of files that they name. A bundle that nobody names is kept for a week: a task that runs with it
// keeps the configuration it began with (UD-35).

import { isDeepStrictEqual } from 'node:util';
import type { HarnessId } from '../../core/ids.ts';
import type { SQLInputValue } from 'node:sqlite';
import type { Store } from '../store.ts';
import type { Bundle, HarnessRecord } from '../harness-record.ts';
import type { Database, Reads, Transaction } from './database.ts';
import { text } from '../rows/columns.ts';
import { bundleFiles, harnessRecord } from '../rows/harness-records.ts';
import { readable } from '../rows/records.ts';

type HarnessMethods = Pick<Store, 'harness' | 'harnesses' | 'putHarness' | 'bundle' | 'bundleRefs'>;

export function harnessMethods(db: Database): HarnessMethods {
  return {
    harness: async (key) => findHarness(db, key),
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = ? AND deleted = 0 ORDER BY created_at, rowid';
      return readable(db.all(sql, principal), harnessRecord);
    },
    putHarness: async (record, bundles = [], from) =>
      db.transaction('durable', (tx) => {
        if (from !== undefined && !isDeepStrictEqual(findHarness(tx, record.harnessId), from)) return false;
        putHarness(tx, record, bundles);
        return true;
      }),
    bundle: async (principal, ref) => findBundle(db, principal, ref),
    bundleRefs: async () => db.all('SELECT DISTINCT ref FROM bundles').map((row) => text(row, 'ref')),
  };
}

function findHarness(db: Reads, key: HarnessId): HarnessRecord | null {
  const row = db.get('SELECT * FROM harnesses WHERE harness_id = ?', key);
  return row === undefined ? null : harnessRecord(row);
}

const upsertHarness = `
  INSERT INTO harnesses
    (harness_id, principal, name, base, default_model, system_prompt, disabled_tools, max_step, timeout_seconds,
     permissions, planning, setup, created_at, deleted)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (harness_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, base = excluded.base, default_model = excluded.default_model,
    system_prompt = excluded.system_prompt, disabled_tools = excluded.disabled_tools, max_step = excluded.max_step,
    timeout_seconds = excluded.timeout_seconds, permissions = excluded.permissions, planning = excluded.planning,
    setup = excluded.setup, created_at = excluded.created_at, deleted = excluded.deleted`;

function putHarness(tx: Transaction, record: HarnessRecord, bundles: readonly Bundle[]): void {
  tx.run(upsertHarness, ...harnessValues(record));
  const { principal } = record;
  const insert = `
    INSERT INTO bundles (principal, ref, files) VALUES (?, ?, ?)
    ON CONFLICT (principal, ref) DO UPDATE SET unused_since = NULL`;
  for (const { ref, files } of bundles) tx.run(insert, principal, ref, JSON.stringify(files));
  noteUses(tx, principal);
}

/** A prune gives `unused_since` its time; 0 says that it has not seen it yet. */
function noteUses(tx: Transaction, principal: string): void {
  const used = `
    SELECT json_extract(entry.value, '$.bundle') FROM harnesses, json_each(setup, '$.skills') AS entry
    WHERE principal = ?1 AND deleted = 0
    UNION SELECT json_extract(entry.value, '$.bundle') FROM harnesses, json_each(setup, '$.plugins') AS entry
    WHERE principal = ?1 AND deleted = 0`;
  tx.run(`UPDATE bundles SET unused_since = NULL WHERE principal = ?1 AND ref IN (${used})`, principal);
  tx.run(
    `UPDATE bundles SET unused_since = 0
     WHERE principal = ?1 AND unused_since IS NULL AND ref NOT IN (${used} EXCEPT SELECT NULL)`,
    principal,
  );
}

const unusedForMs = 7 * 86_400_000;

/** Bundles that nobody names are marked, and go a week later. */
export function freeBundles(db: Database, nowMs: number): void {
  if (db.get('SELECT 1 FROM bundles WHERE unused_since IS NOT NULL') === undefined) return;
  db.transaction('fast', (tx) => {
    tx.run('DELETE FROM bundles WHERE unused_since > 0 AND unused_since < ?', nowMs - unusedForMs);
    tx.run('UPDATE bundles SET unused_since = ? WHERE unused_since = 0', nowMs);
  });
}

function findBundle(db: Reads, principal: string, ref: string): Bundle | null {
  const row = db.get('SELECT * FROM bundles WHERE principal = ? AND ref = ?', principal, ref);
  return row === undefined ? null : { ref, files: bundleFiles(row) };
}

function harnessValues(record: HarnessRecord): SQLInputValue[] {
  const { harnessId: key, principal, name, base, defaultModel, systemPrompt, createdAtMs } = record;
  const { disabledTools, maxStep, timeoutSeconds, planning, setup, deleted } = record;
  const tools = JSON.stringify(disabledTools);
  const may = record.permissions === null ? null : JSON.stringify(record.permissions);
  const rest = [maxStep, timeoutSeconds, may, planning === null ? null : Number(planning), JSON.stringify(setup)];
  return [key, principal, name, base, defaultModel, systemPrompt, tools, ...rest, createdAtMs, deleted ? 1 : 0];
}
