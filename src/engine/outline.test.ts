import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { decide, type Outline } from './decide.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { outlineOf } from './outline.ts';
import { runIds, sessionIds } from '../core/ids.ts';

const initial = initialRunState(runIds.make('a'), sessionIds.make('a'));

test('E-873, E-879: the outline of a run decides as its whole state does, at every place of every log, also once it was sent', () => {
  fc.assert(
    fc.property(arbitraryLog, (events) => {
      let state = initial;
      for (const event of events) {
        state = evolve(state, event);
        const outline: Outline = JSON.parse(JSON.stringify(outlineOf(state)));
        expect(decide(outline)).toEqual(decide(state));
        expect(JSON.stringify(outline).length).toBeLessThan(4_096);
      }
    }),
    { numRuns: 500 },
  );
});

test('E-872: no text of a model or a person is in an outline', () => {
  fc.assert(
    fc.property(arbitraryLog, (events) => {
      const texts = events.flatMap((event) => (event.type === 'text-complete' ? [event.data] : []));
      const sent = JSON.stringify(outlineOf(events.reduce(evolve, initial)));
      for (const text of texts) if (text.length > 12) expect(sent).not.toContain(text);
    }),
    { numRuns: 200 },
  );
});
