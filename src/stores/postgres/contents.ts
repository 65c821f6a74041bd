// The content store: bytes under their SHA-256, kept once, as long as a run that uses them (E-844). Bytes are put before the
// run is admitted that names them; where that never happens, the use ends an hour after a prune first found it unclaimed.
// Who adds a use and who takes unused bytes away hold each other off, so that no use is of bytes that go.

import type { RunId } from '../../core/ids.ts';
import { text } from '../rows/columns.ts';
import { contentOf, refOf } from '../rows/content.ts';
import type { Store } from '../store.ts';
import type { Database, Transaction } from './database.ts';

const lock = (how: '_shared' | '') => `SELECT pg_advisory_xact_lock${how}(hashtextextended('reins:contents', 0))`;
const addUses = lock('_shared');
const freeBytes = lock('');

const insertUse = `
  INSERT INTO content_uses (run_id, ref, unclaimed_since)
  VALUES ($1, $2, CASE WHEN EXISTS (SELECT 1 FROM runs WHERE run_id = $1) THEN NULL ELSE 0 END) ON CONFLICT DO NOTHING`;

export function contentMethods(db: Database): Pick<Store, 'putContent' | 'content'> {
  return {
    async putContent(runId, bytes) {
      const ref = refOf(bytes);
      await db.transaction('durable', async (tx) => {
        await tx.run(addUses);
        await tx.run('INSERT INTO contents (ref, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING', ref, bytes);
        await tx.run(insertUse, runId, ref);
      });
      return { ref, bytes: bytes.byteLength };
    },
    async content(ref) {
      const row = await db.get('SELECT bytes FROM contents WHERE ref = $1', ref);
      return row === undefined ? null : contentOf(row, ref);
    },
  };
}

/** The run is admitted: what was put for it stays as long as it does. */
export async function claimContents(tx: Transaction, runId: RunId): Promise<void> {
  await tx.run('UPDATE content_uses SET unclaimed_since = NULL WHERE run_id = $1', runId);
}

/** Contents of another run that this one uses as well, if they are there. */
export async function shareContents(tx: Transaction, runId: RunId, refs: readonly string[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.run(addUses);
  const sql = `
    INSERT INTO content_uses (run_id, ref) SELECT $1, ref FROM contents WHERE ref = ANY($2::text[]) ON CONFLICT DO NOTHING`;
  await tx.run(sql, runId, refs);
}

/** Runs use their contents no longer: those that nobody uses go. */
export async function releaseContents(tx: Transaction, runs: readonly string[]): Promise<void> {
  await tx.run(freeBytes);
  await free(tx, await tx.all('DELETE FROM content_uses WHERE run_id = ANY($1::text[]) RETURNING ref', runs));
}

const deleteUnused = `
  DELETE FROM contents WHERE ref = ANY($1::text[])
    AND NOT EXISTS (SELECT 1 FROM content_uses WHERE content_uses.ref = contents.ref)`;

async function free(tx: Transaction, released: Awaited<ReturnType<Transaction['all']>>): Promise<void> {
  const refs = released.map((row) => text(row, 'ref'));
  if (refs.length > 0) await tx.run(deleteUnused, refs);
}

const unclaimedForMs = 3_600_000;

/** Frees what was put for runs that never came to be, and marks what is seen unclaimed for the first time. */
export async function freeUnclaimed(db: Database, nowMs: number): Promise<void> {
  const any = await db.get('SELECT 1 FROM content_uses WHERE unclaimed_since IS NOT NULL LIMIT 1');
  if (any === undefined) return;
  await db.transaction(
    'fast',
    async (tx) => {
      await tx.run(freeBytes);
      const sql = `
      DELETE FROM content_uses WHERE unclaimed_since > 0 AND unclaimed_since < $1
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = content_uses.run_id) RETURNING ref`;
      await free(tx, await tx.all(sql, nowMs - unclaimedForMs));
      await tx.run('UPDATE content_uses SET unclaimed_since = $1 WHERE unclaimed_since = 0', nowMs);
    },
    'long',
  );
}
