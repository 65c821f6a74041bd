// Small facts that store and log tests are made of.

import { harnessIds, runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { FinalStatus, RunResultData } from '../core/outcome.ts';
import type { EventDraft } from '../core/run-event.ts';
import { stampEvent } from '../stores/event-shape.ts';
import type { Admission, UnnumberedEvent } from '../stores/store.ts';

const model = { provider: 'demo', model: 'demo' };

export function startDraft(text = 'hello'): EventDraft {
  const limits = {
    maxSteps: 0,
    maxToolRounds: null,
    maxOutputTokens: null,
    maxSeconds: null,
    maxResultChars: 12_000,
    finalAnswerOnLimit: true,
  };
  const data = { leg: 1, cause: 'submit', input: [{ content: [{ type: 'text', text }] }], model, limits } as const;
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

export function resultDraft(runId: RunId, sessionId: SessionId, status: FinalStatus = 'completed'): EventDraft {
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
    error: null,
    pending: [],
    steps: 1,
    attempts: 1,
    model: { requested: model, served: null, fallback: false, reason: null },
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
