// The content store: bytes under their SHA-256, kept once, as long as a run that uses them (E-844). Bytes are put before the
// run is admitted that names them; where that never happens, the use ends an hour after a prune first found it unclaimed.

import type { RunId } from '../../core/ids.ts';
import type { ContentRef } from '../../core/run-event.ts';
import type { Store } from '../store.ts';
import type { Database, Reads, Transaction } from './database.ts';
import { text } from '../rows/columns.ts';
import { contentOf, refOf } from '../rows/content.ts';

export function contentMethods(db: Database): Pick<Store, 'putContent' | 'content'> {
  return {
    putContent: async (runId, bytes) => putContent(db, runId, bytes),
    content: async (ref) => readContent(db, ref),
  };
}

const insertUse = `
  INSERT INTO content_uses (run_id, ref, unclaimed_since)
  VALUES (?1, ?2, iif(EXISTS (SELECT 1 FROM runs WHERE run_id = ?1), NULL, 0)) ON CONFLICT DO NOTHING`;

function putContent(db: Database, runId: RunId, bytes: Uint8Array): ContentRef {
  const ref = refOf(bytes);
  db.transaction('durable', (tx) => {
    tx.run('INSERT INTO contents (ref, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING', ref, bytes);
    tx.run(insertUse, runId, ref);
  });
  return { ref, bytes: bytes.byteLength };
}

function readContent(db: Reads, ref: string): Uint8Array | null {
  const row = db.get('SELECT bytes FROM contents WHERE ref = ?', ref);
  return row === undefined ? null : contentOf(row, ref);
}

/** The run is admitted: what was put for it stays as long as it does. */
export function claimContents(tx: Transaction, runId: RunId): void {
  tx.run('UPDATE content_uses SET unclaimed_since = NULL WHERE run_id = ?', runId);
}

/** Contents of another run that this one uses as well, if they are there. */
export function shareContents(tx: Transaction, runId: RunId, refs: readonly string[]): void {
  const sql = 'INSERT INTO content_uses (run_id, ref) SELECT ?, ref FROM contents WHERE ref = ? ON CONFLICT DO NOTHING';
  for (const ref of refs) tx.run(sql, runId, ref);
}

/** A run uses its contents no longer: those that nobody uses go. */
export function releaseContents(tx: Transaction, runId: string): void {
  const released = tx.returning('DELETE FROM content_uses WHERE run_id = ? RETURNING ref', runId);
  for (const row of released) tx.run(deleteUnused, text(row, 'ref'));
}

const deleteUnused = `
  DELETE FROM contents WHERE ref = ? AND NOT EXISTS (SELECT 1 FROM content_uses WHERE content_uses.ref = contents.ref)`;

const unclaimedForMs = 3_600_000;

/** Frees what was put for runs that never came to be, and marks what is seen unclaimed for the first time. */
export function freeUnclaimed(db: Database, nowMs: number): void {
  if (db.get('SELECT 1 FROM content_uses WHERE unclaimed_since IS NOT NULL') === undefined) return;
  db.transaction('fast', (tx) => {
    const ended = tx.returning(
      'DELETE FROM content_uses WHERE unclaimed_since > 0 AND unclaimed_since < ? RETURNING ref',
      nowMs - unclaimedForMs,
    );
    for (const row of ended) tx.run(deleteUnused, text(row, 'ref'));
    tx.run('UPDATE content_uses SET unclaimed_since = ? WHERE unclaimed_since = 0', nowMs);
  });
}
