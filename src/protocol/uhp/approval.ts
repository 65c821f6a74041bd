import type { ApprovalId, HarnessId, RunId, SessionId } from '../../core/ids.ts';
import type { PendingTool } from '../../core/run-event.ts';

/** A decision that a task waits for (UR-05). Times are Unix seconds. */
export type Approval = {
  readonly id: ApprovalId;
  readonly object: 'reins.approval';
  readonly kind: PendingTool['kind'];
  readonly status: PendingTool['status'];
  readonly response_id: RunId;
  readonly session_id: SessionId;
  readonly harness_id: HarnessId | null;
  readonly call_id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly arguments_digest: string;
  readonly reason: string | null;
  readonly questions: null;
  readonly agent_path: readonly string[];
  readonly requested_at: number;
  readonly expires_at: number | null;
  readonly decision: {
    readonly decision: string;
    readonly by: string;
    readonly at: number | null;
    readonly note: string | null;
    readonly rule_id: string | null;
  } | null;
};

export interface ApprovalPlace {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId | null;
  readonly callId: string;
  readonly agentPath: readonly string[];
}

export function toApproval(pending: PendingTool, place: ApprovalPlace): Approval {
  return {
    id: pending.approvalId,
    object: 'reins.approval',
    kind: pending.kind,
    status: pending.status,
    response_id: place.runId,
    session_id: place.sessionId,
    harness_id: place.harnessId,
    call_id: place.callId,
    name: pending.call.name,
    arguments: JSON.stringify(pending.call.input),
    arguments_digest: pending.argsDigest,
    reason: null,
    questions: null,
    agent_path: place.agentPath,
    requested_at: Math.floor(pending.requestedAtMs / 1000),
    expires_at: pending.expiresAtMs === null ? null : Math.floor(pending.expiresAtMs / 1000),
    decision: null,
  };
}
