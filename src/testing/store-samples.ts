// Small facts that store and log tests are made of.

import { approvalIds, harnessIds, ruleIds, runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { RunResultData, RunStatus } from '../core/outcome.ts';
import { executionKeyOf, type ApprovalWord, type EventDraft, type PendingTool } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import { decidedBy } from '../core/closing.ts';
import { stampEvent } from '../stores/event-shape.ts';
import type { FactFromOutside, QueuedTask, RuleRecord, UnnumberedEvent } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';

const model = { provider: 'demo', model: 'demo' };

export function startDraft(text = 'hello'): EventDraft {
  const input = [{ content: [{ type: 'text', text }] }] as const;
  const data = { leg: 1, cause: 'submit', input, model, limits: noBudgets } as const;
  return { type: 'run-started', step: 0, attempt: 0, data };
}

export function textDraft(data: string, place: { step?: number; attempt?: number; block?: number } = {}): EventDraft {
  return { type: 'text-delta', step: 1, attempt: 1, block: 0, ...place, data };
}

/** A committed event that says nothing but its own text. */
export function noteDraft(text: string): EventDraft {
  const content = [{ type: 'text', text }] as const;
  return { type: 'user-message', step: 1, attempt: 0, data: { messageId: text, content, mode: 'engine' } };
}

/** What a person is asked about call `name` of a run. */
export function pendingOf(name: string, runId: RunId, change: Partial<PendingTool> = {}): PendingTool {
  return {
    approvalId: approvalIds.make(`${runId}${name}`),
    kind: 'approval',
    executionKey: executionKeyOf(runId, 1, name),
    runId,
    step: 1,
    call: { id: name, name: 'bash', input: { command: 'rm' } },
    argsDigest: 'digest',
    replay: 'manual',
    toolAttempt: 0,
    status: 'pending',
    requestedAtMs: 2_000,
    expiresAtMs: null,
    ...change,
  };
}

export function requestDraft(data: PendingTool, agentPath?: readonly string[]): EventDraft {
  const path = agentPath === undefined ? {} : { agentPath };
  const type = data.kind === 'recovery' ? 'recovery-required' : 'approval-required';
  return { type, step: data.step, attempt: 0, data, ...path };
}

export function decisionDraft(pending: PendingTool, decision: ApprovalWord, by = 'owner'): EventDraft {
  return decidedBy(pending, { by, step: pending.step, decision });
}

/** A draft as a fact that another process appends. */
export function factOf(draft: EventDraft, { runId, sessionId }: Admission): FactFromOutside {
  const event = stampEvent(draft, { runId, sessionId, at: 3_000, leg: 1 });
  if (event.type !== 'user-message' && event.type !== 'approval-decided')
    throw new Error('That is no fact from outside.');
  return { event };
}

export function ruleOf(name: string, change: Partial<RuleRecord> = {}): RuleRecord {
  return {
    ruleId: ruleIds.make(name),
    principal: 'owner',
    harnessId: harnessIds.make('sample'),
    scope: 'session',
    match: 'tool',
    toolName: 'bash',
    argsDigest: 'digest',
    effect: 'allow',
    sessionId: sessionIds.make('a'),
    runId: runIds.make('a'),
    by: 'owner',
    createdAtMs: 1_000,
    ...change,
  };
}

export function queuedOf(messageId: string, sessionId: SessionId): Omit<QueuedTask, 'status' | 'runId'> {
  return { messageId, sessionId, principal: 'owner', body: { input: messageId }, bodyHash: `hash of ${messageId}` };
}

export function resultDraft(runId: RunId, sessionId: SessionId, status: RunStatus = 'completed'): EventDraft {
  const data: RunResultData = {
    runId,
    sessionId,
    requestId: null,
    status,
    stopReason: 'end-turn',
    output: '',
    partialOutput: null,
    usage: null,
    usageIncomplete: false,
    cost: { dollars: null, estimated: true },
    error: null,
    pending: [],
    todos: null,
    steps: 1,
    attempts: 1,
    model: { requested: model, served: null, fallback: false, reason: null },
    undelivered: [],
    unstopped: [],
    startedAtMs: 0,
    endedAtMs: 0,
  };
  return { type: 'run-result', step: 1, attempt: 0, data };
}

export function stampAll(drafts: readonly EventDraft[], runId: RunId, sessionId: SessionId): UnnumberedEvent[] {
  return drafts.map((draft) => stampEvent(draft, { runId, sessionId, at: 1, leg: 1 }));
}

/** The admission of run `name` as the first task of a session of the same name; `change` makes it another one. */
export function admissionOf(name: string, change: Partial<Admission> = {}): Admission {
  const runId = change.runId ?? runIds.make(name);
  const sessionId = change.sessionId ?? sessionIds.make(name);
  return {
    runId,
    sessionId,
    harnessId: harnessIds.make('sample'),
    principal: 'owner',
    newSession: { title: name },
    previousRunId: null,
    store: true,
    owner: 'here',
    events: stampAll([startDraft()], runId, sessionId),
    atMs: 1_000,
    ...change,
  };
}

/** The same for a task that follows `previous` in its session. */
export function continuationOf(name: string, previous: Admission): Admission {
  const { newSession: _, ...next } = admissionOf(name, {
    sessionId: previous.sessionId,
    previousRunId: previous.runId,
  });
  return next;
}
