import { containerOf, type ContainerId, type FileId, type SessionId } from '../../core/ids.ts';

/** U-401: snake_case, Unix seconds. An upload belongs to no container. */
export type UhpFile = {
  readonly id: FileId;
  readonly object: 'file';
  readonly container_id?: ContainerId;
  readonly filename: string;
  /** The whole size. */
  readonly bytes: number;
  readonly created_at: number;
  readonly purpose?: string;
  /** The agent has removed it since (UD-53). */
  readonly reins_deleted?: true;
};

export interface FileFacts {
  readonly fileId: FileId;
  readonly sessionId: SessionId | null;
  readonly filename: string;
  readonly bytes: number;
  readonly createdAtMs: number;
  readonly removed: boolean;
}

export function toUhpFile({ fileId, sessionId, filename, bytes, createdAtMs, removed }: FileFacts): UhpFile {
  return {
    id: fileId,
    object: 'file',
    ...(sessionId === null ? {} : { container_id: containerOf(sessionId) }),
    filename,
    bytes,
    created_at: Math.floor(createdAtMs / 1_000),
    ...(removed ? { reins_deleted: true } : {}),
  };
}
