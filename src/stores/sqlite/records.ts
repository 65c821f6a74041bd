// Rows as the records of the store contract.

import type { SQLInputValue } from 'node:sqlite';
import { StorageError } from '../../core/errors.ts';
import { harnessIds, keyIds, runIds, sessionIds } from '../../core/ids.ts';
import type { RunPermissions } from '../../core/run-event.ts';
import type { HarnessRecord, KeyRecord, RunRecord, SessionRecord, UnfinishedRun } from '../store.ts';
import { flag, id, integer, jsonObject, nested, nullable, oneOf, strings, text, truth } from './columns.ts';
import type { Row } from './database.ts';

export const runId = id(runIds);
export const sessionId = id(sessionIds);
export const harnessId = id(harnessIds);
const keyId = id(keyIds);

/** The columns that `runRecord` reads; to be followed by conditions on `runs`. */
export const selectRun = 'SELECT * FROM runs JOIN heads USING (run_no)';

/** Answered by indexes alone, whatever the planner knows of the tables. */
export const selectUnfinished = `
  SELECT run_no, run_id, harness_id, owner, control, phase, created_at,
    (SELECT count(*) FROM approvals INDEXED BY approvals_of_run
     WHERE approvals.run_no = runs.run_no AND decided IS NULL) AS open_approvals
  FROM runs INDEXED BY runs_unfinished WHERE status = 'running' ORDER BY run_no`;

const controls = ['none', 'pause', 'cancel'] as const;
const phases = ['active', 'waiting', 'paused'] as const;

export function unfinishedRun(row: Row): UnfinishedRun {
  return {
    runId: runId(row, 'run_id'),
    harnessId: harnessId(row, 'harness_id'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', controls),
    phase: oneOf(row, 'phase', phases),
    createdAtMs: integer(row, 'created_at'),
    openApprovals: integer(row, 'open_approvals'),
  };
}

/** Those records of a list that can be read: one that is damaged is reported to who asks for it alone (E-804). */
export function readable<T>(rows: readonly Row[], read: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (error) {
      if (error instanceof StorageError) return [];
      throw error;
    }
  });
}

export function runRecord(row: Row): RunRecord {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    turn: integer(row, 'turn'),
    previousRunId: nullable(row, 'previous_run_id', runId),
    status: oneOf(row, 'status', ['running', 'completed', 'cancelled', 'failed']),
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
    permissions: nullable(row, 'permissions', permissions),
    planning: nullable(row, 'planning', flag),
    createdAtMs: integer(row, 'created_at'),
    deleted: flag(row, 'deleted'),
  };
}

/** Those of a harness, which works for nobody: there are none above. */
function permissions(row: Row, name: string): RunPermissions {
  const stored = jsonObject(row, name);
  const tools = nested(stored, 'tools');
  return {
    mode: oneOf(stored, 'mode', ['allow-all', 'allow-edits', 'allow-reads']),
    tools: Object.fromEntries(Object.keys(tools).map((tool) => [tool, oneOf(tools, tool, ['allow', 'ask', 'deny'])])),
    onUnknown: oneOf(stored, 'onUnknown', ['park', 'tell-model']),
    questions: truth(stored, 'questions'),
    expiresAfterSeconds: nullable(stored, 'expiresAfterSeconds', integer),
    onExpiry: oneOf(stored, 'onExpiry', ['deny', 'cancel-run']),
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

export const upsertHarness = `
  INSERT INTO harnesses
    (harness_id, principal, name, base, default_model, system_prompt, disabled_tools, max_step, timeout_seconds,
     permissions, planning, created_at, deleted)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (harness_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, base = excluded.base, default_model = excluded.default_model,
    system_prompt = excluded.system_prompt, disabled_tools = excluded.disabled_tools, max_step = excluded.max_step,
    timeout_seconds = excluded.timeout_seconds, permissions = excluded.permissions, planning = excluded.planning,
    created_at = excluded.created_at, deleted = excluded.deleted`;

export function harnessValues(record: HarnessRecord): SQLInputValue[] {
  const { harnessId: key, principal, name, base, defaultModel, systemPrompt, createdAtMs } = record;
  const { disabledTools, maxStep, timeoutSeconds, planning, deleted } = record;
  const tools = JSON.stringify(disabledTools);
  const may = record.permissions === null ? null : JSON.stringify(record.permissions);
  const rest = [maxStep, timeoutSeconds, may, planning === null ? null : Number(planning)];
  return [key, principal, name, base, defaultModel, systemPrompt, tools, ...rest, createdAtMs, deleted ? 1 : 0];
}

export const upsertKey = `
  INSERT INTO keys (key_id, principal, hash, scopes, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (key_id) DO UPDATE SET
    principal = excluded.principal, hash = excluded.hash, scopes = excluded.scopes,
    created_at = excluded.created_at, revoked_at = excluded.revoked_at`;

export function keyValues(record: KeyRecord): SQLInputValue[] {
  const { keyId: key, principal, hash, scopes, createdAtMs, revokedAtMs } = record;
  return [key, principal, hash, JSON.stringify(scopes), createdAtMs, revokedAtMs];
}
