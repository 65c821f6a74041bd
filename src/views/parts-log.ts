// Parts with our envelope become the log again that they were made of (P-060): what `parts-view.ts` does, backwards.
//
// P1. Parts of one number are one event: a `raw` one of ours among them says which, else the last (V2 of the view).
// P2. Parts without an envelope are for readers of parts alone, and are left out: the end of a turn, warnings, what others wrote.
// P3. What no part says is not known: private fields are empty afterwards (E-104).
// P4. A run begins with its `run-started`; several may follow each other.

import { isOwnRaw, ownKey, ownOf, readEnvelope, withoutEnvelope, type Envelope } from './part-envelope.ts';
import { PartBlocks } from './part-blocks.ts';
import { ReinsError } from '../core/errors.ts';
import { runEventData } from '../protocol/run-event-data.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { PublicEvent } from '../core/public-event.ts';
import type { EventBase, RunEvent, RunEventType } from '../core/run-event.ts';
import type { StreamPart } from '../protocol/parts/stream-part.ts';

/** Parts say that they are an event of ours, and are none. `seq` is the number that they give it. */
export class PartsLogError extends ReinsError {
  readonly seq: number;
  constructor(seq: number, why: string) {
    super(`Event ${seq} of the log cannot be read from its parts: ${why}`);
    this.seq = seq;
  }
}

export interface PartsLog {
  /** Events that are whole now: those of the parts before this one. @throws PartsLogError */
  push(part: StreamPart): readonly RunEvent[];
  /** The last one. @throws PartsLogError */
  end(): readonly RunEvent[];
}

/** Whether a part is of a log that can be made again: foreign ones are read by their place alone (P-068). */
export function isOfLog(part: StreamPart): boolean {
  const own = ownOf(part);
  return own !== null && readEnvelope(own) !== null;
}

export function createPartsLog(): PartsLog {
  return new LogOfParts();
}

interface Group {
  readonly at: Envelope;
  readonly parts: { readonly part: StreamPart; readonly own: Readonly<Record<string, unknown>> }[];
}

class LogOfParts implements PartsLog {
  #group: Group | null = null;
  #ids: { readonly runId: RunId; readonly sessionId: SessionId } | null = null;
  #blocks = new PartBlocks({ step: 0, attempt: 0 });
  /** Names of calls whose input arrives. */
  readonly #names = new Map<string, string>();

  push(part: StreamPart): readonly RunEvent[] {
    const own = ownOf(part);
    const at = own === null ? null : readEnvelope(own);
    if (own === null || at === null) return [];
    const group = this.#group;
    if (group?.at.seq === at.seq && own['type'] !== `${ownKey}.run-started`) {
      group.parts.push({ part, own });
      return [];
    }
    const events = this.end();
    this.#group = { at, parts: [{ part, own }] };
    return events;
  }

  end(): readonly RunEvent[] {
    const group = this.#group;
    this.#group = null;
    return group === null ? [] : [this.#eventOf(group)];
  }

  #eventOf(group: Group): RunEvent {
    const { seq } = group.at;
    const [type, data] = this.#read(group);
    if (type === 'run-started') this.#ids = idsOf(group);
    if (type === 'step-started' || type === 'attempt-reset') this.#blocks = new PartBlocks({ step: 0, attempt: 0 });
    if (this.#ids === null) throw new PartsLogError(seq, 'no run has begun.');
    return eventOf(type, data, { v: 1, ...group.at, ...this.#ids });
  }

  /** P1. */
  #read({ at: { seq, block = 0 }, parts }: Group): readonly [RunEventType, unknown] {
    const shown: Partial<Record<'text' | 'reasoning', string>> = {};
    for (const { part } of parts) {
      if (part.type === 'tool-input-start') this.#names.set(part.id, part.toolName);
      if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') continue;
      const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
      shown[kind] = part.delta;
    }
    const raw = parts.find(({ part }) => part.type === 'raw');
    const { part, own } = raw ?? parts.at(-1) ?? unreadable(seq);
    const whole = (kind: 'text' | 'reasoning') => shown[kind] ?? this.#blocks.shown(kind);
    switch (part.type) {
      case 'raw':
        return this.#readRaw(own, seq);
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
        this.#blocks.addWords(kind, block, part.delta);
        return [kind === 'text' ? 'text-delta' : 'thinking-delta', part.delta];
      }
      case 'text-end':
        return ['text-complete', whole('text')];
      case 'reasoning-end':
        return ['thinking-complete', whole('reasoning')];
      case 'tool-input-start':
        return ['tool-call-delta', { id: part.id, name: part.toolName, partialJson: '' }];
      case 'tool-input-delta':
        return ['tool-call-delta', { id: part.id, name: this.#names.get(part.id), partialJson: part.delta }];
      case 'tool-result': {
        const { toolCallId, toolName: name, result: content, isError = false } = part;
        return ['tool-result', { ...withoutEnvelope(own), toolCallId, name, content, isError }];
      }
      case 'tool-approval-request':
        return ['approval-required', withoutEnvelope(own)];
      case 'file-change':
        return ['file-changed', withoutEnvelope(own)];
      case 'compaction':
        return ['compacted', withoutEnvelope(own)];
      case 'finish-step':
        return ['step-finished', withoutEnvelope(own)];
      case 'stream-start':
      case 'text-start':
      case 'reasoning-start':
      case 'tool-input-end':
      case 'tool-call':
      case 'finish':
      case 'error':
        return unreadable(seq);
    }
  }

  #readRaw({ type, data }: Readonly<Record<string, unknown>>, seq: number): readonly [RunEventType, unknown] {
    const name = String(type).slice(ownKey.length + 1);
    if (!isEventType(name)) throw new PartsLogError(seq, 'its type is not known here.');
    if (data !== undefined) return [name, data];
    if (name === 'text-complete') return [name, this.#blocks.shown('text')];
    return [name, name === 'thinking-complete' ? this.#blocks.shown('reasoning') : undefined];
  }
}

function unreadable(seq: number): never {
  throw new PartsLogError(seq, 'a part of it is missing.');
}

function idsOf({ at: { seq }, parts }: Group): { readonly runId: RunId; readonly sessionId: SessionId } {
  const { runId, sessionId } = parts.find(({ part }) => part.type === 'raw' && isOwnRaw(part.rawValue))?.own ?? {};
  const ids = {
    runId: typeof runId === 'string' ? runIds.parse(runId) : undefined,
    sessionId: typeof sessionId === 'string' ? sessionIds.parse(sessionId) : undefined,
  };
  if (ids.runId === undefined || ids.sessionId === undefined) throw new PartsLogError(seq, 'it does not name its run.');
  return { runId: ids.runId, sessionId: ids.sessionId };
}

function isEventType(name: string): name is RunEventType {
  return Object.hasOwn(runEventData, name);
}

function eventOf(type: RunEventType, data: unknown, base: EventBase): RunEvent {
  const read = runEventData[type].safeParse(data);
  if (!read.success) {
    const path = read.error.issues[0]?.path.join('.') ?? '';
    throw new PartsLogError(base.seq, `${path === '' ? 'what it says' : `its "${path}"`} is no part of a ${type}.`);
  }
  // Contract: the schema of a type reads the data of that type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const event = { ...base, type, data: read.data } as PublicEvent;
  // P3.
  return event.type === 'tool-call-complete' ? { ...event, data: { ...event.data, _raw: null } } : event;
}
