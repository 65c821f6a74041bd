import type { FileStore } from '../file-store.ts';
import type { UnnumberedEvent } from '../store.ts';
import { write, type Database, type Transaction } from './database.ts';
import { fileRecord, readable } from '../rows/records.ts';

const insertFile = `
  INSERT INTO files (file_id, principal, session_id, run_id, filename, media_type, bytes, sha256, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
/** Files of a session that expired or was deleted are as good as gone. */
const selectFile = `
  SELECT files.* FROM files LEFT JOIN sessions USING (session_id)
  WHERE file_id = ? AND (files.session_id IS NULL OR (expired_at IS NULL AND deleted_at IS NULL))`;
const selectNewest = `
  SELECT * FROM files WHERE file_no IN (SELECT max(file_no) FROM files WHERE session_id = ? GROUP BY filename)
  ORDER BY filename`;

const deleteDue = `
  DELETE FROM files WHERE session_id IS NULL AND created_at < ? AND file_id NOT IN (
    SELECT value FROM runs, json_each(uploads) WHERE status = 'running' AND uploads IS NOT NULL
    UNION SELECT value FROM queued_tasks, json_each(uploads) WHERE run_id IS NULL AND uploads IS NOT NULL)
  RETURNING *`;

export function fileMethods(db: Database): FileStore {
  return {
    async putUpload(record) {
      const { fileId: key, principal, filename, mediaType, bytes, sha256, createdAtMs } = record;
      write(db, insertFile, key, principal, null, null, filename, mediaType, bytes, sha256, createdAtMs);
    },
    async file(key) {
      const row = db.get(selectFile, key);
      return row === undefined ? null : fileRecord(row);
    },
    filesOfSession: async (session) => readable(db.all(selectNewest, session), fileRecord),
    filesOfRun: async (run) =>
      readable(db.all('SELECT * FROM files WHERE run_id = ? ORDER BY file_no', run), fileRecord),
    async expireUploads(createdBeforeMs) {
      return db.transaction('durable', (tx) => readable(tx.returning(deleteDue, createdBeforeMs), fileRecord));
    },
  };
}

const insertArtifact = `
  INSERT INTO files (file_id, principal, session_id, run_id, filename, bytes, sha256, created_at)
  SELECT ?, principal, session_id, run_id, ?, ?, ?, ? FROM runs WHERE run_no = ? ON CONFLICT DO NOTHING`;

/** What a run made, changed or removed, as the check of its workspace says (UD-53). */
export function indexFile(
  tx: Transaction,
  runNo: number,
  { at, data }: Extract<UnnumberedEvent, { type: 'file-changed' }>,
): void {
  const { fileId: key, kind, path, bytes = 0, sha256 = '' } = data;
  if (key === undefined) return;
  if (kind === 'delete') tx.run('UPDATE files SET removed = 1 WHERE file_id = ?', key);
  else tx.run(insertArtifact, key, path, bytes, sha256, at, runNo);
}
