import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from './keep-link.ts';
import { busyRig, createRig, event, type Rig } from './rig.ts';
import { cursorOf, nextTryMs, statusText, todoLine } from './status.ts';
import type { UhpResponse } from './wire.ts';

const created = { type: 'created', responseId: 'resp_1', sessionId: 'hsess1', model: 'demo' } as const;
const lost = { type: 'stream_lost', turn: 'm1', why: 'broken', random: 0 } as const;
const effectsOf = (rig: Rig, from = 0) => rig.effects.slice(from).map(({ type }) => type);
const attaches = (rig: Rig) => rig.effects.filter((effect) => effect.type === 'attach');
const response = (of: Partial<UhpResponse>) =>
  ({
    id: 'resp_1',
    status: 'in_progress',
    output: [],
    usage: null,
    metadata: {},
    error: null,
    incomplete_details: null,
    ...of,
  }) as unknown as UhpResponse;
const answer = (text: string) =>
  [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ] as const;

test('C-039: waits double from half a second to eight, and chance only shortens them', () => {
  expect([1, 2, 3, 4, 5, 6, 50].map((tries) => backoffMs(tries, 0))).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (tries, random) => {
      expect(backoffMs(tries, random)).toBeGreaterThanOrEqual(backoffMs(tries, 0) / 2);
      expect(backoffMs(tries, random)).toBeLessThanOrEqual(backoffMs(tries, 0));
    }),
  );
});

test('C-031, C-039: a lost stream is no end: it is taken up after its cursor, ever more slowly until an event comes', () => {
  const rig = busyRig().hear(created, event.text('so'));
  rig.do(lost, { type: 'attached', turn: 'm1' }, lost);
  expect(attaches(rig)).toEqual(
    [500, 1000].map((delayMs) => ({ type: 'attach', turn: 'm1', responseId: 'resp_1', after: 1, delayMs })),
  );
  expect([statusText(rig.state), rig.shown]).toEqual(['Reconnecting…', ['U', 'A"so"']]);
  rig.do({ type: 'attached', turn: 'm1' }).hear(event.text(' it goes')).do(lost);
  expect(attaches(rig).at(-1)).toMatchObject({ after: 2, delayMs: 500 });
  expect(cursorOf(rig.state)).toEqual({ responseId: 'resp_1', number: 2 });
});

test('C-031, C-039: a long wait is told in seconds; a person, or a server that answers anything, ends it', () => {
  const patient = () => {
    const rig = busyRig().hear(created);
    for (let tries = 0; tries < 5; tries++) rig.do(lost);
    return rig.wait(1_000);
  };
  const rig = patient();
  expect([statusText(rig.state), nextTryMs(rig.state)]).toEqual(['Reconnecting… · next try in 7 s', 7_000]);
  rig.do({ type: 'reconnect_asked' });
  expect([attaches(rig).at(-1), nextTryMs(rig.state)]).toMatchObject([{ after: 0, delayMs: 0 }, null]);
  const answered = patient();
  const [before, read] = [
    answered.effects.length,
    { type: 'response_read', turn: 'm1', response: response({}) } as const,
  ];
  // The second answer finds a try under way.
  answered.do(read, read);
  expect(effectsOf(answered, before)).toEqual(['attach', 'reread', 'reread']);
  expect([statusText(answered.state), nextTryMs(answered.state)]).toEqual(['Reconnecting…', null]);
});

test('C-039, B150: what waited is done at once when the network is back or the page is seen, and a silent stream counts as lost', () => {
  const rig = busyRig().hear(created).do(lost, { type: 'network_changed', network: 'offline' });
  expect(statusText(rig.state)).toBe('Offline · the agent goes on');
  rig.do({ type: 'network_changed', network: 'online' });
  expect(attaches(rig).at(-1)).toMatchObject({ after: 0, delayMs: 0 });
  const awake = busyRig().hear(created);
  expect(attaches(awake.do({ type: 'became_visible', silentMs: 20_000 }))).toEqual([]);
  expect(attaches(awake.do({ type: 'became_visible', silentMs: 600_000 }))).toHaveLength(1);
});

test('B038, C-039, C-095: an unknown cursor is repaired by reading the response, and then the whole log', () => {
  const rig = busyRig()
    .hear(created, event.text('so'))
    .do({ ...lost, why: 'unknown-cursor' });
  expect(rig.effects.at(-1)).toMatchObject({ type: 'reread', responseId: 'resp_1', delayMs: 0 });
  rig.do({ type: 'response_read', turn: 'm1', response: response({}) });
  expect(rig.effects.at(-1)).toMatchObject({ type: 'attach', after: -1 });
});

test('C-039: without a stream the response is read every 4 seconds, and one that has ended ends the turn', () => {
  const rig = busyRig().hear(created).do(lost);
  expect(rig.effects.at(-1)).toEqual({ type: 'reread', turn: 'm1', responseId: 'resp_1', delayMs: 4_000 });
  const count = rig.effects.length;
  rig.do({ type: 'read_failed', turn: 'm1', random: 0 });
  expect(rig.effects.slice(count)).toEqual([{ type: 'reread', turn: 'm1', responseId: 'resp_1', delayMs: 4_000 }]);
  rig.do({ type: 'response_read', turn: 'm1', response: response({ status: 'completed', output: answer('There.') }) });
  expect([rig.shown, rig.state.phase.name]).toEqual([['U', 'A"There."', 'S'], 'ready']);
});

test('C-040: a tab without a slot shows the response as it grows, and the stream when a slot is free', () => {
  const rig = busyRig().hear(created).do({ type: 'poll_only', turn: 'm1' });
  expect(effectsOf(rig).slice(-2)).toEqual(['detach', 'reread']);
  rig.do({ type: 'response_read', turn: 'm1', response: response({ output: answer('Half') }) });
  expect(rig.shown).toEqual(['U', 'A"Half"']);
  rig.do({ type: 'slot_won', turn: 'm1' });
  expect(attaches(rig).at(-1)).toMatchObject({ after: -1, delayMs: 0 });
});

test('B047, C-001: a task that has no name yet is asked for again under its own key', () => {
  const rig = busyRig().do(lost);
  expect(rig.effects.filter(({ type }) => type === 'send')).toMatchObject([
    { turn: 'm1', delayMs: 0 },
    { turn: 'm1', delayMs: 500 },
  ]);
});

test('C-032: a stop without a name waits for it; one that nobody confirms in 10 seconds gives the button back', () => {
  const rig = busyRig().do({ type: 'stop' });
  expect([rig.state.phase.name, effectsOf(rig).includes('cancel')]).toEqual(['stopping', false]);
  rig.hear(created);
  expect(rig.effects).toContainEqual({ type: 'cancel', turn: 'm1', responseId: 'resp_1' });
  expect(rig.wait(9_000).state.phase.name).toBe('stopping');
  expect(rig.wait(1_000).state).toMatchObject({ phase: { name: 'busy' }, notices: [{ id: 'stop m1' }] });
});

test('C-032: the answer of the cancel settles a stop when it is first, and the partial answer stays', () => {
  const rig = busyRig().hear(created, event.text('half'), event.start('a')).do({ type: 'stop' });
  rig.do({ type: 'response_read', turn: 'm1', response: response({ status: 'cancelled' }) });
  expect([rig.shown, rig.state.rows.at(-1)]).toMatchObject([
    ['U', 'A"half"', 'T[a stopped]', 'S'],
    { text: 'Turn ended · you stopped' },
  ]);
});

test('B150: after the end nothing that was delayed acts any more', () => {
  const rig = busyRig().hear(created, event.done('so'));
  const { state } = rig;
  rig.do(
    lost,
    { type: 'response_read', turn: 'm1', response: response({}) },
    { type: 'read_failed', turn: 'm1', random: 0 },
    { type: 'slot_won', turn: 'm1' },
    { type: 'cancel_failed', turn: 'm1', message: 'x' },
  );
  expect(rig.state).toBe(state);
});

test('C-013: the status line tells what is waited for, and a reset tells the seconds to the retry', () => {
  const rig = createRig();
  expect(statusText(rig.state)).toBeNull();
  const busy = busyRig()
    .hear(created, { type: 'waiting', on: 'model', seconds: 25, name: null, heardSecondsAgo: null })
    .wait(0);
  expect(statusText(busy.state)).toBe('Waiting for the model · 25 s');
  busy.hear({ type: 'waiting', on: 'tool', seconds: 40, name: 'bash', heardSecondsAgo: 3 });
  expect(statusText(busy.wait(2_000).state)).toBe('Waiting for bash · 42 s · last sign of it 5 s ago');
  busy.hear({ type: 'waiting', on: 'capacity', seconds: 3, name: 'number 2 in the line', heardSecondsAgo: null });
  expect(statusText(busy.state)).toBe('Waiting for a free place, number 2 in the line · 3 s');
  busy.hear({ type: 'waiting', on: 'retry', seconds: 12, name: null, heardSecondsAgo: null });
  expect(statusText(busy.state)).toBe('Retrying in 12 s');
  busy.hear({ type: 'attempt_reset', index: 0, kept: '', retryInMs: 90_000 });
  expect(statusText(busy.state)).toBe('Retrying in 1 min 30 s');
  expect(statusText(busy.hear(event.text('so')).state)).toBe('Working…');
});

test('C-052: the list of tasks comes whole each time; the line is how many are done and what is under way', () => {
  const rig = busyRig().hear(created);
  expect(todoLine(rig.state)).toBeNull();
  const items = ['completed', 'completed', 'in_progress', 'pending', 'pending'].map((status, at) => ({
    content: `task ${at}`,
    status,
  }));
  rig.hear({ type: 'todos_updated', todos: { items, completed: 2, total: 5, current: 'task 2' } });
  expect(todoLine(rig.state)).toBe('2/5 · task 2');
  rig.hear({ type: 'todos_updated', todos: { items: items.slice(0, 1), completed: 1, total: 1, current: null } });
  expect([todoLine(rig.state), rig.state.todos?.items.length]).toEqual(['1/1', 1]);
});
