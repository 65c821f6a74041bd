import { numberEvents } from '../event-shape.ts';
import type { Admission, AdmitResult } from '../admission.ts';

/** What a task is right after its admission, as the rows that were just written say. */
export function admitted(admission: Admission, turn: number): AdmitResult {
  const { runId, sessionId, harnessId, principal, previousRunId, store, owner, atMs, events } = admission;
  const run = {
    runId,
    sessionId,
    harnessId,
    principal,
    turn,
    previousRunId,
    parentRunId: admission.parentRunId ?? null,
    store,
    owner,
    status: 'running',
    phase: 'active',
    deleted: false,
    lastSeq: events.length,
    generation: 1,
    control: 'none',
    createdAtMs: atMs,
    endedAtMs: null,
    response: null,
  } as const;
  return { outcome: 'admitted', run, events: numberEvents(events, 0) };
}
