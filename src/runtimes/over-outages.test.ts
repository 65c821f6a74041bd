import { expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { overOutages } from './over-outages.ts';
import { StorageError } from '../core/errors.ts';
import { createLogBuilder, testRunId, testSessionId } from '../testing/log-builder.ts';
import type { EventRange, Store } from '../stores/store.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Services } from '../tasks/services.ts';

const log = createLogBuilder();
log.start();
for (const word of ['one', 'two', 'three'])
  log.step({ blocks: [{ kind: 'text', pieces: [word] }], finishReason: 'end-turn' });
log.end({ status: 'completed', stopReason: 'end-turn' });
const { events } = log;
const last = events.length;

/** A store in which some events cannot be read, and a log that reads it as the real one does. */
function sources(isBroken: (seq: number) => boolean, options: { down?: () => boolean } = {}) {
  const clock = createManualClock();
  const read = async ({ after, limit }: EventRange) => {
    const page: RunEvent[] = [];
    for (const event of events.slice(after)) {
      if (options.down?.() === true || isBroken(event.seq)) {
        if (page.length === 0) throw new StorageError('This record is damaged.');
        break;
      }
      page.push(event);
      if (page.length >= limit) break;
    }
    return page;
  };
  const store = {
    readEvents: (_runId: unknown, range: EventRange) => read(range),
    run: async () => (options.down?.() === true ? Promise.reject(new StorageError('Down.')) : { lastSeq: last }),
  } as unknown as Store;
  async function* follow(_runId: unknown, { after }: { after: number }) {
    for (let cursor = after; cursor < last;) {
      const page = await read({ after: cursor, limit: 2 });
      cursor = page.at(-1)?.seq ?? last;
      yield page;
    }
  }
  return { clock, store, log: { follow } as unknown as Services['log'] };
}

async function readAll(from: ReturnType<typeof sources>, after = 0): Promise<readonly RunEvent[]> {
  const seen: RunEvent[] = [];
  const options = { sessionId: testSessionId, after };
  for await (const batch of overOutages(from, testRunId, options)) seen.push(...batch);
  return seen;
}

test('E-150, E-151: over damaged events of any stretch the reader gets one gap that names them, and all the others once', async () => {
  for (let from = 1; from <= last; from++)
    for (let to = from; to < last; to++) {
      const seen = await readAll(sources((seq) => seq >= from && seq <= to));
      const gaps = seen.filter(({ type }) => type === 'gap');
      expect(gaps.map(({ data }) => data)).toEqual([{ reason: 'event_history_unavailable', from, to }]);
      const sound = events.filter(({ seq }) => seq < from || seq > to);
      expect(seen.filter(({ type }) => type !== 'gap')).toEqual(sound);
    }
});

test('E-150: while the store cannot be read the reader gets one gap, then goes on where it was', async () => {
  let reads = 0;
  let down = false;
  const from = sources(() => false, { down: () => down });
  const seen: RunEvent[] = [];
  const done = (async () => {
    for await (const batch of overOutages(from, testRunId, { sessionId: testSessionId, after: 0 })) {
      seen.push(...batch);
      reads += 1;
      if (reads === 2) down = true;
    }
  })();
  for (let second = 0; second < 5; second++) await from.clock.advance(1000);
  expect(seen.filter(({ type }) => type === 'gap').map(({ data }) => data)).toEqual([
    { reason: 'event_history_unavailable', from: 5 },
  ]);
  down = false;
  await from.clock.advance(1000);
  await done;
  expect(seen.filter(({ type }) => type !== 'gap')).toEqual(events);
});

test('E-151: a reader that comes back with the number of the gap goes on behind it', async () => {
  const from = sources((seq) => seq === 3 || seq === 4);
  const seen = await readAll(from);
  const gap = seen.find(({ type }) => type === 'gap');
  expect(await readAll(from, gap?.seq)).toEqual(events.filter(({ seq }) => seq > 4));
});
