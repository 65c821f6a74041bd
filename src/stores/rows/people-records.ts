// What people were asked, said and decided, as rows have it.

import { DamageError } from '../../core/errors.ts';
import { approvalIds, ruleIds } from '../../core/ids.ts';
import { canonicalJson, toJsonValue } from '../../core/json.ts';
import type { RunEvent } from '../../core/run-event.ts';
import { statusAfter } from '../../core/run-state.ts';
import { hashText } from '../../core/text.ts';
import { decodeEvents } from '../event-codec.ts';
import type { ApprovalRecord, RuleRecord, UnnumberedEvent } from '../store.ts';
import { id, integer, nullable, oneOf, text, type Fields } from './columns.ts';
import { harnessId, runId, sessionId } from './records.ts';

const ruleId = id(ruleIds);
const approvalId = id(approvalIds);

export function ruleRecord(row: Fields): RuleRecord {
  const pathPrefix = nullable(row, 'path_prefix', text);
  const toolIdentity = nullable(row, 'tool_identity', text);
  return {
    ruleId: ruleId(row, 'rule_id'),
    principal: text(row, 'principal'),
    harnessId: harnessId(row, 'harness_id'),
    scope: oneOf(row, 'scope', ['run', 'session', 'agent']),
    match: pathPrefix === null ? oneOf(row, 'match', ['tool', 'exact-args']) : { pathPrefix },
    toolName: text(row, 'tool_name'),
    argsDigest: text(row, 'args_digest'),
    ...(toolIdentity === null ? {} : { toolIdentity }),
    effect: oneOf(row, 'effect', ['allow', 'deny']),
    sessionId: sessionId(row, 'session_id'),
    runId: runId(row, 'run_id'),
    by: text(row, 'made_by'),
    createdAtMs: integer(row, 'created_at'),
  };
}

export function approvalRecord(row: Fields): ApprovalRecord {
  const asked = eventIn(row, 'asked');
  const decided = nullable(row, 'decided', eventIn);
  const isRequest = asked.type === 'approval-required' || asked.type === 'recovery-required';
  if (!isRequest || (decided !== null && decided.type !== 'approval-decided')) throw damaged(row);
  return {
    approvalId: approvalId(row, 'approval_id'),
    runId: asked.runId,
    sessionId: asked.sessionId,
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    pending: { ...asked.data, status: decided === null ? asked.data.status : statusAfter(decided.data) },
    decided: decided === null ? null : { ...decided.data, atMs: decided.at },
  };
}

function eventIn(row: Fields, name: string): RunEvent {
  const place = { runId: runId(row, 'run_id'), sessionId: sessionId(row, 'session_id'), firstSeq: 1, lastSeq: 1 };
  try {
    for (const event of decodeEvents({ ...place, body: text(row, name) })) return event;
  } catch (cause) {
    throw damaged(row, cause);
  }
  throw damaged(row);
}

function damaged(row: Fields, cause?: unknown): DamageError {
  return new DamageError(`The approval ${text(row, 'approval_id')} is damaged.`, { cause });
}

/** What tells two messages of one id apart. */
export function contentHash({ data }: Extract<UnnumberedEvent, { type: 'user-message' }>): string {
  return hashText(canonicalJson(toJsonValue(data.content)));
}
