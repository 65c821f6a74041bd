// UT-41: a word to a task at work, in every state of it.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness } from './support/server.ts';
import { answerOf } from './support/event-stream.ts';
import { call, hold, reply, say, text, type Replies } from './support/model.ts';
import { connectTo, ended, finalOf, until, whole, type Uhp } from './support/uhp.ts';
import {
  eventually,
  readFor,
  say as tell,
  startAsked,
  startAsking,
  type AskingServer,
} from './support/asking-server.ts';

const write = call('w', 'write_file', { path: 'made.txt', content: 'made' });
const replies: Replies = {
  write: [reply(write), say('Done.')],
  busy: [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } } }],
  silent: [{ fault: { kind: 'stall', after: 'nothing' } }],
  read: [reply(call('l', 'list_files', {})), reply(text('partial '), hold, text('whole'))],
};
const steer = (uhp: Uhp, id: string, body: object) => uhp.send('POST', `/v1/reins/responses/${id}/steer`, { body });
const messagesOf = (place: AskingServer, asked: string) => readFor(place, asked).map(({ role }) => role);

let place: AskingServer;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

describe('UR-20, UR-33: a message is taken in, once', () => {
  test('while the answer streams: another step reads it, its event is in the stream, and a repeat is no second one', async () => {
    await using held = await startAsking({ replies });
    const attachment = await held.uhp.stream({ input: 'held', metadata: { reins_events: true } });
    const seen = await until(attachment, ({ event }) => event.type === 'response.output_text.delta');
    const id = seen[0]?.event.response?.id ?? '';
    const first = await steer(held.uhp, id, { input: 'go left', message_id: 'm-1' });
    expect(first).toMatchObject({ status: 200, body: { id: 'm-1', object: 'reins.message', response_id: id } });
    expect((await steer(held.uhp, id, { input: 'go left', message_id: 'm-1' })).body).toEqual(first.body);
    expect(await steer(held.uhp, id, { input: 'go right', message_id: 'm-1' })).toMatchObject({
      status: 409,
      code: 'reins_idempotency_conflict',
      param: 'message_id',
    });
    held.gate.open();
    const frames = await whole(held.uhp.attach(id));
    expect(frames.filter(({ event }) => event.type === 'reins.user_message').map(({ event }) => event['text'])).toEqual(
      ['go left'],
    );
    expect(answerOf(finalOf(frames))).toMatch(/You said: go left$/);
    expect(held.model.asked('go left')).toHaveLength(1);
    expect(messagesOf(held, 'go left').slice(-2)).toEqual(['assistant', 'user']);
    // The same answer as before the end; for a new message it is too late.
    expect((await steer(held.uhp, id, { input: 'go left', message_id: 'm-1' })).body).toEqual(first.body);
    expect(await steer(held.uhp, id, { input: 'and back' })).toMatchObject({ status: 409, code: 'reins_task_ended' });
  });

  test('after a tool: it stands behind the results of the step that was open (E-660)', async () => {
    await using held = await startAsking({ replies });
    const seen = await until(await held.uhp.stream({ input: 'read' }), ({ event }) => event.delta === 'partial ');
    const id = seen[0]?.event.response?.id ?? '';
    await steer(held.uhp, id, { input: 'go on' });
    held.gate.open();
    expect(answerOf(await ended(held.uhp, id))).toMatch(/You said: go on$/);
    expect(messagesOf(held, 'go on').slice(-4)).toEqual(['assistant', 'tool', 'assistant', 'user']);
  });

  test('E-665: while it waits for a person it decides nothing, and is read after the decision, a restart between them', async () => {
    await using waiting = await startAsking({ replies });
    const { task, asked } = await startAsked(waiting.uhp, { input: 'write' });
    expect(await steer(waiting.uhp, task.id, { input: 'by the way' })).toMatchObject({ status: 200 });
    await waiting.restart();
    expect((await waiting.uhp.get(task.id)).body).toMatchObject({
      status: 'in_progress',
      metadata: { reins_pending: 1 },
    });
    await tell(waiting.uhp, asked, 'decide', { decision: 'approve' });
    expect(answerOf(await ended(waiting.uhp, task.id))).toMatch(/You said: by the way$/);
    expect(messagesOf(waiting, 'by the way').slice(-3)).toEqual(['assistant', 'tool', 'user']);
  });

  test('over a restart in mid-answer nothing of it is lost', async () => {
    await using held = await startAsking({ replies });
    const { body: task } = await held.uhp.create({ input: 'held', background: true });
    await eventually(() => held.model.asked('held').length > 0 || undefined);
    await steer(held.uhp, task.id, { input: 'still there?' });
    await held.restart();
    held.gate.open();
    expect(answerOf(await ended(held.uhp, task.id))).toMatch(/You said: still there\?$/);
  });

  test.each(['busy', 'silent'])('UR-33: %s: a message that no step read is named in the end', async (input) => {
    const { body: task } = await place.uhp.create({ input, background: true });
    await eventually(() => place.model.asked(input).length > 0 || undefined);
    const { body: message } = await steer(place.uhp, task.id, { input: 'hello?' });
    const final = (await place.uhp.cancel(task.id)).body;
    expect(final).toMatchObject({ status: 'cancelled', metadata: { reins_undelivered: [message.id] } });
    expect(message.id).toMatch(/^msg_/);
  });
});

test('E-661: in the tick of the end a message is in and read, or refused; never neither', async () => {
  await using held = await startAsking({ replies });
  held.gate.open();
  const outcomes = new Set<number>();
  for (let round = 0; round < 24; round++) {
    const { body: task } = await held.uhp.create({ input: `held ${round}`, background: true });
    await pause(round);
    const { status, code } = await steer(held.uhp, task.id, { input: `round ${round}!` });
    const final = await ended(held.uhp, task.id);
    outcomes.add(status);
    expect(final.metadata).not.toHaveProperty('reins_undelivered');
    const read = held.model.server.requests.some(({ body }) => JSON.stringify(body).includes(`round ${round}!`));
    expect(read).toBe(status === 200);
    if (status !== 200) expect(code).toBe('reins_task_ended');
  }
  expect(outcomes).toContain(200);
});

test('U-042: a task that is unknown or another’s is not there', async () => {
  const { token } = await addHarness(place.data, 'stranger');
  const { body: task } = await place.uhp.create({ input: 'silent', background: true });
  const foreign = connectTo(place.uhp.url, token);
  for (const [uhp, id] of [
    [place.uhp, 'resp_none'],
    [place.uhp, 'none'],
    [foreign, task.id],
  ] as const)
    expect(await steer(uhp, id, { input: 'x' })).toMatchObject({ status: 404, code: 'response_not_found' });
  expect(await steer(place.uhp, task.id, { input: '' })).toMatchObject({ status: 400, param: 'input' });
  await place.uhp.cancel(task.id);
});
