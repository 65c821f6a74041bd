// E-834: a server behind a balancer goes: first it says so, and still takes what comes; then it refuses, hands over, and is gone.

import { answerOf, isDelta, isTerminal } from './support/event-stream.ts';
import { begin, shareFolder } from './support/shared-folder.ts';
import { ended, finalOf, until, whole, type Uhp } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';

const probe = async ({ url }: Uhp, path: string) => {
  const answer = await fetch(url + path);
  const { node, reason } = (await answer.json()) as { node: string; reason?: string };
  return { status: answer.status, node, reason };
};

test('readiness goes first; for a moment tasks are taken still; then none, and the work goes on elsewhere before its readers', async () => {
  const folder = await shareFolder({ settings: { limits: { withdrawSeconds: 3, drainSeconds: 2 } } });
  const [going, staying] = await Promise.all([folder.start(), folder.start()]);
  const { node } = await probe(going.uhp, '/readyz');
  expect((await going.uhp.create({ input: 'x' })).headers.get('connection')).toBe('keep-alive');
  const id = await begin(going, 'held');
  const reader = await going.uhp.attach(id);
  const seen = await until(reader, isDelta);
  const left = whole(going.uhp.attach(id, { after: seen.at(-1)?.id ?? -1 }));
  going.process.child.kill('SIGTERM');

  await going.process.saw('new tasks are taken for 3 s, running tasks have 2 s to end');
  expect(await probe(going.uhp, '/readyz')).toEqual({ status: 503, reason: 'closing', node });
  expect(await probe(going.uhp, '/healthz')).toMatchObject({ status: 200, node });
  expect(await probe(staying.uhp, '/readyz')).toMatchObject({ status: 200 });
  const late = await going.uhp.create({ input: 'late' });
  expect([late.status, late.body.status, late.headers.get('connection')]).toEqual([200, 'completed', 'close']);

  const refused = await eventually(async () => {
    const answer = await going.uhp.create({ input: 'later' });
    return answer.status === 200 ? undefined : answer;
  });
  expect(refused).toMatchObject({ status: 503, code: 'harness_unavailable' });
  expect(refused.headers.get('retry-after')).toBe('5');
  // Readers and cancels are heard to the last.
  expect(await going.uhp.get(id)).toMatchObject({ status: 200, body: { status: 'in_progress' } });

  const before = [...seen, ...(await left)];
  expect(await going.process.ended).toMatchObject({ code: 0, signal: null });
  expect(before.filter(isTerminal)).toEqual([]);
  folder.gate.open();
  const all = [...before, ...(await whole(staying.uhp.attach(id, { after: before.at(-1)?.id ?? -1 })))];
  expect(all.map((frame) => frame.id)).toEqual(all.map((_, index) => index));
  expect(answerOf(finalOf(all))).toBe('first second');
  expect((await ended(staying.uhp, late.body.id)).status).toBe('completed');
});

test('who is told twice goes at once, whatever it had said before', async () => {
  const folder = await shareFolder({ settings: { limits: { withdrawSeconds: 60 } } });
  const { process } = await folder.start();
  process.child.kill('SIGTERM');
  await process.saw('new tasks are taken for 60 s');
  await new Promise((resolve) => setTimeout(resolve, 150)); // a second signal, not the first one passed on
  process.child.kill('SIGTERM');
  expect((await process.ended).code).not.toBe(0);
});
