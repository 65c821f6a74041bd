import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import { createPartsLog, isOfLog, PartsLogError } from './parts-log.ts';
import { createPartsView } from './parts-view.ts';
import { decodeStreamPart, marshalStreamPart, type StreamPart } from '../protocol/parts/index.ts';
import { isLive, type RunEvent } from '../core/run-event.ts';
import { logOfAllTypes } from '../testing/log-of-all-types.ts';
import { publicEvent } from '../core/public-event.ts';
import { runEventData } from '../protocol/run-event-data.ts';

const view = (log: readonly RunEvent[], envelope = true) => {
  const parts = createPartsView({ envelope });
  return log.flatMap((event) => parts.push(event));
};
/** Through the bytes of a file. */
const written = (parts: readonly StreamPart[]) => parts.map((part) => decodeStreamPart(marshalStreamPart(part)));
const readBack = (parts: readonly StreamPart[]) => {
  const log = createPartsLog();
  return [...parts.flatMap((part) => log.push(part)), ...log.end()];
};
const told = (log: readonly RunEvent[]) => log.map(publicEvent);

describe('P-060, P-116: there and back', () => {
  test('all types of events, with everything that is not private', () => {
    const log = logOfAllTypes();
    expect(new Set(log.map(({ type }) => type))).toEqual(new Set(Object.keys(runEventData)));
    expect(told(readBack(written(view(log))))).toEqual(told(log));
  });

  test('a wait in the line for a process', () => {
    const [first] = logOfAllTypes();
    if (first === undefined) return expect.fail();
    const data = { on: 'capacity', seconds: 1.5, position: 2 } as const;
    const log: readonly RunEvent[] = [first, { ...first, seq: 2, type: 'waiting', data }];
    expect(told(readBack(written(view(log))))).toEqual(told(log));
  });

  test('any lawful log, cut anywhere', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(200), (log, cut) => {
        const part = log.slice(0, Math.max(1, cut));
        expect(told(readBack(written(view(part))))).toEqual(told(part));
      }),
    );
  });

  test('E-845: a log without its live events', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const pruned = log.filter(({ type }) => !isLive(type));
        expect(told(readBack(written(view(pruned))))).toEqual(told(pruned));
      }),
    );
  });

  test('several runs, one after the other, also those of a single event', () => {
    const short = createLogBuilder();
    short.start();
    const logs = [short.events, logOfAllTypes(), short.events, short.events];
    expect(told(readBack(logs.flatMap((log) => view(log))))).toEqual(told(logs.flat()));
  });
});

describe('parts that are no log', () => {
  test('P-060: without an envelope there is none, whatever else they say', () => {
    const plain = view(logOfAllTypes(), false);
    expect(plain.some(isOfLog)).toBe(false);
    expect(readBack(plain)).toEqual([]);
  });

  const start = view(logOfAllTypes().slice(0, 1));
  const raw = (own: object): StreamPart => ({ type: 'raw', rawValue: { q: 2, l: 1, s: 0, a: 0, t: 5, at: 5, ...own } });
  const cases: [string, StreamPart[], string][] = [
    ['an unknown type', [raw({ type: 'reins.tomorrow', data: 1 })], 'its type is not known here.'],
    ['an inherited name', [raw({ type: 'reins.toString', data: 1 })], 'its type is not known here.'],
    ['data of another shape', [raw({ type: 'reins.waiting', data: { on: 'tea', seconds: 1 } })], '"on"'],
    ['no data', [raw({ type: 'reins.gap' })], 'what it says'],
    [
      'the beginning of an event alone',
      [{ type: 'text-start', id: 't', harnessMetadata: { reins: { q: 2, l: 1, s: 0, a: 0, t: 5 } } }],
      'a part of it is missing.',
    ],
  ];
  test.each(cases)('%s is said to be none, with its number', (_, parts, why) => {
    const read = () => readBack([...start, ...parts]);
    expect(read).toThrow(PartsLogError);
    expect(read).toThrow(why);
    expect(read).toThrow('Event 2');
  });

  test('an event before any run', () => {
    expect(() => readBack([raw({ type: 'reins.gap', data: { reason: 'log_limit' } })])).toThrow('no run has begun.');
  });

  test('an envelope that is none counts as none', () => {
    for (const q of [-1, 1.5, '2', null]) expect(isOfLog(raw({ type: 'reins.gap', q }))).toBe(false);
  });
});
