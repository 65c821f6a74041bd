import { expect, test, describe } from 'vitest';
import { busyRig, createRig, event, type Rig } from './rig.ts';
import { countsOf, cardTitle } from './tool-card.ts';
import { foldPrompt } from './prompt-fold.ts';
import { fromAgentAnswer } from './from-agent.ts';
import { isRowOpen } from './open-rows.ts';
import { toSnapshot } from './snapshot.ts';
import { utf8Bytes } from './utf8.ts';
import type { TurnEvent } from './turn-event.ts';

const { start, result, think, text, reset, done } = event;
const U = 'U';

function headerOf(rig: Rig) {
  const card = rig.state.rows.findLast((row) => row.kind === 'tool_run');
  return card?.kind === 'tool_run' ? countsOf(card) : null;
}

const last = (rig: Rig) => rig.state.rows.at(-1);

describe.each(['task', 'agent'] as const)('over the transport %s', (transport) => {
  const heard = (...events: readonly TurnEvent[]) => busyRig({ transport }).hear(...events);

  test('V1: a start makes a card with one running call', () => {
    const rig = heard(start('a'));
    expect(rig.shown).toEqual([U, 'T[a …]']);
    const counts = headerOf(rig);
    expect(counts).toEqual({ total: 1, ok: 0, failed: 0, pending: 1, stopped: 0 });
    expect(counts && cardTitle(counts)).toBe('1 tool called');
  });

  test('V2: its result completes it in the same row', () => {
    const before = heard(start('a'));
    const id = last(before)?.id;
    const after = before.hear(result('a'));
    expect([after.shown, last(after)?.id]).toEqual([[U, 'T[a ok]'], id]);
  });

  test('V3: calls in a streak are one card, painted on each event', () => {
    const rig = heard();
    const totals = ['a', 'b', 'c'].flatMap((name) =>
      [start(name), result(name)].map((each) => headerOf(rig.hear(each))?.total),
    );
    expect(totals).toEqual([1, 1, 2, 2, 3, 3]);
    expect(rig.shown).toEqual([U, 'T[a ok, b ok, c ok]']);
  });

  test('V4: thinking before each call parts the cards', () => {
    const rig = heard(...Array.from({ length: 5 }, (_, at) => [think('hm'), start(`t${at}`)]).flat());
    expect(rig.shown).toEqual([U, ...Array.from({ length: 5 }, (_, at) => ['K', `T[t${at} …]`]).flat()]);
  });

  test('V5: text parts the cards', () => {
    expect(heard(start('a'), text('so'), start('b')).shown).toEqual([U, 'T[a …]', 'A"so"', 'T[b …]']);
  });

  test('V6: white space is no boundary and no row', () => {
    expect(heard(start('a'), text('   '), text(' \n\t '), start('b')).shown).toEqual([U, 'T[a …, b …]']);
  });

  test('V7: a result without a start is a call that is over', () => {
    expect(heard(result('a')).shown).toEqual([U, 'T[a ok]']);
  });

  test('V8: of two calls of one name, a result without id completes the newer', () => {
    expect(heard(start('a'), start('a'), result('a', null, false)).shown).toEqual([U, 'T[a …, a failed]']);
  });

  test('V9: results with ids complete their own calls in any order', () => {
    const rig = heard(start('a', '1'), start('a', '2'), result('a', '2', false), result('a', '1'));
    expect(rig.shown).toEqual([U, 'T[a ok, a failed]']);
  });

  test('V10: a result finds its card by the id; without one it makes another', () => {
    expect(heard(start('a', '1'), think('hm'), result('a', '1')).shown).toEqual([U, 'T[a ok]', 'K']);
    const without = heard(start('a'), think('hm'), result('a'));
    expect(without.shown).toEqual([U, 'T[a …]', 'K', 'T[a ok]']);
    expect(without.hear(done('')).shown).toEqual([U, 'T[a stopped]', 'K', 'T[a ok]', 'S']);
  });

  test('V11: thinking parts the segments of one answer', () => {
    const rig = heard(text('Hello'), think('hm'), text(' world'), done('Hello world'));
    expect(rig.shown).toEqual([U, 'A"Hello"', 'K', 'A" world"', 'S']);
  });

  test('V12: white space before a segment stays with it', () => {
    const rig = heard(text('part one '), text('part two'), start('a'), text('\n\n'), text('It will 401'));
    rig.hear(done('part one part two\n\nIt will 401'));
    expect(rig.shown).toEqual([U, 'A"part one part two"', 'T[a stopped]', 'A"\n\nIt will 401"', 'S']);
  });

  test('V13: 205 calls are one card with exact counts', () => {
    const rig = heard(
      ...Array.from({ length: 205 }, (_, at) => [start('a', `${at}`), result('a', `${at}`, at % 5 > 0)]).flat(),
    );
    expect(rig.state.rows).toHaveLength(2);
    const counts = headerOf(rig);
    expect(counts).toEqual({ total: 205, ok: 164, failed: 41, pending: 0, stopped: 0 });
    expect(counts && cardTitle(counts)).toBe('205 tools called');
  });

  test('C-010: white space is no row; a turn is busy until its end, and then all is ready', () => {
    const rig = heard(think('k'), text(' \n'), start('a'), result('a'), text('x'));
    expect(rig.state.phase.name).toBe('busy');
    rig.hear(done());
    expect([rig.state.phase.name, rig.shown]).toEqual(['ready', [U, 'K', 'T[a ok]', 'A"x"', 'S']]);
    expect(heard(text('  \n')).shown).toEqual([U]);
  });

  test('V15: thinking is kept whole', () => {
    const rig = heard(think('x'.repeat(300)), start('a'));
    expect(rig.state.rows[1]).toMatchObject({ kind: 'thinking', text: 'x'.repeat(300) });
  });

  test('C-027: thinking is cut at 262,144 bytes, and none of it is kept or sent', () => {
    const rig = heard(think('é'.repeat(200_000)), think('more'), text('so'), done('so'));
    const row = rig.state.rows[1];
    if (row?.kind !== 'thinking') throw new Error('There is no thinking.');
    expect([utf8Bytes(row.text), row.text.at(-1)]).toEqual([262_144 + 3, '…']);
    expect(toSnapshot(rig.state.rows)).not.toContain('é');
    expect(foldPrompt(rig.state.rows, 'next')).not.toContain('é');
  });

  test('V16, C-025: all thinking of the turn is open while it goes on, and closed at its end', () => {
    const rig = heard(...Array.from({ length: 20 }, () => [think('hm'), start('a')]).flat());
    const thinking = () =>
      rig.state.rows.filter(({ kind }) => kind === 'thinking').map((row) => isRowOpen(rig.state, row));
    expect(thinking()).toEqual(Array.from({ length: 20 }, () => true));
    rig.hear(done());
    expect(thinking()).toEqual(Array.from({ length: 20 }, () => false));
  });

  test('V17: a new turn never grows the card of an old one', () => {
    const rig = createRig({ transport });
    const old = [
      {
        id: 'x/0',
        turn: 'x',
        place: 0,
        kind: 'tool_run',
        items: [{ id: null, name: 'old', state: 'ok', brief: '', asked: '', input: null, detail: null, index: -1 }],
        detailBytes: 0,
        startedMs: 0,
        changedMs: 0,
      },
      { id: 'x/1', turn: 'x', place: 1, kind: 'assistant', text: 'so', marks: [], bytes: 2 },
      { id: 'x/2', turn: 'x', place: 2, kind: 'system', text: 'Turn ended · model finished' },
    ] as const;
    rig.do({ type: 'rows_restored', rows: old, draft: { draft: 'hi' } }, { type: 'submit', id: 'm1' });
    rig.hear(start('a'));
    expect(rig.shown).toEqual(['T[old ok]', 'A"so"', 'S', U, 'T[a …]']);
    expect(rig.state.rows[0]).toBe(old[0]);
  });

  test('V18: a refusal is one request and one error line', () => {
    for (const status of [401, 403, 422]) {
      const rig = busyRig({ transport }).do({ type: 'refused', turn: 'm1', status, message: 'No.' });
      expect([
        rig.shown,
        rig.state.phase.name,
        rig.effects.filter(({ type }) => type.startsWith('send')).length,
      ]).toEqual([[U, 'E'], 'ready', 1]);
    }
  });

  test('V20: text of an attempt that was given up is gone', () => {
    const rig = heard(
      text('first', transport === 'task' ? 0 : null),
      reset(transport === 'task' ? 0 : null),
      text('second', transport === 'task' ? 0 : null),
      done('second'),
    );
    expect(rig.shown).toEqual([U, 'A"second"', 'S']);
  });

  test('V23: a stop after the end has no effect', () => {
    const rig = heard(text('hi'), done('hi'));
    const { state, effects } = rig;
    const count = effects.length;
    expect(rig.do({ type: 'stop' }).state).toBe(state);
    expect(rig.effects).toHaveLength(count);
  });

  test('V24: a stop before the request left sends nothing', () => {
    const rig = createRig({ transport }).do(
      { type: 'draft_changed', draft: 'hi' },
      { type: 'submit', id: 'm1' },
      { type: 'stop' },
    );
    expect([rig.shown, rig.state.phase.name]).toEqual([[U, 'S'], 'ready']);
    expect(rig.effects).toContainEqual({ type: 'detach', turn: 'm1' });
    expect(last(rig)).toMatchObject({ text: 'Turn ended · you stopped' });
    expect(rig.effects.some(({ type }) => type === 'cancel')).toBe(false);
  });
});

test('V14: what was said before a stop stays; neither card nor line is in the fold', () => {
  const rig = busyRig({ transport: 'agent' }).hear(text('half an ans'), start('a')).do({ type: 'stop' });
  expect(rig.shown).toEqual([U, 'A"half an ans"', 'T[a stopped]', 'S']);
  expect(last(rig)).toMatchObject({ kind: 'system', text: 'Turn ended · you stopped' });
  expect(foldPrompt(rig.state.rows, 'on')).toBe(
    'Conversation so far:\nUser: hi\nAssistant: half an ans\n\nUser: on\n\nAssistant:',
  );
});

test('V14, C-032: over the task, the stop is settled by the answer of the cancel or by the stream, and shows one line', () => {
  const stopped = {
    type: 'ended',
    ending: { kind: 'stopped' },
    text: '',
    spent: {},
    undelivered: [],
    cwd: null,
  } as const;
  const rig = busyRig().hear(text('half')).do({ type: 'stop' });
  expect([rig.state.phase.name, rig.effects.at(-1)]).toEqual([
    'stopping',
    { type: 'cancel', turn: 'm1', responseId: 'resp_1' },
  ]);
  rig.hear(stopped, stopped);
  expect([rig.shown, rig.state.phase.name]).toEqual([[U, 'A"half"', 'S'], 'ready']);
});

test('V19: a JSON answer with a trace shows its calls, each with its summary to open', () => {
  const summary = `read · ✓ ok · ${'long '.repeat(20)}`;
  const toolTrace = [{ name: 'read', ok: true, summary }];
  const rig = busyRig({ transport: 'agent' }).do({
    type: 'answered',
    turn: 'm1',
    events: fromAgentAnswer({ text: 'Done.', toolTrace }),
  });
  expect(rig.shown).toEqual([U, 'T[read ok]', 'A"Done."', 'S']);
  expect(rig.state.rows[1]).toMatchObject({ items: [{ detail: summary }] });
});

test('V21: a stream that merely stops is an error, never an end', () => {
  const rig = busyRig({ transport: 'agent' })
    .hear(text('half'))
    .do({ type: 'stream_lost', turn: 'm1', why: 'broken', random: 0 });
  expect([rig.shown, rig.state.phase.name]).toEqual([[U, 'A"half"', 'E'], 'ready']);
  expect(last(rig)).toMatchObject({ text: 'Turn ended · error · stream ended early' });
});

test('V22: 500 events cut by 20 reconnects with overlap give the same rows', () => {
  const events = [
    ...Array.from(
      { length: 499 },
      (_, at): TurnEvent =>
        [think('a'), text('b '), start('t', `${at}`), result('t', `${at - 1}`)][(at * 7) % 4] ?? text('c'),
    ),
    done(''),
  ];
  const whole = busyRig().hear(...events);
  const cut = busyRig();
  for (let reconnect = 0; reconnect < 20; reconnect++)
    for (let number = Math.max(0, reconnect * 25 - 13); number < (reconnect + 1) * 25; number++) {
      const of = events[number];
      if (of !== undefined)
        cut.do({ type: 'received', turn: 'm1', from: { kind: 'task', responseId: 'resp_1', number }, events: [of] });
    }
  expect(cut.state.rows).toEqual(whole.state.rows);
  expect(cut.state.phase.name).toBe('ready');
});
