import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DamageError } from '../core/errors.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { isLive, type RunEvent } from '../core/run-event.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { noteDraft, stampAll, textDraft } from '../testing/store-samples.ts';
import { decodeEvents, encodeEvents } from './event-codec.ts';
import { numberEvents, stampEvent } from './event-shape.ts';

const row = { runId: runIds.make('a'), sessionId: sessionIds.make('a') };

/** Events as the log makes them: of this run, numbered from `firstSeq`. */
function asStored(events: readonly RunEvent[], firstSeq: number): RunEvent[] {
  return numberEvents(
    events.map((event) => stampEvent(event, { ...row, at: event.at, leg: event.leg })),
    firstSeq - 1,
  );
}

test('B051: a stored row gives back the very bytes of the events it was made of', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.integer({ min: 1, max: 1e9 }), (log, firstSeq) => {
      const events = asStored(log, firstSeq);
      const lastSeq = firstSeq + events.length - 1;
      expect(JSON.stringify([...decodeEvents({ ...row, firstSeq, lastSeq, body: encodeEvents(events) })])).toBe(
        JSON.stringify(events),
      );
    }),
  );
});

test('E-845: a row with holes gives back the events that are left, under the seq they had', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.integer({ min: 1, max: 1e9 }), (log, firstSeq) => {
      const events = asStored(log, firstSeq);
      const kept = events.filter(({ type }) => !isLive(type));
      const body = encodeEvents(kept, firstSeq);
      expect([...decodeEvents({ ...row, firstSeq, lastSeq: firstSeq + events.length - 1, body })]).toEqual(kept);
    }),
  );
});

test('a sub-agent and a missing block come back as they were', () => {
  const nested = [
    { ...textDraft('x'), agentPath: ['scout'] },
    { ...noteDraft('n'), agentPath: ['scout', 'inner'] },
  ];
  const events = numberEvents(stampAll([...nested, noteDraft('plain')], row.runId, row.sessionId), 0);
  expect([...decodeEvents({ ...row, firstSeq: 1, lastSeq: 3, body: encodeEvents(events) })]).toEqual(events);
});

test('B128: a row cut at any place is reported, never half read', () => {
  const body = encodeEvents(stampAll([noteDraft('é\ud83d\ude00'), textDraft('x')], row.runId, row.sessionId));
  for (let cut = 0; cut < body.length; cut++) {
    const damaged = { ...row, firstSeq: 4, lastSeq: 5, body: body.slice(0, cut) };
    expect(() => [...decodeEvents(damaged)]).toThrow(DamageError);
  }
  for (const wrong of ['null', '{}', '["x"]', '[[1,2]]', '[["t",1,1,1,1]]', '[["t",1,1,1,"1",0]]']) {
    expect(() => [...decodeEvents({ ...row, firstSeq: 1, lastSeq: 1, body: wrong })]).toThrow(DamageError);
  }
});
