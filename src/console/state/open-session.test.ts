import { expect, test } from 'vitest';
import { bareEnd } from './end-line.ts';
import { createRig, event, short } from './rig.ts';
import { foldStored } from './from-history.ts';
import { loadedRig, session, storedTurn } from './session-rig.ts';
import { markOf, visibleSessions } from './session-list.ts';
import { costText } from './usage.ts';
import type { StoredTurn } from './stored-turn.ts';
import type { TaskEvent, UhpSession } from './wire.ts';

const another = (of: Partial<UhpSession>) => ({ ...session, ...of }) as UhpSession;

test('C-037: a session that is opened shows its turns, and goes on with its newest one', () => {
  const rig = loadedRig({ turns: 2 });
  expect(rig.shown).toEqual(['U', 'A"answer 0"', 'S', 'U', 'A"answer 1"', 'S']);
  expect([rig.state.phase.name, rig.state.session, rig.state.earlier]).toMatchObject([
    'ready',
    { tip: 'resp_t1' },
    'none',
  ]);
  rig.do({ type: 'draft_changed', draft: 'more' }, { type: 'submit', id: 'm1' });
  expect(rig.effects.find(({ type }) => type === 'send')).toMatchObject({ previousResponseId: 'resp_t1', fork: false });
});

test('C-037: a turn at work is followed from its start; thinking that was seen before is not shown again', () => {
  const rig = loadedRig({ turns: 1, running: { responseId: 'resp_1', user: 'go', startedMs: 0, replayUntil: 1 } });
  expect([rig.state.phase.name, rig.effects.at(-1)]).toEqual([
    'busy',
    { type: 'attach', turn: 'resp_1', responseId: 'resp_1', after: -1, delayMs: 0 },
  ]);
  const hear = (number: number, ...events: readonly ReturnType<typeof event.text>[]) =>
    rig.do({ type: 'received', turn: 'resp_1', from: { kind: 'task', responseId: 'resp_1', number }, events });
  hear(0);
  hear(1, event.think('old'));
  hear(2, event.think('new'));
  hear(3, event.text('so'));
  expect(rig.shown.slice(3)).toEqual(['U', 'K', 'A"so"']);
  rig.do({ type: 'stop' });
  expect(rig.effects.at(-1)).toMatchObject({ type: 'cancel', responseId: 'resp_1' });
});

test('C-037: what is told of the last turn is told again after a reload; what nobody knows is left out', () => {
  const log = [
    { type: 'response.created', response: { id: 'resp_9', model: 'demo', metadata: {} } },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'function_call', status: 'completed', call_id: 'c1', name: 'bash', arguments: '{}' },
    },
    { type: 'reins.file_changed', path: 'a.txt', kind: 'write', bytes: 1 },
    { type: 'reins.compacted', trigger: 'auto', tokens_before: 9, tokens_after: 3 },
    {
      type: 'response.completed',
      response: { status: 'completed', output: [], usage: { output_tokens: 4 }, metadata: {} },
    },
  ] as unknown as readonly TaskEvent[];
  const turn = { id: 'resp_9', user: 'go', startedMs: 0 };
  const opened = (...turns: readonly StoredTurn[]) =>
    createRig().do(
      { type: 'session_opened', sessionId: session.id },
      { type: 'session_loaded', session, turns, more: false, running: null, spent: {}, draft: {}, chips: [] },
    ).state.lastTurn;
  expect(opened({ ...turn, tookMs: 2_000, source: { kind: 'log', events: log } })).toEqual({
    id: 'resp_9',
    responseId: 'resp_9',
    details: { model: 'demo', notes: ['History compacted: 9 → 3 tokens'], files: ['a.txt'], calls: 1 },
    spent: { reins_usage: { output_tokens: 4 } },
    tookMs: 2_000,
  });
  expect(opened(storedTurn(0))).toMatchObject({ tookMs: null, spent: {} });
  expect(opened()).toBe(null);
});

test('C-037: a turn that called nothing shows the same rows by its answer alone', () => {
  const facts = { id: 'resp_t0', user: 'question 0', startedMs: 0 };
  expect(foldStored({ ...facts, source: { kind: 'answer', text: 'answer 0', spent: {} } }).rows.map(short)).toEqual(
    foldStored(storedTurn(0)).rows.map(short),
  );
});

test('C-001: leaving a session at work lets go of it and cancels nothing; its draft is kept', () => {
  const rig = loadedRig({ turns: 0, running: { responseId: 'resp_1', user: 'go', startedMs: 0, replayUntil: -1 } });
  const before = rig.effects.length;
  rig.do({ type: 'draft_changed', draft: 'half' }, { type: 'session_opened', sessionId: null });
  const after = rig.effects.slice(before);
  expect(after.map(({ type }) => type)).toEqual(['saveDraft', 'saveDraft', 'detach', 'navigate', 'focus']);
  expect([rig.state.phase.name, rig.state.session.kind, rig.state.rows, rig.state.composer.draft]).toEqual([
    'ready',
    'new',
    [],
    '',
  ]);
});

test('C-054: a bad id is shown as what it is, and nothing can be sent into it', () => {
  const rig = createRig().do(
    { type: 'session_opened', sessionId: 'x' },
    { type: 'session_missing', sessionId: 'x', message: 'There is no such session.' },
  );
  expect(rig.state.session).toEqual({ kind: 'missing', id: 'x', message: 'There is no such session.' });
  rig.do({ type: 'draft_changed', draft: 'hi' }, { type: 'submit', id: 'm1' });
  expect([rig.state.composer.draft, rig.effects.some(({ type }) => type === 'send')]).toEqual(['hi', false]);
});

test('C-038: the window holds 2,048 rows; 512 earlier ones come at a time, the newest return with the next message', () => {
  const rig = loadedRig({ turns: 1_000, more: true });
  const newest = rig.state.rows;
  expect([newest.length, newest[0]?.turn]).toEqual([2_048, 'resp_t317']);
  rig.do({ type: 'load_earlier' }, { type: 'load_earlier' });
  expect(rig.effects.filter(({ type }) => type === 'fetchEarlier')).toEqual([
    { type: 'fetchEarlier', sessionId: 'hsess1', upTo: 'resp_t317' },
  ]);
  rig.do({ type: 'earlier_loaded', turns: Array.from({ length: 218 }, (_, at) => storedTurn(at + 100)), more: false });
  expect(rig.state.rows).toHaveLength(2_048);
  expect(rig.state.rows.slice(512)).toEqual(newest.slice(0, 2_048 - 512));
  expect(rig.state.rows.slice(509, 514).map(({ id }) => id)).toEqual([
    'resp_t316/1',
    'resp_t316/2',
    'resp_t317/0',
    'resp_t317/1',
    'resp_t317/2',
  ]);
  expect(rig.state.earlier).toBe('more');
  rig.do({ type: 'draft_changed', draft: 'hi' }, { type: 'submit', id: 'm1' });
  expect([rig.state.rows.length, rig.state.rows.at(-2), rig.state.newest]).toEqual([2_048, newest.at(-1), null]);
  rig.do({ type: 'load_earlier' });
  expect(rig.effects.filter(({ type }) => type === 'fetchEarlier')).toHaveLength(1);
});

test('C-038: from older rows back to the newest: nothing is read again, and the session stays open', () => {
  const rig = loadedRig({ turns: 1_000, more: true });
  const before = rig.state;
  rig.do({ type: 'load_earlier' });
  rig.do({ type: 'earlier_loaded', turns: Array.from({ length: 218 }, (_, at) => storedTurn(at + 100)), more: false });
  const asked = rig.effects.length;
  rig.do({ type: 'newest_asked' });
  expect([rig.state.rows, rig.state.session, rig.state.newest, rig.state.earlier]).toEqual([
    before.rows,
    before.session,
    null,
    'more',
  ]);
  expect(rig.effects.slice(asked)).toEqual([{ type: 'follow' }]);
});

test('UD-48: what a session has cost is told when it is opened, grows by each turn, and is none of another one', () => {
  const rig = loadedRig({ turns: 2 });
  expect(rig.state.spent.reins_cost).toEqual({ dollars: 1, estimated: false });
  rig.do({ type: 'draft_changed', draft: 'go' }, { type: 'submit', id: 'm1' }, { type: 'sent', turn: 'm1' });
  rig.hear({ type: 'created', responseId: 'resp_1', sessionId: 'hsess1', model: 'm' });
  // Of a model without a price.
  rig.hear({ ...bareEnd({ kind: 'finished' }), spent: { reins_usage: { output_tokens: 5 } } });
  expect(rig.state.lastTurn?.spent).toEqual({ reins_usage: { output_tokens: 5 } });
  expect(rig.state.spent).toEqual({
    reins_usage: { output_tokens: 15 },
    reins_cost: { dollars: 1, estimated: true },
    reins_cost_partial: true,
  });
  expect(costText(rig.state.spent)).toBe('at least $1.00');
  rig.do({ type: 'session_opened', sessionId: 'hsess2' });
  expect(rig.state.spent).toEqual({});
});

test('C-038: half a card at the edge of the window gives way to the whole one', () => {
  const rig = loadedRig({ turns: 0, running: { responseId: 'resp_1', user: 'go', startedMs: 0, replayUntil: -1 } });
  let number = 0;
  const log = Array.from({ length: 1_100 }, (_, at) => [event.think('hm'), event.start('t', `${at}`, at)]).flat();
  for (const each of log)
    rig.do({
      type: 'received',
      turn: 'resp_1',
      from: { kind: 'task', responseId: 'resp_1', number: number++ },
      events: [each],
    });
  rig.do({
    type: 'received',
    turn: 'resp_1',
    from: { kind: 'task', responseId: 'resp_1', number },
    events: [event.done()],
  });
  const output = Array.from({ length: 1_100 }, (_, at) => ({
    id: `fc_${at}`,
    type: 'function_call',
    status: 'completed',
    call_id: `${at}`,
    name: 't',
    arguments: '',
  }));
  const { source, ...facts } = storedTurn(0);
  if (source.kind !== 'response') throw new Error('Not a response.');
  const turn = {
    ...facts,
    id: 'resp_1',
    user: 'go',
    source: { kind: 'response', response: { ...source.response, output } },
  } as unknown as typeof facts & { source: typeof source };
  rig.do({ type: 'load_earlier' }, { type: 'earlier_loaded', turns: [turn], more: false });
  expect(rig.state.rows.map(({ kind }) => kind)).toEqual(['user', 'tool_run', 'system']);
  expect(rig.state.rows[1]).toMatchObject({ items: { length: 1_100 } });
  expect(rig.state.earlier).toBe('none');
});

test('C-054: the list is newest first, searched by title and id after a pause, page by page, and walked with the arrows', () => {
  const rig = createRig();
  const [a, b] = [
    another({ id: 'hsessa' as UhpSession['id'], title: 'Apples', updated_at: 5 }),
    another({
      id: 'hsessb' as UhpSession['id'],
      title: 'Pears',
      updated_at: 9,
      status: 'in_progress',
      reins_pending: 1,
    }),
  ];
  rig.do({ type: 'sessions_loaded', sessions: [a, b], next: 'page2', from: null });
  const shown = () => visibleSessions(rig.state.sessions).map(({ title }) => title);
  expect([shown(), markOf(b), markOf(a)]).toEqual([['Pears', 'Apples'], 'waiting', 'idle']);
  rig.do({ type: 'search_changed', query: ' appl ' });
  expect([shown().length, rig.effects.at(-1)]).toEqual([2, { type: 'settleSearch', delayMs: 200 }]);
  rig.do({ type: 'search_settled' });
  expect([shown(), rig.effects.at(-1)]).toEqual([['Apples'], { type: 'loadSessions', cursor: 'page2' }]);
  rig.do({
    type: 'sessions_loaded',
    sessions: [another({ id: 'hsessc' as UhpSession['id'], title: 'Crab apples', updated_at: 1 })],
    next: null,
    from: 'page2',
  });
  expect(shown()).toEqual(['Apples', 'Crab apples']);
  rig.do({ type: 'search_moved', by: 1 }, { type: 'search_moved', by: 1 }, { type: 'search_moved', by: 1 });
  expect(rig.state.sessions.highlighted).toBe('hsessc');
  rig.do({ type: 'session_renamed', sessionId: 'hsessb', title: 'Apple pie' });
  expect(shown()).toHaveLength(3);
});
