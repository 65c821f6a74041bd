// Rows as the records of the store contract.

import { DamageError } from '../../core/errors.ts';
import { fileIds, harnessIds, runIds, sessionIds, shareIds } from '../../core/ids.ts';
import type { FileRecord } from '../file-store.ts';
import type { ShareRecord } from '../session-store.ts';
import type {
  ModelBlock,
  OwnerRecord,
  QueuedTask,
  RunHead,
  RunRecord,
  SessionRecord,
  UnfinishedRun,
} from '../store.ts';
import { flag, id, integer, jsonObject, nullable, oneOf, text, type Fields } from './columns.ts';

export const runId = id(runIds);
export const sessionId = id(sessionIds);
export const harnessId = id(harnessIds);

const fileId = id(fileIds);
const shareId = id(shareIds);

const controls = ['none', 'pause', 'cancel'] as const;
export const runStatus = (row: Fields, name: string) =>
  oneOf(row, name, ['running', 'completed', 'cancelled', 'failed']);
const phases = ['active', 'waiting', 'paused'] as const;

export function unfinishedRun(row: Fields): UnfinishedRun {
  return {
    runId: runId(row, 'run_id'),
    harnessId: harnessId(row, 'harness_id'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', controls),
    phase: oneOf(row, 'phase', phases),
    createdAtMs: integer(row, 'created_at'),
    lastSeq: integer(row, 'last_seq'),
    generation: integer(row, 'generation'),
    openApprovals: integer(row, 'open_approvals'),
  };
}

export function runHead(row: Fields): RunHead {
  return {
    runId: runId(row, 'run_id'),
    lastSeq: integer(row, 'last_seq'),
    isOver: runStatus(row, 'status') !== 'running',
  };
}

/** Those records of a list that can be read: one that is damaged is reported to who asks for it alone (E-804). */
export function readable<T>(rows: readonly Fields[], read: (row: Fields) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (error) {
      if (error instanceof DamageError) return [];
      throw error;
    }
  });
}

export function runRecord(row: Fields): RunRecord {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    turn: integer(row, 'turn'),
    previousRunId: nullable(row, 'previous_run_id', runId),
    status: runStatus(row, 'status'),
    phase: oneOf(row, 'phase', phases),
    parentRunId: nullable(row, 'parent_run_id', runId),
    store: flag(row, 'store'),
    deleted: flag(row, 'deleted'),
    lastSeq: integer(row, 'last_seq'),
    generation: integer(row, 'generation'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', controls),
    createdAtMs: integer(row, 'created_at'),
    endedAtMs: nullable(row, 'ended_at', integer),
    response: nullable(row, 'response', jsonObject),
  };
}

export function sessionRecord(row: Fields): SessionRecord {
  return {
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    title: text(row, 'title'),
    createdAtMs: integer(row, 'created_at'),
    updatedAtMs: integer(row, 'updated_at'),
    runningRunId: nullable(row, 'running_run_id', runId),
    expiredAtMs: nullable(row, 'expired_at', integer),
    forkedFrom: nullable(row, 'forked_from', runId),
  };
}

export function queuedTask(row: Fields): QueuedTask {
  const started = nullable(row, 'run_id', runId);
  return {
    messageId: text(row, 'message_id'),
    sessionId: sessionId(row, 'session_id'),
    principal: text(row, 'principal'),
    body: jsonObject(row, 'body'),
    bodyHash: text(row, 'body_hash'),
    status: started === null ? 'queued' : 'started',
    runId: started,
  };
}

export function fileRecord(row: Fields): FileRecord {
  return {
    fileId: fileId(row, 'file_id'),
    principal: text(row, 'principal'),
    sessionId: nullable(row, 'session_id', sessionId),
    runId: nullable(row, 'run_id', runId),
    filename: text(row, 'filename'),
    mediaType: nullable(row, 'media_type', text),
    bytes: integer(row, 'bytes'),
    sha256: text(row, 'sha256'),
    createdAtMs: integer(row, 'created_at'),
    removed: flag(row, 'removed'),
  };
}

export function ownerRecord(row: Fields): OwnerRecord {
  return {
    owner: text(row, 'owner'),
    place: text(row, 'place'),
    pid: integer(row, 'pid'),
    startTicks: nullable(row, 'start_ticks', integer),
    seenAtMs: integer(row, 'seen_at'),
  };
}

export function modelBlock(row: Fields): ModelBlock {
  return { ref: { provider: text(row, 'provider'), model: text(row, 'model') }, untilMs: integer(row, 'until') };
}

export function shareRecord(row: Fields): ShareRecord {
  return {
    shareId: shareId(row, 'share_id'),
    sessionId: sessionId(row, 'session_id'),
    secret: text(row, 'secret'),
    createdAtMs: integer(row, 'created_at'),
  };
}
