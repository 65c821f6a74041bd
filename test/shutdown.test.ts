// E-834: how a server goes: what can end soon ends with it, the rest is another's at once.

import { answerOf, isDelta, isTerminal } from './support/event-stream.ts';
import { ended, finalOf, until, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { join } from 'node:path';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { runIds } from '../src/core/ids.ts';
import { shareFolder, type SharedFolder } from './support/shared-folder.ts';

test('a task that ends within the time given ends in front of its reader; reads are answered, new tasks are not taken', async () => {
  const folder = await shareFolder();
  const { uhp, process } = await folder.start();
  const stream = await uhp.stream({ input: 'held' });
  const frames = whole(Promise.resolve(stream));
  await eventually(() => folder.model.server.open === 1 || undefined);
  process.child.kill('SIGTERM');
  await process.saw('stopping, running tasks have 10 s to end');
  const refused = await uhp.create({ input: 'new' }, { 'idempotency-key': 'again' });
  expect(refused).toMatchObject({ status: 503, code: 'harness_unavailable' });
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await uhp.send('GET', '/v1/harnesses')).toMatchObject({ status: 200 });
  folder.gate.open();
  const final = finalOf(await frames);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
  expect(await process.ended).toMatchObject({ code: 0, signal: null });
  expect(folder.model.asked('new')).toEqual([]);
});

test('a task that does not is let go, in order: another server has it at once, and it is no crash', async () => {
  const folder = await shareFolder({ settings: { limits: { drainSeconds: 1 } } });
  const [first, second] = await Promise.all([folder.start(), folder.start()]);
  const stream = await first.uhp.stream({ input: 'held' });
  const seen = await until(stream, isDelta);
  const id = seen[0]?.event.response?.id ?? '';
  const left = whole(first.uhp.attach(id));
  first.process.child.kill('SIGTERM');
  const signalledMs = performance.now();
  await eventually(() => folder.model.asked('held').length === 2 || undefined);
  expect(performance.now() - signalledMs).toBeGreaterThan(900);
  expect(await first.process.ended).toMatchObject({ code: 0, signal: null });
  // Its stream ended in order, and goes on elsewhere from where it was.
  const before = await left;
  expect(before.filter(isTerminal)).toEqual([]);
  folder.gate.open();
  const after = await whole(second.uhp.attach(id, { after: before.at(-1)?.id ?? -1 }));
  expect(answerOf(finalOf(after))).toBe('first second');
  await using store = openSqlite(join(folder.data, 'reins.db'));
  const runId = runIds.parse(id) ?? runIds.make('');
  expect(await store.countTakeover(runId, { nowMs: Date.now(), sinceMs: 0 })).toBe(1);
  expect(await store.owners()).toHaveLength(1);
  expect(await reasons(folder, id)).toEqual(['worker-lost']);
});

test('a second signal ends it at once; that is a crash, and safe', async () => {
  const folder = await shareFolder();
  const [first, second] = await Promise.all([folder.start(), folder.start()]);
  const id = (await first.uhp.create({ input: 'held', background: true })).body.id;
  await eventually(() => folder.model.server.open === 1 || undefined);
  first.process.child.kill('SIGINT');
  await first.process.saw('stopping');
  await new Promise((resolve) => setTimeout(resolve, 150)); // a second signal, not the first one passed on
  first.process.child.kill('SIGINT');
  expect(await first.process.ended).toMatchObject({ code: 130 });
  await eventually(() => folder.model.asked('held').length === 2 || undefined);
  folder.gate.open();
  expect(await ended(second.uhp, id)).toMatchObject({ status: 'completed' });
  expect(await reasons(folder, id)).toEqual(['crash']);
});

/** Why replies of it were asked for again. */
async function reasons(folder: SharedFolder, id: string) {
  return (await folder.logOf(id)).flatMap((event) => (event.type === 'attempt-reset' ? [event.data.reason] : []));
}
