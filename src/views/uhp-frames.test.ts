import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '../core/run-event.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { testRunId as runId, testSessionId as sessionId } from '../testing/log-builder.ts';
import { createUhpFrames, framesFrom, type FrameBatch } from './uhp-frames.ts';
import { createUhpView } from './uhp-view.ts';

const openFrames = (encode = true) => createUhpFrames({ runId, sessionId, reinsEvents: true, encode });

/** The stream of a log that was stored in batches cut at these places. */
function batchesOf(log: readonly RunEvent[], cuts: readonly number[] = []): FrameBatch[] {
  const frames = openFrames();
  const at = [...new Set(cuts.map((cut) => cut % (log.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].flatMap((from, index) => frames.push(log.slice(from, at[index] ?? log.length)) ?? []);
}

test('UD-16, B025: a frame is id, one data line and a blank line; id equals sequence_number', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const view = createUhpView({ runId, sessionId, reinsEvents: true, emit: true });
      const events = log.flatMap((event) => view.push(event));
      const [whole] = batchesOf(log);
      expect(whole?.text ?? '').toBe(
        events.map((event) => `id: ${event.sequence_number}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
      );
      expect([whole?.first, whole?.last]).toEqual([events.at(0)?.sequence_number, events.at(-1)?.sequence_number]);
    }),
  );
});

test('B051: however the log was cut into batches, the bytes are the same, without hole or overlap', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.array(fc.nat(200), { maxLength: 12 }), (log, cuts) => {
      const batches = batchesOf(log, cuts);
      expect(batches.map(({ text }) => text).join('')).toBe(batchesOf(log)[0]?.text ?? '');
      for (const [index, { first, terminal }] of batches.entries()) {
        expect(first).toBe((batches[index - 1]?.last ?? -1) + 1);
        expect(terminal && index < batches.length - 1).toBe(false);
      }
    }),
  );
});

test('UD-17: frames from any number on are the end of the whole text', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const [whole] = batchesOf(log);
      if (whole === undefined) return;
      const frames = whole.text.split(/(?<=\n\n)/);
      for (let from = 0; from <= whole.last; from++)
        expect(framesFrom(whole.text, from)).toBe(frames.slice(from).join(''));
    }),
    { numRuns: 20 },
  );
});

test('F1: what is not encoded is numbered all the same, and the response does not depend on it', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(200), (log, cut) => {
      const at = cut % (log.length + 1);
      const late = openFrames(false);
      late.push(log.slice(0, at));
      late.encode = true;
      const rest = late.push(log.slice(at));
      const whole = batchesOf(log)[0]?.text ?? '';
      if (rest !== null) expect(rest.text).toBe(framesFrom(whole, rest.first));
      const silent = openFrames(false);
      silent.push(log);
      if (log.length > 0) expect(late.response()).toEqual(silent.response());
    }),
  );
});
