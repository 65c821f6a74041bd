// A stop and what works for a foreign harness: programs that will not go, and the moments at which it comes.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { endingOf, fine, startStubServer, type StubServer } from './support/stub-server.ts';
import { eventually } from './support/asking-server.ts';
import { finalOf } from './support/uhp.ts';
import { isDelta, type Body } from './support/event-stream.ts';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { statSync } from 'node:fs';
import { stubBases } from './support/stub-programs.ts';

vi.setConfig({ testTimeout: 30_000, maxConcurrency: 24 });

let server: StubServer;
beforeAll(async () => {
  server = await startStubServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const begin = async (base: Parameters<StubServer['ask']>[0], act: string): Promise<Body> =>
  (await server.uhp.create({ ...server.ask(base, act), background: true })).body;
const ticksOf = ({ metadata }: Body) =>
  statSync(join(server.data, 'workspaces', metadata.session_id, 'ticks'), { throwIfNoEntry: false })?.size;
/** Its process is there. */
const started = (task: Body) =>
  eventually(async () => (await server.left(task).catch(() => [])).length > 0 || undefined, 10_000);
/** Cancels; gives the end, which comes within ten more. */
async function cancel(task: Body): Promise<Body> {
  const frames = Array.fromAsync((await server.uhp.attach(task.id)).frames);
  const askedMs = performance.now();
  const { status } = await server.uhp.cancel(task.id);
  // A second, and what a machine at work on all of these adds.
  expect([status, performance.now() - askedMs < 2_000]).toEqual([200, true]);
  const final = finalOf(await frames);
  expect(performance.now() - askedMs).toBeLessThan(10_500);
  expect((await frames).at(-1)?.event.type).toBe('response.failed');
  const session = await server.uhp.send('GET', `/v1/sessions/${final.metadata.session_id}`);
  expect([final.status, final.error, session.body.status]).toEqual(['cancelled', null, 'cancelled']);
  expect((await server.uhp.get(task.id)).body).toEqual(final);
  expect(await server.left(final)).toEqual([]);
  return final;
}

describe.skipIf(process.platform !== 'linux').concurrent.each(stubBases)('H-942: %s', (base) => {
  // How a tree is ended is the same for all of them.
  test.concurrent.for(['ignores', 'mute', ...(base === 'acp-stub' ? ['deaf', 'shut-deaf', 'works'] : [])])(
    'B096, B097, B099, B100: cancelled, one that acts as in "%s" is gone within ten seconds, says nothing more, and all say cancelled',
    async (act) => {
      const task = await begin(base, act);
      const times: number[] = [];
      const heard = Array.fromAsync((await server.uhp.attach(task.id)).frames, (frame) => {
        if (isDelta(frame)) times.push(performance.now());
      });
      if (act === 'works') await eventually(() => ticksOf(task), 10_000);
      else if (act === 'mute') await started(task);
      else await eventually(() => times.length > 0 || undefined, 10_000);
      const askedMs = performance.now();
      const final = await cancel(task);
      await heard;
      expect(times.filter((atMs) => atMs > askedMs + 500)).toEqual([]);
      const ticks = ticksOf(final);
      await pause(500);
      expect(ticksOf(final)).toBe(ticks);
      expect(endingOf(await server.goOn(base, final, 'fine'))).toEqual(fine);
    },
  );
});

// Alone: it counts what all that run beside it would ask.
test('H-060, H-066, B094: at a cancel the call to the model is closed within a second, and no other is let through, whatever the runtime wants', async () => {
  const task = await begin('acp-stub', 'asks-on');
  await eventually(() => server.upstream.open > 0 || undefined, 10_000);
  const cancelled = cancel(task);
  const askedMs = performance.now();
  await pause(200);
  const { requests } = server.upstream;
  await eventually(() => server.upstream.open === 0 || undefined);
  expect(performance.now() - askedMs).toBeLessThan(1_000);
  await cancelled;
  expect(server.upstream.requests).toBe(requests);
});

test.concurrent('B100, B145: one that does not come to its start is gone as soon as the task is cancelled', async () => {
  const task = await begin('acp-never', 'fine');
  await started(task);
  await cancel(task);
});
