import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { noteDraft, stampAll, textDraft } from '../testing/store-samples.ts';
import { numberEvent, numberEvents } from './event-shape.ts';
import { mergeDeltas } from './merge-deltas.ts';

const [runId, sessionId] = [runIds.make('a'), sessionIds.make('a')];
const merge = (first: EventDraft, second: EventDraft) => {
  const [stamped] = stampAll([first], runId, sessionId);
  return stamped && mergeDeltas(stamped, second);
};
const argumentsDraft = (id: string, partialJson: string): EventDraft => {
  return { type: 'tool-call-delta', step: 1, attempt: 1, block: 1, data: { id, name: 'bash', partialJson } };
};

const outputDraft = (id: string, text: string): EventDraft => {
  return { type: 'tool-output-delta', step: 1, attempt: 1, data: { id, name: 'bash', text } };
};

/** Merged events keep the number of their first. */
function mergeAll(events: readonly RunEvent[]): RunEvent[] {
  const merged: RunEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    const both = last && mergeDeltas(last, event);
    if (last === undefined || both === undefined) merged.push(event);
    else merged[merged.length - 1] = numberEvent(both, last.seq);
  }
  return merged;
}

/** What was said, piece after piece of one place: the text that L6 compares. */
function said(events: readonly RunEvent[]): Map<string, string> {
  const blocks = new Map<string, string>();
  for (const { type, step, attempt, block, data } of events) {
    const delta = typeof data === 'string' ? data : 'partialJson' in data ? data.partialJson : outputIn(data);
    if (delta === null) continue;
    const key = `${type}:${step}:${attempt}:${block}:${typeof data !== 'string' && 'id' in data ? data.id : ''}`;
    blocks.set(key, (blocks.get(key) ?? '') + delta);
  }
  return blocks;
}

function outputIn(data: object): string | null {
  return 'text' in data && typeof data.text === 'string' ? data.text : null;
}

test('M1: merging changes no text of any block, no committed event and no fold', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const merged = mergeAll(log);
      expect(said(merged)).toEqual(said(log));
      const fold = (events: readonly RunEvent[]) => events.reduce(evolve, initialRunState(runId, sessionId));
      expect(fold(merged)).toEqual(fold(log));
    }),
  );
});

test('M2: only neighbours of one kind and place merge', () => {
  expect(merge(textDraft('a'), textDraft('b'))).toMatchObject({ type: 'text-delta', data: 'ab' });
  expect(merge(argumentsDraft('1', '{'), argumentsDraft('1', '}'))).toMatchObject({
    data: { id: '1', partialJson: '{}' },
  });
  expect(merge(outputDraft('1', 'a'), outputDraft('1', 'b'))).toMatchObject({ data: { id: '1', text: 'ab' } });
  const waiting: EventDraft = { type: 'waiting', step: 1, attempt: 1, data: { on: 'model', seconds: 5 } };
  const apart: [EventDraft, EventDraft][] = [
    [textDraft('a'), textDraft('b', { block: 1 })],
    [textDraft('a'), textDraft('b', { step: 2 })],
    [textDraft('a'), textDraft('b', { attempt: 2 })],
    [textDraft('a'), { ...textDraft('b'), type: 'thinking-delta' } as EventDraft],
    [textDraft('a'), { ...textDraft('b'), agentPath: ['scout'] }],
    [argumentsDraft('1', ''), argumentsDraft('1', '{')],
    [argumentsDraft('1', '{'), argumentsDraft('2', '}')],
    [outputDraft('1', 'a'), outputDraft('2', 'b')],
    [waiting, waiting],
    [noteDraft('a'), noteDraft('b')],
  ];
  for (const [first, second] of apart) expect(merge(first, second)).toBeUndefined();
});

test('a merged delta stays within 64 KiB, whatever it is made of', () => {
  const pieces = Array.from({ length: 100 }, () => textDraft('€'.repeat(999)));
  const last = mergeAll(numberEvents(stampAll(pieces, runId, sessionId), 0));
  for (const { data } of last) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(65_536);
  expect(last).toHaveLength(5);
});
