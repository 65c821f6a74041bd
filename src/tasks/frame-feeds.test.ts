import { expect, test } from 'vitest';
import * as fc from 'fast-check';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createFrameFeeds } from './frame-feeds.ts';
import { createUhpFrames } from '../views/uhp-frames.ts';
import { testRunId as runId, testSessionId as sessionId } from '../testing/log-builder.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunLog } from '../stores/run-log.ts';

const source = { runId, sessionId, reinsEvents: false };
const never = new AbortController().signal;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A log that grows when it is told to, and its host's fold of the same events. */
function growingLog(events: readonly RunEvent[]) {
  let length = 0;
  let news = Promise.withResolvers<void>();
  async function* follow(_: unknown, { after }: { readonly after: number }) {
    for (let cursor = after; cursor < events.length;) {
      if (cursor === length) await news.promise;
      const batch = events.slice(cursor, length);
      cursor = length;
      if (batch.length > 0) yield batch;
    }
  }
  return {
    log: { follow } as unknown as RunLog,
    grow(count: number): readonly RunEvent[] {
      const from = length;
      length = Math.min(events.length, length + count);
      news.resolve();
      news = Promise.withResolvers();
      return events.slice(from, length);
    },
    get isWhole() {
      return length === events.length;
    },
  };
}

test('F3, B047, B051: readers with any cursor, joining at any time, with or without a host, get the same bytes', async () => {
  const readers = fc.array(fc.record({ after: fc.integer({ min: -1, max: 80 }), joinsAt: fc.nat(20) }), {
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(arbitraryLog, readers, fc.nat(12), fc.nat(12), async (events, joining, opensAt, closesAfter) => {
      const whole = createUhpFrames({ ...source, encode: true }).push(events);
      fc.pre(whole?.terminal === true);
      const log = growingLog(events);
      const feeds = createFrameFeeds(log.log);
      const fold = createUhpFrames({ ...source, encode: false });
      let host: ReturnType<typeof feeds.open> | null = null;
      const read = async (after: number) => {
        let text = '';
        for await (const batch of feeds.follow(source, { after, signal: never })) text += batch.text;
        return { after, text };
      };
      const reading: ReturnType<typeof read>[] = [];
      for (let round = 0; !log.isWhole; round++) {
        if (round === opensAt) host = feeds.open(source);
        if (round === opensAt + closesAfter) host?.close();
        for (const { after, joinsAt } of joining)
          if (joinsAt === round) reading.push(read(Math.min(after, (whole?.last ?? 0) - 1)));
        const stored = log.grow(1 + (round % 3));
        fold.encode = host?.wanted ?? false;
        const frames = fold.push(stored);
        if (round >= opensAt && round < opensAt + closesAfter) host?.push(frames);
        if (round % 2 === 0) await turn();
      }
      host?.close();
      for (const { after, text } of await Promise.all(reading))
        expect(text).toBe(whole?.text.slice(whole.text.indexOf(`id: ${after + 1}\n`)));
    }),
    { numRuns: 200 },
  );
});

test('F1: nothing is encoded while nobody reads, and a reader that leaves is forgotten', async () => {
  const feeds = createFrameFeeds(growingLog([]).log);
  const host = feeds.open(source);
  expect(host.wanted).toBe(false);
  const gone = new AbortController();
  const reader = feeds.follow(source, { after: -1, signal: gone.signal })[Symbol.asyncIterator]();
  const first = reader.next();
  expect(host.wanted).toBe(true);
  host.push({ first: 0, last: 0, text: 'id: 0\n\n', terminal: false });
  gone.abort();
  await first;
  await reader.return?.(undefined);
  expect(host.wanted).toBe(false);
});
