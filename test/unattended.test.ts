// UT-40: approvals when nobody looks: restarts, time, a cancel, and what a person said once for all.

import { describe, expect, test } from 'vitest';
import { answerOf, assembleOutput } from './support/event-stream.ts';
import { askedBy, listAsked, say as tell, startAsked, startAsking } from './support/asking-server.ts';
import { call, reply, say, type Replies } from './support/model.ts';
import { createFastClock } from './support/fast-clock.ts';
import { ended, finalOf, whole } from './support/uhp.ts';

const write = (id: string, path = 'made.txt') => call(id, 'write_file', { path, content: 'made' });
const questions = [
  { id: 'q', question: 'Which colour?', options: ['red', 'blue'] },
  { id: 'r', question: 'Why?' },
];
const replies: Replies = {
  write: [reply(write('w')), say('Done.')],
  again: [reply(write('w')), say('Done.')],
  ask: [reply(call('q', 'ask_user_questions', { questions })), say('Thank you.')],
};

describe('UT-40, B083: over a restart', () => {
  test('what was asked is listed and decided afterwards; its stream goes on where it stood; the effect is there once', async () => {
    await using place = await startAsking({ replies });
    const { task, asked } = await startAsked(place.uhp, { input: 'write', metadata: { reins_events: true } });
    const { frames } = await place.uhp.attach(task.id);
    const before = Array.fromAsync(frames);
    await place.restart();
    const seen = await before;
    expect(await askedBy(place.uhp, task.id)).toEqual([asked]);
    expect((await place.uhp.get(task.id)).body).toMatchObject({
      status: 'in_progress',
      metadata: { reins_pending: 1 },
    });
    await tell(place.uhp, asked, 'decide', { decision: 'approve' });
    const rest = await whole(place.uhp.attach(task.id, { after: seen.length - 1 }));
    expect(rest[0]?.id).toBe(seen.length);
    expect(finalOf(rest)).toMatchObject({ status: 'completed' });
    expect(assembleOutput([...seen, ...rest])).toEqual(finalOf(rest).output);
    expect(place.model.asked('write')).toHaveLength(2);
    await place.restart();
    const [record] = await listAsked(place.uhp, `response=${task.id}&status=all`);
    expect(record).toMatchObject({ id: asked.id, status: 'approved', decision: { by: 'owner' } });
  });
});

describe('UT-40: questions', () => {
  test('UR-13, UR-30: answers are checked, stored and read by the model', async () => {
    await using place = await startAsking({ replies });
    const { task, asked } = await startAsked(place.uhp, { input: 'ask' });
    expect(asked).toMatchObject({
      kind: 'question',
      questions: [
        { id: 'q', options: ['red', 'blue'], allow_free_form: false },
        { id: 'r', options: [], allow_free_form: true },
      ],
    });
    const wrong: [object, string | null][] = [
      [
        {
          answers: [
            { id: 'q', selected: ['red'] },
            { id: 'x', text: '' },
          ],
        },
        'answers[1]',
      ],
      [{ answers: [{ id: 'q', selected: ['green'] }] }, 'answers[0]'],
      [{ answers: [{ id: 'q', selected: ['red', 'blue'] }] }, 'answers[0]'],
      [
        {
          answers: [
            { id: 'r', text: 'a' },
            { id: 'r', text: 'b' },
          ],
        },
        'answers[1]',
      ],
    ];
    for (const [body, param] of wrong)
      expect(await tell(place.uhp, asked, 'answer', body)).toMatchObject({ status: 400, code: 'invalid_input', param });
    expect(await tell(place.uhp, asked, 'resolve', { action: 'abort' })).toMatchObject({ status: 400 });
    const answers = [
      { id: 'q', selected: ['blue'] },
      { id: 'r', text: 'It is calm.' },
    ];
    expect((await tell(place.uhp, asked, 'answer', { answers })).body).toMatchObject({ status: 'answered' });
    expect((await tell(place.uhp, asked, 'answer', { answers })).status).toBe(200);
    expect(await tell(place.uhp, asked, 'answer', { declined: true })).toMatchObject({
      code: 'reins_approval_conflict',
    });
    const final = await ended(place.uhp, task.id);
    expect(answerOf(final)).toBe('Thank you.');
    const output = final.output.find(({ type }) => type === 'function_call_output')?.output;
    expect(output).toContain('- blue');
    expect(output).toContain('It is calm.');
  });
});

describe('UT-40, E-606, E-830: what nobody decides in time', () => {
  test.each([
    ['write', 'Nobody decided'],
    ['ask', 'declined'],
  ])('%s: it is closed, the model is told, and the task goes on', async (input, told) => {
    await using place = await startAsking({
      replies,
      permissions: { expiresAfterSeconds: 5 },
      clock: createFastClock(20),
    });
    const { task, asked } = await startAsked(place.uhp, { input });
    const final = await ended(place.uhp, task.id);
    expect(final).toMatchObject({ status: 'completed' });
    expect(final.output.find(({ type }) => type === 'function_call_output')?.output).toContain(told);
    const [record] = await listAsked(place.uhp, `response=${task.id}&status=expired`);
    expect(record).toMatchObject({ id: asked.id, decision: { decision: 'expired', by: 'engine' } });
    const [verb, body] =
      input === 'ask' ? (['answer', { declined: true }] as const) : (['decide', { decision: 'approve' }] as const);
    expect(await tell(place.uhp, asked, verb, body)).toMatchObject({
      status: 409,
      code: 'reins_approval_closed',
      body: { error: { detail: { approval: record } } },
    });
  });

  test('or the task is cancelled, where its harness says so', async () => {
    const permissions = { expiresAfterSeconds: 5, onExpiry: 'cancel-run' } as const;
    await using place = await startAsking({ replies, permissions, clock: createFastClock(20) });
    const { task } = await startAsked(place.uhp, { input: 'write' });
    expect(await ended(place.uhp, task.id)).toMatchObject({ status: 'cancelled' });
  });

  test('UR-03: the time of the task stands still meanwhile', async () => {
    await using place = await startAsking({ replies, clock: createFastClock(20) });
    const { task, asked } = await startAsked(place.uhp, { input: 'write', timeout_seconds: 20 });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await tell(place.uhp, asked, 'decide', { decision: 'approve' });
    expect(await ended(place.uhp, task.id)).toMatchObject({ status: 'completed' });
  });
});

test('UT-40, E-607: a cancel ends the wait within a second, and what was asked is closed', async () => {
  await using place = await startAsking({ replies });
  for (const restarted of [false, true]) {
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    if (restarted) await place.restart();
    const startedMs = performance.now();
    expect((await place.uhp.cancel(task.id)).body).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    const answer = await tell(place.uhp, asked, 'decide', { decision: 'approve' });
    expect(answer).toMatchObject({ status: 409, code: 'reins_approval_closed' });
    expect(answer.body['error']).toMatchObject({
      detail: { approval: { status: 'cancelled', decision: { by: 'engine' } } },
    });
    const next = await place.uhp.create({ input: 'x', previous_response_id: task.id });
    expect(next.body).toMatchObject({ status: 'completed' });
  }
});

test('UR-12, UR-15, UR-16: what is remembered holds for later calls as far as it says, until it is taken back', async () => {
  await using place = await startAsking({ replies });
  const { task, asked } = await startAsked(place.uhp, { input: 'write' });
  const remember = { scope: 'session', match: 'exact-args' };
  const decided = await tell(place.uhp, asked, 'decide', { decision: 'approve', remember });
  const final = await ended(place.uhp, task.id);
  const session = final.metadata.session_id;
  const { body } = await place.uhp.send('GET', `/v1/reins/rules?session=${session}`);
  const rules = body['rules'] as { id: string }[];
  expect(rules).toMatchObject([
    { object: 'reins.rule', ...remember, name: 'write_file', session_id: session, by: 'owner', effect: 'allow' },
  ]);
  expect(body['next_cursor']).toBeNull();
  expect(decided.body['decision']).toMatchObject({ rule_id: rules[0]?.id });
  const second = await place.uhp.create({ input: 'again', previous_response_id: task.id });
  expect(second.body).toMatchObject({ status: 'completed' });
  const elsewhere = await startAsked(place.uhp, { input: 'again' });
  await place.uhp.cancel(elsewhere.task.id);
  const path = `/v1/reins/rules/${rules[0]?.id}`;
  expect(await place.uhp.send('DELETE', path)).toMatchObject({
    status: 200,
    body: { id: rules[0]?.id, deleted: true },
  });
  expect(await place.uhp.send('DELETE', path)).toMatchObject({ status: 404, code: 'reins_rule_not_found' });
  const third = await startAsked(place.uhp, { input: 'again', previous_response_id: second.body.id });
  await place.uhp.cancel(third.task.id);
});
