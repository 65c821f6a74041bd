// Files by their ids: what was uploaded, and what agents made. The bytes are elsewhere (`files/`); here stands whose they are.

import type { FileId, RunId, SessionId } from '../core/ids.ts';

export interface FileRecord {
  readonly fileId: FileId;
  readonly principal: string;
  /** Null: an upload, which belongs to no session. */
  readonly sessionId: SessionId | null;
  /** The run that made or changed it; null for an upload. */
  readonly runId: RunId | null;
  /** Of an artifact: its path below the working directory, with `/`. */
  readonly filename: string;
  /** As an upload was announced; null: by its name. */
  readonly mediaType: string | null;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly createdAtMs: number;
  /** The agent has removed it since; it can still be read (UD-53). */
  readonly removed: boolean;
}

export interface FileStore {
  putUpload(record: FileRecord): Promise<void>;
  /** Null also for a file whose session is deleted or expired. */
  file(fileId: FileId): Promise<FileRecord | null>;
  /** Artifacts of a session: the newest of each path, in the order of paths (UD-53). */
  filesOfSession(sessionId: SessionId): Promise<readonly FileRecord[]>;
  /** All artifacts that a run made or changed, in the order of its log. */
  filesOfRun(runId: RunId): Promise<readonly FileRecord[]>;
  /** Forgets uploads that were made before and that no task at work, or waiting, was given; gives them, so that their bytes can go. */
  expireUploads(createdBeforeMs: number): Promise<readonly FileRecord[]>;
}
