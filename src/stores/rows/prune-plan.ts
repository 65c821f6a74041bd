// What retention leaves of a log (E-845), for stores whose rows hold several events each. P1 to P7 stand in `sqlite/prune.ts`.

import { DamageError } from '../../core/errors.ts';
import { isLive, type EventPosition, type RunEvent } from '../../core/run-event.ts';
import { decodeEvents, encodeEvents, type StoredRow } from '../event-codec.ts';
import { numberEvent } from '../event-shape.ts';
import { mergeDeltas } from '../merge-deltas.ts';

export interface RewrittenRow<R> {
  readonly row: R;
  /** What it holds from now on; null: nothing. */
  readonly body: string | null;
}

/** The rows of a page that change. */
export function rewriteRows<R extends StoredRow>(
  rows: readonly R[],
  replacedAt: Replacements,
): readonly RewrittenRow<R>[] {
  const decoded = rows.map((row) => ({ row, events: wholeRow(row) }));
  const partial = partialOutput(
    decoded.flatMap(({ events }) => events ?? []),
    replacedAt,
  );
  return decoded.flatMap(({ row, events }) => {
    if (events === null || !events.some(({ type }) => isLive(type))) return [];
    const kept = events.flatMap((event) => (isLive(event.type) ? (partial.get(event.seq) ?? []) : event));
    return [{ row, body: kept.length === 0 ? null : encodeEvents(kept, row.firstSeq) }];
  });
}

/** Notes what the events of some rows replace; a damaged row replaces nothing (P5). */
export function noteReplacements(replacedAt: Map<string, number>, rows: readonly StoredRow[]): void {
  for (const row of rows) for (const event of wholeRow(row) ?? []) noteReplacement(replacedAt, event);
}

/** By attempt, the last event that made its deltas before it superfluous. */
export type Replacements = ReadonlyMap<string, number>;

function noteReplacement(replacedAt: Map<string, number>, event: RunEvent): void {
  if (event.type === 'turn-complete') replacedAt.set(attemptKey(event), event.seq);
  else if (event.type === 'attempt-reset')
    replacedAt.set(attemptKey({ ...event, attempt: event.data.attempt }), event.seq);
}

/** Null: the batch is damaged (P5). */
function wholeRow(row: StoredRow): readonly RunEvent[] | null {
  try {
    return [...decodeEvents(row)];
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

/** The joined deltas that stay, by the seq that each keeps (P2). */
function partialOutput(events: readonly RunEvent[], replacedAt: Replacements): ReadonlyMap<number, RunEvent> {
  const streams = new Map<string, RunEvent[]>();
  for (const event of events) {
    if (!isLive(event.type) || event.type === 'waiting' || event.type === 'tool-output-delta') continue;
    const attempt = attemptKey(event);
    if (event.seq < (replacedAt.get(attempt) ?? 0)) continue;
    const callId = event.type === 'tool-call-delta' ? event.data.id : null;
    join(streams, JSON.stringify([attempt, event.type, callId]), event);
  }
  return new Map([...streams.values()].flat().map((event) => [event.seq, event]));
}

function join(streams: Map<string, RunEvent[]>, key: string, event: RunEvent): void {
  const deltas = streams.get(key) ?? [];
  streams.set(key, deltas);
  const last = deltas.at(-1);
  const merged = last === undefined ? undefined : mergeDeltas(last, event);
  if (last !== undefined && merged !== undefined) deltas[deltas.length - 1] = numberEvent(merged, last.seq);
  else deltas.push(event);
}

function attemptKey({ agentPath, step, attempt }: EventPosition): string {
  return JSON.stringify([agentPath, step, attempt]);
}
