import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '../core/run-event.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { testRunId as runId, testSessionId as sessionId } from '../testing/log-builder.ts';
import { createUhpFrames, type Frame } from './uhp-frames.ts';
import { createUhpView } from './uhp-view.ts';

function framesOf(log: readonly RunEvent[]): Frame[] {
  const frames = createUhpFrames({ runId, sessionId, reinsEvents: true });
  return log.flatMap((event) => frames.push(event));
}

test('UD-16, B025: a frame is id, one data line and a blank line; id equals sequence_number', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const view = createUhpView({ runId, sessionId, reinsEvents: true, emit: true });
      const events = log.flatMap((event) => view.push(event));
      const frames = framesOf(log);
      expect(frames.map((frame) => frame.text)).toEqual(
        events.map((event) => `id: ${event.sequence_number}\ndata: ${JSON.stringify(event)}\n\n`),
      );
      expect(frames.map((frame) => frame.sequence)).toEqual(events.map((event) => event.sequence_number));
      expect(frames.filter((frame) => frame.terminal)).toEqual(frames.slice(-1));
    }),
  );
});

test('B051: a replay gives the bytes that went out live, at every index', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const live = framesOf(log);
      for (let after = -1; after < live.length; after++) {
        const resumed = framesOf(log).filter((frame) => frame.sequence > after);
        expect(resumed).toEqual(live.slice(after + 1));
      }
    }),
    { numRuns: 20 },
  );
});
