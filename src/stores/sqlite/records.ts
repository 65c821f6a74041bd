// Rows as the records of the store contract.

import { harnessIds, keyIds, runIds, sessionIds } from '../../core/ids.ts';
import type { HarnessRecord, KeyRecord, RunRecord, SessionRecord } from '../store.ts';
import { flag, id, integer, jsonObject, nullable, oneOf, strings, text } from './columns.ts';
import type { Row } from './database.ts';

export const runId = id(runIds);
export const sessionId = id(sessionIds);
const harnessId = id(harnessIds);
const keyId = id(keyIds);

/** The columns that `runRecord` reads; to be followed by conditions on `runs`. */
export const selectRun = 'SELECT * FROM runs JOIN heads USING (run_no)';

export function runRecord(row: Row): RunRecord {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    turn: integer(row, 'turn'),
    previousRunId: nullable(row, 'previous_run_id', runId),
    status: oneOf(row, 'status', ['running', 'completed', 'cancelled', 'failed']),
    store: flag(row, 'store'),
    deleted: flag(row, 'deleted'),
    lastSeq: integer(row, 'last_seq'),
    generation: integer(row, 'generation'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', ['none', 'cancel']),
    createdAtMs: integer(row, 'created_at'),
    endedAtMs: nullable(row, 'ended_at', integer),
    response: nullable(row, 'response', jsonObject),
  };
}

export function sessionRecord(row: Row): SessionRecord {
  return {
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    title: text(row, 'title'),
    createdAtMs: integer(row, 'created_at'),
    updatedAtMs: integer(row, 'updated_at'),
    runningRunId: nullable(row, 'running_run_id', runId),
    expiredAtMs: nullable(row, 'expired_at', integer),
  };
}

export function harnessRecord(row: Row): HarnessRecord {
  return {
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    name: text(row, 'name'),
    base: text(row, 'base'),
    defaultModel: nullable(row, 'default_model', text),
    systemPrompt: nullable(row, 'system_prompt', text),
    disabledTools: strings(row, 'disabled_tools'),
    maxStep: nullable(row, 'max_step', integer),
    timeoutSeconds: nullable(row, 'timeout_seconds', integer),
    createdAtMs: integer(row, 'created_at'),
    deleted: flag(row, 'deleted'),
  };
}

export function keyRecord(row: Row): KeyRecord {
  return {
    keyId: keyId(row, 'key_id'),
    principal: text(row, 'principal'),
    hash: text(row, 'hash'),
    scopes: strings(row, 'scopes'),
    createdAtMs: integer(row, 'created_at'),
    revokedAtMs: nullable(row, 'revoked_at', integer),
  };
}
