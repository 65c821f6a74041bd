import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { noteDraft, stampAll, textDraft } from '../testing/store-samples.ts';
import { numberEvents } from './event-shape.ts';
import { mergeDeltas } from './merge-deltas.ts';
import type { UnnumberedEvent } from './store.ts';

const [runId, sessionId] = [runIds.make('a'), sessionIds.make('a')];
const merge = (first: EventDraft, second: EventDraft) => {
  const [stamped] = stampAll([first], runId, sessionId);
  return stamped && mergeDeltas(stamped, second);
};
const argumentsDraft = (id: string, partialJson: string): EventDraft => {
  return { type: 'tool-call-delta', step: 1, attempt: 1, block: 1, data: { id, name: 'bash', partialJson } };
};

function mergeAll(events: readonly UnnumberedEvent[]): UnnumberedEvent[] {
  const merged: UnnumberedEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    const both = last && mergeDeltas(last, event);
    if (both === undefined) merged.push(event);
    else merged[merged.length - 1] = both;
  }
  return merged;
}

/** What was said, piece after piece of one place: the text that L6 compares. */
function said(events: readonly UnnumberedEvent[]): Map<string, string> {
  const blocks = new Map<string, string>();
  for (const { type, step, attempt, block, data } of events) {
    const delta = typeof data === 'string' ? data : 'partialJson' in data ? data.partialJson : null;
    if (delta === null) continue;
    const key = `${type}:${step}:${attempt}:${block}`;
    blocks.set(key, (blocks.get(key) ?? '') + delta);
  }
  return blocks;
}

test('M1: merging changes no text of any block, no committed event and no fold', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const merged = mergeAll(log);
      expect(said(merged)).toEqual(said(log));
      const fold = (events: readonly RunEvent[]) => events.reduce(evolve, initialRunState(runId, sessionId));
      expect(fold(numberEvents(merged, 0))).toEqual(fold(log));
    }),
  );
});

test('M2: only neighbours of one kind and place merge', () => {
  expect(merge(textDraft('a'), textDraft('b'))).toMatchObject({ type: 'text-delta', data: 'ab' });
  expect(merge(argumentsDraft('1', '{'), argumentsDraft('1', '}'))).toMatchObject({
    data: { id: '1', partialJson: '{}' },
  });
  const waiting: EventDraft = { type: 'waiting', step: 1, attempt: 1, data: { on: 'model', seconds: 5 } };
  const apart: [EventDraft, EventDraft][] = [
    [textDraft('a'), textDraft('b', { block: 1 })],
    [textDraft('a'), textDraft('b', { step: 2 })],
    [textDraft('a'), textDraft('b', { attempt: 2 })],
    [textDraft('a'), { ...textDraft('b'), type: 'thinking-delta' } as EventDraft],
    [textDraft('a'), { ...textDraft('b'), agentPath: ['scout'] }],
    [argumentsDraft('1', ''), argumentsDraft('1', '{')],
    [argumentsDraft('1', '{'), argumentsDraft('2', '}')],
    [waiting, waiting],
    [noteDraft('a'), noteDraft('b')],
  ];
  for (const [first, second] of apart) expect(merge(first, second)).toBeUndefined();
});

test('a merged delta stays within 64 KiB, whatever it is made of', () => {
  const last = mergeAll(
    stampAll(
      Array.from({ length: 100 }, () => textDraft('€'.repeat(999))),
      runId,
      sessionId,
    ),
  );
  for (const { data } of last) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(65_536);
  expect(last).toHaveLength(5);
});
