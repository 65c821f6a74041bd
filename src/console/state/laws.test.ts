import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { testRunId, testSessionId } from '../../testing/log-builder.ts';
import { createUhpView } from '../../views/uhp-view.ts';
import { breaches, busyRig, createRig, event, type Rig } from './rig.ts';
import { foldStored } from './from-history.ts';
import { fromUhp } from './from-uhp.ts';
import type { Row } from './row.ts';
import type { TaskEvent, UhpResponse } from './wire.ts';
import type { TurnEvent } from './turn-event.ts';

interface Recorded {
  readonly events: readonly TaskEvent[];
  readonly response: UhpResponse;
}

/** What a task's stream holds, from any log the engine could write. */
const recorded: fc.Arbitrary<Recorded> = arbitraryLog
  .map((log) => {
    const view = createUhpView({ runId: testRunId, sessionId: testSessionId, reinsEvents: true, emit: true });
    return { events: log.flatMap((each) => view.push(each)), response: view.response() };
  })
  .filter(({ response }) => response.status !== 'in_progress');

function hear(rig: Rig, events: readonly TaskEvent[], replayed = false): Rig {
  for (const each of events) {
    const mapped = fromUhp(each).filter(({ type }) => !replayed || type !== 'reasoning_delta');
    const from = { kind: 'task', responseId: testRunId, number: each.sequence_number } as const;
    rig.do({ type: 'received', turn: 'm1', from, events: mapped });
  }
  return rig;
}

/** Rows but for the names and the times of their turn. */
const plain = (rows: readonly Row[]) =>
  rows.map(({ id: _id, turn: _turn, ...row }) =>
    row.kind === 'tool_run' ? { ...row, startedMs: 0, changedMs: 0 } : row,
  );
const textOf = (rows: readonly Row[]) => rows.map((row) => (row.kind === 'assistant' ? row.text : '')).join('');
const callsOf = (rows: readonly Row[]) => rows.flatMap((row) => (row.kind === 'tool_run' ? row.items : []));
// Blocks that a model writes at the same time stand in the order in which they came, where something parts them.
const bare = (text: string) => text.replaceAll(/\s/g, '').split('').toSorted().join('');

test('C-015: every stream with a terminal event leads to ready, and no law of the rows is broken on the way', () => {
  fc.assert(
    fc.property(recorded, ({ events }) => {
      const rig = busyRig();
      for (const each of events) {
        hear(rig, [each]);
        expect(breaches(rig.state)).toEqual([]);
      }
      expect(rig.state.phase.name).toBe('ready');
      expect(rig.state.rows.filter(({ kind }) => kind === 'system' || kind === 'error')).toHaveLength(1);
    }),
  );
});

test('C-037: rows after a reload are the fold of the log without thinking, and say the same as those before it', () => {
  fc.assert(
    fc.property(recorded, ({ events }) => {
      const stored = foldStored({ id: testRunId, user: 'hi', startedMs: 0, source: { kind: 'log', events } }).rows;
      expect(plain(stored)).toEqual(plain(hear(busyRig(), events, true).state.rows));
      const live = hear(busyRig(), events).state.rows;
      expect(bare(textOf(stored))).toBe(bare(textOf(live)));
      expect(callsOf(stored)).toEqual(callsOf(live));
    }),
  );
});

test('C-013: what is shown at the end is what the response says', () => {
  fc.assert(
    fc.property(recorded, ({ events, response }) => {
      const { rows } = hear(busyRig(), events).state;
      const said = response.output.flatMap((item) =>
        item.type === 'message' ? item.content.map(({ text }) => text) : [],
      );
      if (response.status === 'completed') expect(bare(textOf(rows))).toBe(bare(said.join('')));
    }),
  );
});

test('C-039: any cuts with any overlap give the rows of an uninterrupted stream', () => {
  const cuts = fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 12 });
  fc.assert(
    fc.property(recorded, cuts, ({ events }, places) => {
      const rig = busyRig();
      let last = 0;
      for (const [more, back] of places) {
        hear(rig, events.slice(Math.max(0, last - back), last + more));
        last = Math.min(events.length, last + more);
        rig.do({ type: 'stream_lost', turn: 'm1', why: 'broken', random: 0.5 }, { type: 'attached', turn: 'm1' });
      }
      hear(rig, events.slice(last));
      expect(rig.state.rows).toEqual(hear(busyRig(), events).state.rows);
    }),
  );
});

test('C-013: after a gap nothing is guessed: the response is read, and its end is the end', () => {
  fc.assert(
    fc.property(recorded, fc.nat(30), ({ events, response }, at) => {
      const missing = 1 + (at % (events.length - 1));
      const rig = hear(hear(busyRig(), events.slice(0, missing)), events.slice(missing + 1));
      if (missing < events.length - 1)
        expect(rig.effects.filter(({ type }) => type === 'reread')).toEqual([
          { type: 'reread', turn: 'm1', responseId: testRunId, delayMs: 0 },
        ]);
      rig.do({ type: 'response_read', turn: 'm1', response });
      expect([rig.state.phase.name, breaches(rig.state)]).toEqual(['ready', []]);
      expect(rig.state.rows.filter(({ kind }) => kind === 'system' || kind === 'error')).toHaveLength(1);
    }),
  );
});

test('C-011, L1: a stream read again from its start rebuilds the turn to the same rows', () => {
  fc.assert(
    fc.property(recorded, fc.nat(60), ({ events }, at) => {
      const rig = hear(busyRig(), events.slice(0, 1 + (at % (events.length - 1))));
      rig.do({ type: 'poll_only', turn: 'm1' }, { type: 'slot_won', turn: 'm1' });
      expect(hear(rig, events).state.rows).toEqual(hear(busyRig(), events).state.rows);
    }),
  );
});

const name = fc.constantFrom('a', 'b');
const id = fc.option(fc.constantFrom('1', '2', '3'));
const index = fc.option(fc.nat(4));
const anyEvent: fc.Arbitrary<TurnEvent> = fc.oneof(
  fc.tuple(name, id, index).map((of) => event.start(...of)),
  fc.tuple(name, id, fc.boolean()).map((of) => event.result(...of)),
  fc.tuple(fc.constantFrom('hm', ' ', 'so'), index).map((of) => event.think(...of)),
  fc.tuple(fc.constantFrom('x', '  ', '\n', 'yz '), index).map((of) => event.text(...of)),
  fc.tuple(index, fc.constantFrom('', 'kept')).map((of) => event.reset(...of)),
  fc.nat(4).map((at): TurnEvent => ({ type: 'item_added', index: at })),
  fc
    .tuple(fc.nat(4), fc.constantFrom('x', 'xyz '))
    .map(([at, text]): TurnEvent => ({ type: 'text_whole', index: at, text })),
  fc.constantFrom('', 'x', 'xyz xyz').map((text) => event.done(text)),
  fc.constant(event.fail()),
);

test.each(['task', 'agent'] as const)(
  'C-015: events in any order break no law, and a stop ends them (%s)',
  (transport) => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const rig = busyRig({ transport }).hear(...events);
        expect(breaches(rig.state)).toEqual([]);
        for (const row of rig.state.rows) if (row.kind === 'assistant') expect(row.text.trim()).not.toBe('');
        rig.do({ type: 'stop' });
        if (rig.state.phase.name === 'stopping') rig.hear(event.fail());
        expect(rig.state.phase.name).toBe('ready');
      }),
      { numRuns: 300 },
    );
  },
);

test('C-003: an action that fits nothing gives the very state it was given', () => {
  const { state } = createRig();
  const rig = createRig({ from: state });
  rig
    .hear(event.text('late'))
    .do({ type: 'stop' }, { type: 'load_earlier' }, { type: 'poll_only', turn: 'x' }, { type: 'sent', turn: 'x' });
  expect(rig.state).toBe(state);
});

test('C-012: a delta touches the last row alone; everything else is the same object as before', () => {
  const rig = busyRig().hear(event.start('a', '1', 0), event.text('so', 1));
  const before = rig.state;
  rig.hear(event.text(' it goes', 1));
  expect(rig.state.rows[1]).toBe(before.rows[1]);
  expect(rig.state.composer).toBe(before.composer);
});
