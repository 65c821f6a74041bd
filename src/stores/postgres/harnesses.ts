// Harnesses, and the bundles of files that they name. A bundle that nobody names is kept for a week: a task that runs with it
// keeps the configuration it began with (UD-35).

import { isDeepStrictEqual } from 'node:util';
import type { HarnessId } from '../../core/ids.ts';
import { text } from '../rows/columns.ts';
import { bundleFiles, harnessRecord } from '../rows/harness-records.ts';
import { readable } from '../rows/records.ts';
import type { Store } from '../store.ts';
import type { Bundle, HarnessRecord } from '../harness-record.ts';
import { lockName, type Database, type Reads, type Transaction, type Value } from './database.ts';

type HarnessMethods = Pick<Store, 'harness' | 'harnesses' | 'putHarness' | 'bundle' | 'bundleRefs'>;

export function harnessMethods(db: Database): HarnessMethods {
  return {
    harness: (key) => findHarness(db, key),
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = $1 AND NOT deleted ORDER BY created_at, harness_no';
      return readable(await db.all(sql, principal), harnessRecord);
    },
    putHarness: (record, bundles = [], from) =>
      db.transaction('durable', async (tx) => {
        // Whoever writes one of this principal's harnesses waits here.
        await lockName(tx, 'bundles', record.principal);
        if (from !== undefined && !isDeepStrictEqual(await findHarness(tx, record.harnessId), from)) return false;
        await putHarness(tx, record, bundles);
        return true;
      }),
    async bundle(principal, ref) {
      const row = await db.get('SELECT * FROM bundles WHERE principal = $1 AND ref = $2', principal, ref);
      return row === undefined ? null : { ref, files: bundleFiles(row) };
    },
    bundleRefs: async () => (await db.all('SELECT DISTINCT ref FROM bundles')).map((row) => text(row, 'ref')),
  };
}

async function findHarness(db: Reads, key: HarnessId): Promise<HarnessRecord | null> {
  const row = await db.get('SELECT * FROM harnesses WHERE harness_id = $1', key);
  return row === undefined ? null : harnessRecord(row);
}

const upsertHarness = `
  INSERT INTO harnesses
    (harness_id, principal, name, base, default_model, system_prompt, disabled_tools, max_step, timeout_seconds,
     permissions, planning, setup, bundles, created_at, deleted)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
  ON CONFLICT (harness_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, base = excluded.base, default_model = excluded.default_model,
    system_prompt = excluded.system_prompt, disabled_tools = excluded.disabled_tools, max_step = excluded.max_step,
    timeout_seconds = excluded.timeout_seconds, permissions = excluded.permissions, planning = excluded.planning,
    setup = excluded.setup, bundles = excluded.bundles, created_at = excluded.created_at, deleted = excluded.deleted`;
const insertBundle = `
  INSERT INTO bundles (principal, ref, files) VALUES ($1, $2, $3)
  ON CONFLICT (principal, ref) DO UPDATE SET unused_since = NULL`;

async function putHarness(tx: Transaction, record: HarnessRecord, bundles: readonly Bundle[]): Promise<void> {
  const { principal } = record;
  await tx.run(upsertHarness, ...harnessValues(record));
  for (const { ref, files } of bundles) await tx.run(insertBundle, principal, ref, JSON.stringify(files));
  // A prune gives `unused_since` its time; 0 says that it has not seen it yet.
  const noteUses = `
    WITH used AS (SELECT unnest(bundles) AS ref FROM harnesses WHERE principal = $1 AND NOT deleted)
    UPDATE bundles SET unused_since = CASE WHEN ref IN (SELECT ref FROM used) THEN NULL ELSE 0 END
    WHERE principal = $1 AND (ref IN (SELECT ref FROM used)) <> (unused_since IS NULL)`;
  await tx.run(noteUses, principal);
}

const unusedForMs = 7 * 86_400_000;

/** Bundles that nobody names are marked, and go a week later. */
export async function freeBundles(db: Database, nowMs: number): Promise<void> {
  const any = await db.get('SELECT 1 FROM bundles WHERE unused_since IS NOT NULL LIMIT 1');
  if (any === undefined) return;
  await db.transaction('fast', async (tx) => {
    await tx.run('DELETE FROM bundles WHERE unused_since > 0 AND unused_since < $1', nowMs - unusedForMs);
    await tx.run('UPDATE bundles SET unused_since = $1 WHERE unused_since = 0', nowMs);
  });
}

function harnessValues(record: HarnessRecord): Value[] {
  const { harnessId, principal, name, base, defaultModel, systemPrompt, createdAtMs } = record;
  const { disabledTools, maxStep, timeoutSeconds, permissions, planning, setup, deleted } = record;
  const bundles = [...setup.skills, ...setup.plugins].flatMap(({ bundle }) => bundle ?? []);
  const may = permissions === null ? null : JSON.stringify(permissions);
  const rest = [maxStep, timeoutSeconds, may, planning, JSON.stringify(setup), bundles, createdAtMs, deleted];
  return [harnessId, principal, name, base, defaultModel, systemPrompt, JSON.stringify(disabledTools), ...rest];
}
