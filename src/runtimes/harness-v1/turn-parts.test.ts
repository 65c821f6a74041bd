// What two looks of a host at one run show, cut at any event (P-082): no gap, nothing twice, blocks that begin.

import fc from 'fast-check';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { expect, test } from 'vitest';
import { logOfAllTypes } from '../../testing/log-of-all-types.ts';
import { TurnParts } from './turn-parts.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { StreamPart } from '../../protocol/parts/stream-part.ts';

const look = (events: readonly RunEvent[]) => {
  const parts = new TurnParts({
    hosted: new Set(['hosted']),
    listed: new Set(),
    maxConcurrent: 8,
    isSettled: () => false,
    outputOf: () => undefined,
  });
  return { parts, shown: events.flatMap((event) => parts.push(event)) };
};

/** A look that ends behind an event, what the next one begins with, and the rest of that. */
function cutAt(log: readonly RunEvent[], at: number) {
  const { parts, shown } = look(log.slice(0, at));
  return { first: shown, again: parts.again(), rest: log.slice(at).flatMap((event) => parts.push(event)) };
}

const deltasOf = (parts: readonly StreamPart[]) =>
  parts.flatMap((part) =>
    part.type === 'text-delta' || part.type === 'reasoning-delta' ? [`${part.type} ${part.id} ${part.delta}`] : [],
  );
const idsOf = (parts: readonly StreamPart[], type: 'tool-result' | 'tool-call') =>
  parts.flatMap((part) => (part.type === type ? [part.toolCallId] : []));
const endsOf = (parts: readonly StreamPart[]) => parts.filter(({ type }) => type === 'finish' || type === 'error');

/** Pieces of blocks that had no beginning in the same look. */
function orphans(parts: readonly StreamPart[]): readonly StreamPart[] {
  const begun = new Set<string>();
  return parts.filter((part) => {
    if (part.type.endsWith('-start') && 'id' in part) begun.add(part.id);
    return /-(delta|end)$/.test(part.type) && 'id' in part && !begun.has(part.id);
  });
}

test('P-082: wherever a run is cut, both looks together show it whole, each is well formed, and the second has the end', () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryLog, fc.constant(logOfAllTypes())), fc.nat(), (log, place) => {
      const whole = look(log).shown;
      const at = log.length === 0 ? 0 : place % (log.length + 1);
      const { first, again, rest } = cutAt(log, at);
      const second = [...again, ...rest];
      expect(deltasOf([...first, ...second])).toEqual(deltasOf(whole));
      expect(idsOf([...first, ...second], 'tool-result')).toEqual(idsOf(whole, 'tool-result'));
      expect(new Set(idsOf([...first, ...second], 'tool-call'))).toEqual(new Set(idsOf(whole, 'tool-call')));
      expect(endsOf(second)).toEqual(endsOf(whole));
      for (const each of [whole, first, second]) expect(orphans(each)).toEqual([]);
      const count = (type: 'tool-result' | 'tool-call', id: string) =>
        idsOf(first, type).filter((each) => each === id).length;
      for (const id of idsOf(again, 'tool-call'))
        expect(count('tool-call', id)).toBeGreaterThan(count('tool-result', id));
      for (const id of idsOf(rest, 'tool-result')) expect(idsOf(second, 'tool-call')).toContain(id);
    }),
  );
});
