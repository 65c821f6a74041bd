// B129: one server with a task in each state is killed with -9. Within five seconds of the next start every one of them has
// gone on, has ended, or waits for a person as it did.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerOf, assembleOutput, isDelta, type Body } from './support/event-stream.ts';
import { askedBy, eventually, listAsked, say as tell } from './support/asking-server.ts';
import { call, hold, reply, say, text, type Replies } from './support/model.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { ended, finalOf, until, whole } from './support/uhp.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { runIds } from '../src/core/ids.ts';
import { shareFolder } from './support/shared-folder.ts';

const within = 5_000;
const questions = [{ id: 'q', question: 'Which?' }];
const write = (id: string) => call(id, 'write_file', { path: `${id}.txt`, content: 'made' });
const done = say('Done.');
const replies: Replies = {
  done: [done],
  streaming: [reply(text('first '), hold, text('second'))],
  'before an answer': [reply(hold, text('answered'))],
  'in a pause before another attempt': [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '60' } } }],
  'in a command': [reply(call('c', 'bash', { command: 'echo x >> ran; sleep 60' })), done],
  'behind a call': [reply(write('w')), reply(text('so '), hold, text('far'))],
  'waiting for a decision': [reply(call('f', 'fetch_url', { url: 'http://127.0.0.1:1/' })), done],
  'waiting for an answer': [reply(call('q', 'ask_user_questions', { questions })), done],
  'to be cancelled': [reply(text('partial '), hold)],
  queued: [done],
};

test('B129: killed with a task in each state: within 5 s all go on, end, or wait as they did', async () => {
  const permissions = { tools: { fetch_url: 'ask' }, questions: true } as const;
  const folder = await shareFolder({ replies, permissions, settings: { agent: { shell: { kind: 'host' } } } });
  const before = await folder.start();
  const begin = async (input: string, more: object = {}) =>
    (await before.uhp.create({ input, background: true, ...more })).body;
  const asked = (input: string, count = 1) =>
    eventually(() => folder.model.asked(input).length >= count || undefined, 10_000);
  const completed = (await before.uhp.create({ input: 'done' })).body;

  const seen = await until(await before.uhp.stream({ input: 'streaming' }), isDelta);
  const streaming = seen[0]?.event.response ?? completed;
  const silent = await begin('before an answer');
  // Of a model of its own: what its provider says of when to come back holds for all tasks.
  const busy = await begin('in a pause before another attempt', { model: 'openai-compatible/other' });
  const working = await begin('in a command');
  const ran = join(folder.data, 'workspaces', working.metadata.session_id, 'ran');
  const behind = await begin('behind a call');
  const gated = await begin('waiting for a decision');
  const asking = await begin('waiting for an answer');
  const stopping = await begin('to be cancelled');
  const queue = `/v1/reins/sessions/${streaming.metadata.session_id}/queue`;
  await before.uhp.send('POST', queue, { body: { input: 'queued' } });
  const waiter = before.uhp.create({ input: 'held by a waiter' }, { 'idempotency-key': 'waiter' }).catch(String);
  const reader = whole(before.uhp.attach(silent.id));
  for (const input of ['before an answer', 'in a pause before another attempt', 'to be cancelled', 'held by a waiter'])
    await asked(input);
  await asked('behind a call', 2);
  await eventually(() => existsSync(ran) || undefined, 10_000);
  const [approval] = await askedBy(before.uhp, gated.id);
  const [question] = await askedBy(before.uhp, asking.id);
  if (approval === undefined || question === undefined) throw new Error('Not all is asked.');
  {
    // Asked for elsewhere in the instant of the kill: the owner has not heard of it.
    await using store = openSqlite(join(folder.data, 'reins.db'));
    before.process.child.kill('SIGSTOP');
    await store.requestCancel(runIds.parse(stopping.id) ?? runIds.make(''));
  }
  await before.kill();
  // Old streams and waiters are let go, and nothing made up is given to them.
  expect((await reader).every(({ event }) => event.type !== 'response.completed')).toBe(true);
  expect(await waiter).toEqual(expect.any(String));

  const { uhp } = await folder.start();
  const listeningMs = performance.now();
  const calls = (input: string) => folder.model.asked(input).length;
  const status = async ({ id }: Pick<Body, 'id'>) => (await uhp.get(id)).body;
  const again = { streaming: 2, 'before an answer': 2, 'behind a call': 3, 'in a command': 2, 'held by a waiter': 2 };
  for (const [input, count] of Object.entries(again))
    await eventually(() => calls(input) === count || undefined, 2 * within);
  await eventually(async () => (await status(stopping)).status === 'cancelled' || undefined, 2 * within);
  expect(performance.now() - listeningMs).toBeLessThan(within);

  // What waits, waits: for a person, or for the hour that a provider named.
  for (const task of [gated, asking]) expect(await status(task)).toMatchObject({ metadata: { reins_pending: 1 } });
  expect([await askedBy(uhp, gated.id), await askedBy(uhp, asking.id)]).toEqual([[approval], [question]]);
  expect([(await status(busy)).status, calls('in a pause before another attempt')]).toEqual(['in_progress', 1]);
  expect(await status(completed)).toEqual(completed);

  // The cancelled one has its partial output, asks nothing, and its session is free.
  const stopped = await status(stopping);
  expect([answerOf(stopped), calls('to be cancelled')]).toEqual(['partial ', 1]);
  expect(await listAsked(uhp, `response=${stopping.id}`)).toEqual([]);
  for (const { id } of [stopped, completed])
    expect((await uhp.create({ input: 'done', previous_response_id: id })).body.status).toBe('completed');

  folder.gate.open();
  await tell(uhp, approval, 'decide', { decision: 'deny' });
  await tell(uhp, question, 'answer', { answers: [{ id: 'q', text: 'this' }] });
  const rest = await whole(uhp.attach(streaming.id, { after: seen.length - 1 }));
  expect([answerOf(finalOf(rest)), assembleOutput([...seen, ...rest])]).toEqual(['first second', finalOf(rest).output]);
  for (const [{ id }, answer] of [
    [silent, 'answered'],
    [working, 'Done.'],
    [behind, 'so far'],
    [gated, 'Done.'],
    [asking, 'Done.'],
  ] as const) {
    const final = await ended(uhp, id);
    expect([final.status, answerOf(final)]).toEqual(['completed', answer]);
    expect(checkLog(await folder.logOf(id))).toEqual([]);
  }
  expect([readFileSync(ran, 'utf8'), calls('behind a call')]).toEqual(['x\n', 3]);
  const repeated = await uhp.create({ input: 'held by a waiter' }, { 'idempotency-key': 'waiter' });
  expect(repeated.body).toMatchObject({ status: 'completed' });
  await eventually(() => calls('queued') === 1 || undefined);
  expect((await uhp.cancel(busy.id)).body).toMatchObject({ status: 'cancelled' });
});
