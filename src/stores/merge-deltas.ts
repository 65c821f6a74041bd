// Live deltas that wait for the same flush become one (E-141): a reader gets the same text in fewer events.
//
// M1. Joined data, block by block, is what the deltas said, whatever was merged (E-125).
// M2. Only neighbours merge, of one type, step, attempt, block and sub-agent, and for a tool call of one id. The empty
//     piece that opens a tool call stays alone (E-112). `waiting` and committed events never merge.

import type { EventDraft, EventPosition } from '../core/run-event.ts';
import type { UnnumberedEvent } from './store.ts';

/** 64 KiB as UTF-8: a UTF-16 unit takes at most three bytes. */
const maxMergedUnits = Math.floor(65_536 / 3);

/** Both deltas as one, with the time of the first; undefined when they have to stay apart. */
export function mergeDeltas(first: UnnumberedEvent, second: EventDraft): UnnumberedEvent | undefined {
  if (!samePlace(first, second)) return undefined;
  if (first.type === 'text-delta' || first.type === 'thinking-delta') {
    const apart = second.type !== first.type || !fits(first.data, second.data);
    return apart ? undefined : { ...first, data: first.data + second.data };
  }
  if (first.type === 'tool-output-delta') {
    const apart =
      second.type !== first.type || first.data.id !== second.data.id || !fits(first.data.text, second.data.text);
    return apart ? undefined : { ...first, data: { ...first.data, text: first.data.text + second.data.text } };
  }
  if (first.type !== 'tool-call-delta' || second.type !== first.type || first.data.id !== second.data.id)
    return undefined;
  const [before, after] = [first.data.partialJson, second.data.partialJson];
  if (before === '' || !fits(before, after)) return undefined;
  return { ...first, data: { ...first.data, partialJson: before + after } };
}

function fits(first: string, second: string): boolean {
  return first.length + second.length <= maxMergedUnits;
}

function samePlace(a: EventPosition, b: EventPosition): boolean {
  return a.step === b.step && a.attempt === b.attempt && a.block === b.block && samePath(a.agentPath, b.agentPath);
}

function samePath(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === b) return true;
  return a !== undefined && b !== undefined && a.length === b.length && a.every((name, index) => name === b[index]);
}
