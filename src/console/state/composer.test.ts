import { expect, test } from 'vitest';
import { busyRig, createRig, event, type Rig } from './rig.ts';
import { buttonOf, draftCounter, maxDraftBytes } from './composer.ts';
import { chipNote } from './queue.ts';
import { isRowOpen } from './open-rows.ts';
import { loadedRig, session } from './session-rig.ts';
import type { Approval } from './wire.ts';

const created = { type: 'created', responseId: 'resp_1', sessionId: 'hsess1', model: 'demo' } as const;
const can = { type: 'catalogue_loaded', models: null, harnesses: [], steering: true } as const;
const say = (rig: Rig, id: string, draft: string) => rig.do({ type: 'draft_changed', draft }, { type: 'submit', id });
const sent = (rig: Rig) => rig.effects.flatMap((effect) => (effect.type === 'send' ? [effect.text] : []));
const steered = (rig: Rig) => rig.effects.flatMap((effect) => (effect.type === 'steer' ? [effect.text] : []));

const approval = (of: Partial<Approval>) =>
  ({
    id: 'apr_1',
    kind: 'approval',
    status: 'pending',
    response_id: 'resp_1',
    call_id: 'c1',
    name: 'bash',
    arguments: '{}',
    arguments_digest: 'd1',
    expires_at: null,
    decision: null,
    ...of,
  }) as Approval;

test('C-013: a blank message is an error row and no request; a message clears the composer and follows the end', () => {
  const rig = say(createRig(), 'm0', ' \n');
  expect([rig.shown, sent(rig), rig.state.phase.name]).toEqual([['E'], [], 'ready']);
  say(rig, 'm1', 'hi');
  expect([rig.shown, sent(rig), rig.state.composer.draft]).toEqual([['E', 'U'], ['hi'], '']);
  expect(rig.effects.map(({ type }) => type)).toContain('follow');
});

test('C-047: the limit counts bytes; the counter shows from 90 % on', () => {
  const rig = say(createRig(), 'm1', 'é'.repeat(maxDraftBytes / 2 + 1));
  expect([sent(rig), rig.state.notices.length, rig.state.composer.draft === '']).toEqual([[], 1, false]);
  expect([draftCounter('x'), draftCounter('x'.repeat(maxDraftBytes * 0.95))]).toEqual([
    null,
    '249,036 of 262,144 bytes',
  ]);
});

test('C-045: messages wait in order, can be changed and taken back, and go out one by one after each end', () => {
  const rig = busyRig().hear(created);
  for (const id of ['a', 'b', 'c']) say(rig, id, id);
  rig.do({ type: 'chip_edited', id: 'a', text: 'A' }, { type: 'chip_removed', id: 'b' }).hear(event.done('so'));
  expect([sent(rig), rig.state.phase, rig.state.queue.chips.map(({ id }) => id)]).toMatchObject([
    ['hi', 'A'],
    { name: 'busy', turn: { id: 'a' } },
    ['c'],
  ]);
});

test.each([
  ['a stop', (rig: Rig) => rig.do({ type: 'stop' }).hear(event.fail())],
  ['an error', (rig: Rig) => rig.hear(event.fail())],
])('C-045: after %s the queue rests until the person sends again', (_, end) => {
  const rig = end(say(busyRig().hear(created), 'a', 'a'));
  expect([
    sent(rig),
    rig.state.queue.resting,
    chipNote(rig.state, { id: 'a', text: 'a', attachments: [], state: 'waiting' }),
  ]).toEqual([['hi'], true, 'Rests until you send again']);
  rig.do({ type: 'submit', id: 'go' });
  expect([sent(rig), rig.state.queue]).toEqual([['hi', 'a'], { chips: [], resting: false }]);
});

test('C-045: where the session can be steered, what waits is delivered at the next boundary, and becomes a row when it is read', () => {
  const rig = say(busyRig().do(can).hear(created), 'a', 'one');
  expect(steered(rig)).toEqual([]);
  rig.hear(event.start('t', 'c1', 0));
  expect([steered(rig), rig.state.queue.chips[0]?.state]).toEqual([['one'], 'steering']);
  say(rig, 'b', 'two');
  expect(steered(rig)).toEqual(['one', 'two']);
  rig.do({ type: 'chip_edited', id: 'a', text: 'late' });
  rig.hear(event.result('t', 'c1'), { type: 'user_message', messageId: 'a', text: 'one' }, event.start('t', 'c2', 2));
  expect([rig.shown, rig.state.queue.chips.map(({ text }) => text)]).toEqual([
    ['U', 'T[t ok]', 'U', 'T[t …]'],
    ['two'],
  ]);
  rig.hear(event.done('so'));
  expect(sent(rig)).toEqual(['hi', 'two']);
});

test('C-045: a session that cannot be steered says so once, and the message goes out as a turn', () => {
  const rig = say(busyRig().do(can).hear(created, event.start('t')), 'a', 'one');
  rig.do({ type: 'steer_failed', messageId: 'a', why: 'unsupported' }).hear(event.start('t'), event.done());
  expect([steered(rig), sent(rig)]).toEqual([['one'], ['hi', 'one']]);
});

test('C-046: a message typed while an approval waits is steered, decides nothing, and says when it is read', () => {
  const rig = busyRig()
    .do(can)
    .hear(created, { type: 'approval_required', approval: approval({}) });
  say(rig, 'a', 'careful');
  const [chip] = rig.state.queue.chips;
  expect([steered(rig), rig.state.approvals[0]?.approval.status, chip && chipNote(rig.state, chip)]).toEqual([
    ['careful'],
    'pending',
    'Read after your decision',
  ]);
});

test('C-032: one button sends, stops, queues and waits', () => {
  const rig = createRig();
  const seen = [buttonOf(rig.state)];
  rig.do({ type: 'draft_changed', draft: 'hi' }, { type: 'submit', id: 'm1' }, { type: 'sent', turn: 'm1' });
  seen.push(
    buttonOf(rig.state),
    buttonOf(rig.do({ type: 'draft_changed', draft: 'x' }).state),
    buttonOf(rig.do({ type: 'stop' }).state),
  );
  expect(seen).toEqual(['send', 'stop', 'queue', 'stopping']);
});

test('C-070: ↑ takes back the last message that waits, else the last prompt', () => {
  const rig = say(busyRig().hear(created), 'a', 'waiting');
  expect(rig.do({ type: 'prompt_recalled' }).state).toMatchObject({
    composer: { draft: 'waiting' },
    queue: { chips: [] },
  });
  rig.do({ type: 'draft_changed', draft: '' }, { type: 'prompt_recalled' });
  expect(rig.state.composer.draft).toBe('hi');
});

test('C-026: thinking cannot be closed while it goes on; a choice made afterwards stays over later turns', () => {
  const rig = busyRig().hear(created, event.think('hm'));
  const open = () => rig.state.rows.flatMap((row) => (row.kind === 'thinking' ? [isRowOpen(rig.state, row)] : []));
  const row = rig.state.rows[1]?.id ?? '';
  rig.do({ type: 'row_toggled', row, open: false });
  expect(open()).toEqual([true]);
  rig.hear(event.done('so')).do({ type: 'row_toggled', row, open: true });
  say(rig, 'm2', 'more').do({ type: 'refused', turn: 'm2', status: 500, message: 'no' });
  expect(open()).toEqual([true]);
});

test('C-047: a file goes with the message, once it is there', () => {
  const rig = createRig().do({ type: 'attachment_added', id: 'f', name: 'a.txt' });
  say(rig, 'm1', 'read it');
  expect(sent(rig)).toEqual([]);
  rig.do(
    { type: 'attachment_changed', attachment: { kind: 'ready', id: 'f', name: 'a.txt', fileId: 'file_1' } },
    { type: 'submit', id: 'm1' },
  );
  expect(rig.effects.find(({ type }) => type === 'send')).toMatchObject({ attachments: ['file_1'] });
});

test('UD-28: a message can branch off after any turn, or stand in the place of an earlier one', () => {
  const rig = loadedRig({ turns: 3 });
  const row = (turn: string, kind: string) =>
    rig.state.rows.find((each) => each.turn === turn && each.kind === kind)?.id ?? '';
  rig.do({ type: 'forked', row: row('resp_t2', 'user') });
  expect(rig.state.composer).toMatchObject({ draft: 'question 2', fork: { kind: 'after', responseId: 'resp_t1' } });
  rig.do({ type: 'submit', id: 'm1' });
  expect(rig.effects.find(({ type }) => type === 'send')).toMatchObject({ previousResponseId: 'resp_t1', fork: true });
  expect(new Set(rig.state.rows.map(({ turn }) => turn))).toEqual(new Set(['resp_t0', 'resp_t1', 'm1']));
  rig.hear({ ...created, sessionId: 'hsess2' });
  expect([rig.state.session, rig.state.composer.fork]).toMatchObject([{ kind: 'open', id: 'hsess2' }, null]);
  const first = loadedRig({ turns: 1 }).do({ type: 'forked', row: 'resp_t0/0' }, { type: 'submit', id: 'm1' });
  expect(first.effects.find(({ type }) => type === 'send')).toMatchObject({ previousResponseId: null, fork: false });
  expect(session.id).toBe('hsess1');
});

test('C-047: where the sign-in is gone, what was sent and not taken in is in the box again, before what was written since', () => {
  const rig = busyRig().do({ type: 'draft_changed', draft: 'since' }, { type: 'signed_out' });
  expect([rig.shown, rig.state.phase.name, rig.state.composer.draft]).toEqual([[], 'ready', 'hi\n\nsince']);
  expect(rig.effects).toContainEqual(
    expect.objectContaining({ type: 'saveDraft', draft: expect.objectContaining({ draft: 'hi\n\nsince' }) }),
  );
  expect(busyRig().hear(created).do({ type: 'signed_out' }).shown).toEqual(['U']);
  expect(busyRig({ transport: 'agent' }).do({ type: 'signed_out' }).state.composer.draft).toBe('hi');
});

test('C-054: the list is read again as soon as a later turn has its name, for it says that its session runs', () => {
  const reads = (rig: Rig) => rig.effects.filter(({ type }) => type === 'loadSessions').length;
  const rig = say(loadedRig({ turns: 1 }), 'm1', 'more').do({ type: 'sent', turn: 'm1' });
  const before = reads(rig);
  rig.hear({ ...created, sessionId: session.id });
  expect(reads(rig) - before).toBe(1);
});
