import { isJsonObject, toJsonValue } from '../core/json.ts';
import type { EventPosition, RunEvent } from '../core/run-event.ts';
import type { PartJson } from '../protocol/parts/part-json.ts';
import type { StreamPart } from '../protocol/parts/stream-part.ts';

export type OwnMetadata = Record<string, PartJson>;

/** The key of our own metadata, and what the types of our own `raw` parts begin with (P-004, P-061). */
export const ownKey = 'reins';

/** Where in its log the event of a part stands (P-060): number, leg, step, attempt, time, block, and in whose name it happened. */
export function envelopeOf({ seq, leg, step, attempt, at, block, agentPath }: RunEvent): OwnMetadata {
  return {
    q: seq,
    l: leg,
    s: step,
    a: attempt,
    t: at,
    ...(block === undefined ? {} : { b: block }),
    ...(agentPath === undefined ? {} : { p: agentPath }),
  };
}

export interface Envelope extends EventPosition {
  readonly seq: number;
  readonly leg: number;
  readonly at: number;
}

/** Null: there is none, or it is none. */
export function readEnvelope({ q, l, s, a, t, b, p }: Readonly<Record<string, unknown>>): Envelope | null {
  if (!isCount(q) || !isCount(l) || !isCount(s) || !isCount(a) || !isCount(t)) return null;
  const block = isCount(b) ? { block: b } : {};
  const agentPath = Array.isArray(p) && p.every((name) => typeof name === 'string') ? { agentPath: p } : {};
  return { seq: q, leg: l, step: s, attempt: a, at: t, ...block, ...agentPath };
}

/** Our metadata without the envelope: what the event says that the part has no key for. */
export function withoutEnvelope(own: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { q: _q, l: _l, s: _s, a: _a, t: _t, b: _b, p: _p, ...facts } = own;
  return facts;
}

/** The part with our own metadata, where parts of its type carry any. */
export function withOwn(part: StreamPart, own: OwnMetadata): StreamPart {
  switch (part.type) {
    case 'stream-start':
    case 'error':
    case 'raw':
      return part;
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-end':
    case 'tool-call':
    case 'tool-approval-request':
    case 'tool-result':
      return { ...part, providerMetadata: { [ownKey]: own } };
    case 'text-start':
    case 'text-delta':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
    case 'finish-step':
    case 'finish':
    case 'file-change':
    case 'compaction':
      return { ...part, harnessMetadata: { [ownKey]: own } };
  }
}

/** Our own metadata of a part; null: it has none. */
export function ownOf(part: StreamPart): Readonly<Record<string, unknown>> | null {
  if (part.type === 'raw') return isOwnRaw(part.rawValue) ? part.rawValue : null;
  const metadata =
    'harnessMetadata' in part ? part.harnessMetadata : 'providerMetadata' in part ? part.providerMetadata : undefined;
  return metadata?.[ownKey] ?? null;
}

/** A fact of ours that has no part of its own (P-061). */
export function isOwnRaw(value: unknown): value is { readonly type: string } & Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    value.type.startsWith(`${ownKey}.`)
  );
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export function asMetadata(facts: object): OwnMetadata {
  const value = toJsonValue(facts);
  return isJsonObject(value) ? { ...value } : {};
}
