// Several servers on one data folder: what one leaves the others take over, and each can do everything for a task of another.

import { answerOf, assembleOutput, isDelta, isTerminal } from './support/event-stream.ts';
import { askedBy, eventually, say } from './support/asking-server.ts';
import { begin, shareFolder, watch } from './support/shared-folder.ts';
import { call, reply, say as tell } from './support/model.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { ended, finalOf } from './support/uhp.ts';
import { expect, test } from 'vitest';

test('E-831, E-810: the owner is killed with -9; the other goes on within 2 s, before a reader that never reconnects', async () => {
  const folder = await shareFolder();
  const [owner, other] = await Promise.all([folder.start(), folder.start()]);
  const id = await begin(owner, 'held');
  const { seen, over } = watch(await other.uhp.attach(id));
  await eventually(() => seen.some(isDelta) || undefined);
  const before = seen.length;
  await owner.kill();
  const killedMs = performance.now();
  await eventually(() => seen.length > before || undefined);
  expect(performance.now() - killedMs).toBeLessThan(2_000);
  folder.gate.open();
  await over;
  expect(seen.map((frame) => frame.id)).toEqual(seen.map((_, index) => index));
  const final = finalOf(seen);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
  expect(assembleOutput(seen)).toEqual(final.output);
  const log = await folder.logOf(id);
  expect(checkLog(log)).toEqual([]);
  expect(log.filter(({ type }) => type === 'run-started')).toMatchObject([{}, { data: { cause: 'recovery' } }]);
});

test('B092, B103: a task of one server is cancelled through another within a second, its model call closed', async () => {
  const folder = await shareFolder();
  const [owner, other] = await Promise.all([folder.start(), folder.start()]);
  const id = await begin(owner, 'held');
  const frames = watch(await other.uhp.attach(id));
  await eventually(() => frames.seen.some(isDelta) || undefined);
  const askedMs = performance.now();
  expect(await other.uhp.cancel(id)).toMatchObject({ status: 200, body: { id } });
  expect(performance.now() - askedMs).toBeLessThan(1_000);
  await eventually(() => folder.model.server.open === 0 || undefined);
  expect(performance.now() - askedMs).toBeLessThan(2_000);
  await frames.over;
  expect(finalOf(frames.seen)).toMatchObject({ status: 'cancelled', error: null });
  expect((await owner.uhp.get(id)).body).toMatchObject({ status: 'cancelled' });
  for (const { process } of [owner, other]) process.child.kill('SIGTERM');
  for (const { process } of [owner, other])
    expect(await process.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('unhandled') });
});

test('E-815: a cancel of what a killed server left is done at once, whoever hears it', async () => {
  const folder = await shareFolder();
  const [owner, other] = await Promise.all([folder.start(), folder.start()]);
  const id = await begin(owner, 'held');
  await eventually(() => folder.model.server.open === 1 || undefined);
  await owner.kill();
  const { body } = await other.uhp.cancel(id);
  expect(body.status).toBe('cancelled');
});

test('a key, a session and an approval mean the same at every server', async () => {
  const write = call('w', 'write_file', { path: 'made.txt', content: 'made' });
  const folder = await shareFolder({
    replies: { write: [reply(write), tell('Done.')] },
    permissions: { mode: 'allow-reads', onUnknown: 'park' },
  });
  const [one, two] = await Promise.all([folder.start(), folder.start()]);
  const id = await begin(one, 'write', { 'idempotency-key': 'once' });
  expect(await begin(two, 'write', { 'idempotency-key': 'once' })).toBe(id);
  const [asked] = await askedBy(two.uhp, id);
  const busy = await two.uhp.create({ input: 'more', previous_response_id: id });
  expect(busy).toMatchObject({ status: 409, code: 'session_busy' });
  if (asked === undefined) throw new Error('Nothing is asked.');
  expect(await say(two.uhp, asked, 'decide', { decision: 'approve' })).toMatchObject({ status: 200 });
  const final = await ended(one.uhp, id);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'Done.']);
  const next = await two.uhp.create({ input: 'more', previous_response_id: id });
  expect(answerOf(next.body)).toBe('You said: more');
  expect(checkLog(await folder.logOf(id))).toEqual([]);
  const { seen, over } = watch(await one.uhp.attach(id));
  await over;
  expect(seen.filter(isTerminal)).toHaveLength(1);
});
