import type { FileStore } from '../file-store.ts';
import { fileRecord, readable } from '../rows/records.ts';
import type { UnnumberedEvent } from '../store.ts';
import { write, type Database, type Transaction } from './database.ts';

const insertUpload = `
  INSERT INTO files (file_id, principal, filename, media_type, bytes, sha256, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`;
/** Files of a session that expired or was deleted are as good as gone. */
const selectFile = `
  SELECT files.* FROM files LEFT JOIN sessions USING (session_id)
  WHERE file_id = $1 AND (files.session_id IS NULL OR (expired_at IS NULL AND deleted_at IS NULL))`;
const selectNewest = `
  SELECT DISTINCT ON (filename) * FROM files WHERE session_id = $1 ORDER BY filename, file_no DESC`;
const deleteDue = `
  DELETE FROM files WHERE session_id IS NULL AND created_at < $1 AND NOT EXISTS (
    SELECT 1 FROM runs WHERE status = 'running' AND file_id = ANY(uploads)
    UNION ALL SELECT 1 FROM queued_tasks WHERE run_id IS NULL AND file_id = ANY(uploads))
  RETURNING *`;

export function fileMethods(db: Database): FileStore {
  return {
    async putUpload({ fileId, principal, filename, mediaType, bytes, sha256, createdAtMs }) {
      await write(db, insertUpload, fileId, principal, filename, mediaType, bytes, sha256, createdAtMs);
    },
    async file(key) {
      const row = await db.get(selectFile, key);
      return row === undefined ? null : fileRecord(row);
    },
    filesOfSession: async (session) => readable(await db.all(selectNewest, session), fileRecord),
    filesOfRun: async (run) =>
      readable(await db.all('SELECT * FROM files WHERE run_id = $1 ORDER BY file_no', run), fileRecord),
    expireUploads: (createdBeforeMs) =>
      db.transaction('durable', async (tx) => readable(await tx.all(deleteDue, createdBeforeMs), fileRecord)),
  };
}

const insertArtifact = `
  INSERT INTO files (file_id, principal, session_id, run_id, filename, bytes, sha256, created_at)
  SELECT $1, principal, session_id, run_id, $2, $3::bigint, $4, $5::bigint FROM runs WHERE run_no = $6
  ON CONFLICT DO NOTHING`;

/** What a run made, changed or removed, as the check of its workspace says (UD-53). */
export async function indexFile(
  tx: Transaction,
  runNo: number,
  { at, data }: Extract<UnnumberedEvent, { type: 'file-changed' }>,
): Promise<void> {
  const { fileId: key, kind, path, bytes = 0, sha256 = '' } = data;
  if (key === undefined) return;
  if (kind === 'delete') await tx.run('UPDATE files SET removed = true WHERE file_id = $1', key);
  else await tx.run(insertArtifact, key, path, bytes, sha256, at, runNo);
}
