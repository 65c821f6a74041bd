// An owner that hangs, or is frozen with its machine's container, and goes on after another has taken over.

import { answerOf, isDelta } from './support/event-stream.ts';
import { begin, shareFolder, watch } from './support/shared-folder.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { ended, whole } from './support/uhp.ts';
import { endless } from './support/agents.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';

test('E-825, E-827, E-946: an owner that stands still loses its tasks after its lease; when it goes on, nothing of it counts', async () => {
  const folder = await shareFolder({ replies: { stuck: [endless('stuck')] } });
  const [owner, other] = await Promise.all([folder.startLeased(2_000), folder.startLeased(2_000)]);
  const [id, stuck] = [await begin(owner, 'held'), await begin(owner, 'stuck')];
  const atOwner = watch(await owner.uhp.attach(id));
  const calls = (count: number) => eventually(() => folder.model.server.open === count || undefined, 8_000);
  await calls(2);
  await eventually(() => atOwner.seen.some(isDelta) || undefined);
  owner.process.child.kill('SIGSTOP');
  const stoppedMs = performance.now();
  await calls(4);
  expect(performance.now() - stoppedMs).toBeGreaterThan(1_000);
  // The whole answer now waits in the old owner's socket as well.
  folder.gate.open();
  const final = await ended(other.uhp, id);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
  const log = await folder.logOf(id);
  owner.process.child.kill('SIGCONT');
  await atOwner.over;
  expect(atOwner.seen.map(({ text }) => text)).toEqual((await whole(other.uhp.attach(id))).map(({ text }) => text));
  expect((await owner.uhp.get(id)).body).toEqual(final);
  await owner.process.saw('Another process has taken over');
  // Of the call that says nothing the old owner's is given up, too.
  await calls(1);
  expect((await owner.uhp.cancel(stuck)).status).toBe(200);
  expect(await ended(owner.uhp, stuck)).toMatchObject({ status: 'cancelled', error: null });
  expect(await folder.logOf(id)).toEqual(log);
  for (const each of [id, stuck]) expect(checkLog(await folder.logOf(each))).toEqual([]);
});
