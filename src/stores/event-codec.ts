// The text of one stored row: events of one run, in order, as compact JSON. What the row already tells (run, session, seq)
// and field names are left out: most rows hold one short delta, and names would be two thirds of it.
// A number between two events is a hole of so many, left by retention (E-845).

import { DamageError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
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

/** Events that have no number yet, or numbered ones with holes, the first place being `firstSeq`. */
export function encodeEvents(events: readonly UnnumberedEvent[]): string;
export function encodeEvents(events: readonly RunEvent[], firstSeq: number): string;
export function encodeEvents(events: readonly (UnnumberedEvent | RunEvent)[], firstSeq?: number): string {
  if (firstSeq === undefined) return `[${events.map(encodeEvent).join(',')}]`;
  let next = firstSeq;
  return JSON.stringify(
    events.flatMap((event) => {
      const hole = 'seq' in event ? event.seq - next : 0;
      next += hole + 1;
      return hole === 0 ? [toStored(event)] : [hole, toStored(event)];
    }),
  );
}

/** As `JSON.stringify(toStored(event))`; nearly all events are deltas, which are spared the array and its walk. */
function encodeEvent(event: UnnumberedEvent): string {
  const { type, at, leg, step, attempt, data, block, agentPath } = event;
  if (type !== 'text-delta' || block === undefined || agentPath !== undefined) return JSON.stringify(toStored(event));
  return `["text-delta",${at},${leg},${step},${attempt},${JSON.stringify(data)},${block}]`;
}

function toStored(event: UnnumberedEvent): StoredEvent {
  const { type, at, leg, step, attempt, data, block, agentPath } = event;
  if (agentPath !== undefined) return [type, at, leg, step, attempt, data, block ?? null, agentPath];
  if (block !== undefined) return [type, at, leg, step, attempt, data, block];
  return [type, at, leg, step, attempt, data];
}

/**
 * The row's events in order; with 'committed' no live ones are built.
 * @throws DamageError  The row is damaged, after what stands before the damage: it is reported, never guessed at (E-804).
 */
export function* decodeEvents(row: StoredRow, which: 'all' | 'committed' = 'all'): Generator<RunEvent> {
  const items = parseJson(row);
  if (!Array.isArray(items)) throw damaged(row);
  let seq = row.firstSeq;
  for (const item of items) {
    if (typeof item === 'number') seq += item;
    else if (!isStored(item) || seq > row.lastSeq) throw damaged(row);
    else {
      if (which === 'all' || !isLive(item[0])) yield fromStored(item, row, seq);
      seq += 1;
    }
  }
}

function fromStored(stored: StoredEvent, { runId, sessionId }: StoredRow, seq: number): RunEvent {
  const [type, at, leg, step, attempt, data, block, agentPath] = stored;
  const position = { step, attempt, ...(typeof block === 'number' && { block }), ...(agentPath && { agentPath }) };
  // The pair was written by `toStored` from one event; types of a newer version pass through unseen (E-005).
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const draft = { type, data, ...position } as EventDraft;
  return numberEvent(stampEvent(draft, { runId, sessionId, at, leg }), seq);
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

function damaged(row: StoredRow, cause?: unknown): DamageError {
  return new DamageError(`The log of ${row.runId} is damaged at events ${row.firstSeq} to ${row.lastSeq}.`, { cause });
}
