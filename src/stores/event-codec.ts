// The text of one stored row: consecutive events of one run as compact JSON. What the row already tells (run, session, seq)
// and field names are left out: most rows hold one short delta, and names would be two thirds of it.

import { StorageError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { numberEvent, stampEvent } from './event-shape.ts';
import type { UnnumberedEvent } from './store.ts';

/** `[type, at, leg, step, attempt, data, block?, agentPath?]` */
type StoredEvent = readonly [
  type: EventDraft['type'],
  at: number,
  leg: number,
  step: number,
  attempt: number,
  data: EventDraft['data'],
  block?: number | null,
  agentPath?: readonly string[],
];

export interface StoredRow {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly body: string;
}

export function encodeEvents(events: readonly UnnumberedEvent[]): string {
  return JSON.stringify(events.map(toStored));
}

function toStored(event: UnnumberedEvent): StoredEvent {
  const { type, at, leg, step, attempt, data, block, agentPath } = event;
  if (agentPath !== undefined) return [type, at, leg, step, attempt, data, block ?? null, agentPath];
  if (block !== undefined) return [type, at, leg, step, attempt, data, block];
  return [type, at, leg, step, attempt, data];
}

/** @throws StorageError  The row is damaged: it is reported, never guessed at (E-804). */
export function decodeEvents(row: StoredRow): RunEvent[] {
  return parseBody(row).map((stored, index) => {
    const [type, at, leg, step, attempt, data, block, agentPath] = stored;
    const position = { step, attempt, ...(typeof block === 'number' && { block }), ...(agentPath && { agentPath }) };
    // The pair was written by `toStored` from one event; types of a newer version pass through unseen (E-005).
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const draft = { type, data, ...position } as EventDraft;
    const { runId, sessionId } = row;
    return numberEvent(stampEvent(draft, { runId, sessionId, at, leg }), row.firstSeq + index);
  });
}

function parseBody(row: StoredRow): readonly StoredEvent[] {
  const parsed = parseJson(row);
  const count = row.lastSeq - row.firstSeq + 1;
  if (!Array.isArray(parsed) || parsed.length !== count || !parsed.every(isStored)) throw damaged(row);
  return parsed;
}

function parseJson(row: StoredRow): unknown {
  try {
    return JSON.parse(row.body);
  } catch (cause) {
    throw damaged(row, cause);
  }
}

function isStored(value: unknown): value is StoredEvent {
  if (!Array.isArray(value) || value.length < 6 || value.length > 8 || typeof value[0] !== 'string') return false;
  for (let index = 1; index <= 4; index++) if (typeof value[index] !== 'number') return false;
  return true;
}

function damaged(row: StoredRow, cause?: unknown): StorageError {
  return new StorageError(`The log of ${row.runId} is damaged at events ${row.firstSeq} to ${row.lastSeq}.`, { cause });
}
