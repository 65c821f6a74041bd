import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { runIds, sessionIds } from '../core/ids.ts';
import type { Fresh } from './store-contract.ts';
import { admissionOf, continuationOf, queuedOf } from './store-samples.ts';
import { admitted, finish } from './store-steps.ts';

/** What waits for its session, and the bytes that runs use. */
export function describeQueue(fresh: Fresh): void {
  test('UR-21: entries wait in order, each id once, and no more than may', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const tasks = ['1', '2', '3'].map((id) => queuedOf(id, a.sessionId));
    const other = await reopen();
    const results = [];
    for (const task of tasks) results.push(await other.enqueue(task, 2));
    expect(results).toEqual([
      { outcome: 'queued', position: 1 },
      { outcome: 'queued', position: 2 },
      { outcome: 'full' },
    ]);
    const queued = tasks.slice(0, 2).map((task) => ({ ...task, status: 'queued', runId: null }));
    expect(await store.queue(a.sessionId)).toEqual({ tasks: queued, held: false });
    expect(await store.enqueue({ ...queuedOf('1', a.sessionId), bodyHash: 'other' }, 2)).toEqual({
      outcome: 'known',
      task: queued[0],
    });
    expect(await store.queue(sessionIds.make('nobody'))).toEqual({ tasks: [], held: false });
  });

  test('UR-23: what waits can be taken back once; its place is free again', async () => {
    const { store } = await fresh();
    const { sessionId } = await admitted(store, 'a');
    await store.enqueue(queuedOf('1', sessionId), 1);
    expect([await store.unqueue(sessionId, '1'), await store.unqueue(sessionId, '1')]).toEqual([true, false]);
    expect(await store.enqueue(queuedOf('2', sessionId), 1)).toEqual({ outcome: 'queued', position: 1 });
  });

  test('E-664: the oldest entry of each free session can be started, by one process and once', async () => {
    const { store, reopen } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    for (const { sessionId } of [a, b]) for (const id of ['1', '2']) await store.enqueue(queuedOf(id, sessionId), 9);
    expect(await store.startableTasks()).toEqual([]);
    await finish(store, a, 1);
    expect(await store.startableTasks()).toMatchObject([{ sessionId: a.sessionId, messageId: '1', status: 'queued' }]);
    const other = await reopen();
    const next = (name: string) => ({ ...continuationOf(name, a), queued: { messageId: '1' } });
    const results = await Promise.all([store.admit(next('x')), other.admit(next('y')), store.admit(next('z'))]);
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['admitted', 'not-queued', 'not-queued']);
    expect(await store.startableTasks()).toEqual([]);
    expect(await store.unqueue(a.sessionId, '1')).toBe(false);
  });

  test('UR-32: a started entry stays listed until its run ends, and known after it', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    for (const id of ['1', '2']) await store.enqueue(queuedOf(id, a.sessionId), 9);
    await finish(store, a, 1);
    const b = { ...continuationOf('b', a), queued: { messageId: '1' } };
    await store.admit(b);
    const started = { messageId: '1', status: 'started', runId: b.runId };
    expect(await store.queue(a.sessionId)).toMatchObject({ tasks: [started, { messageId: '2', status: 'queued' }] });
    expect(await store.enqueue(queuedOf('3', a.sessionId), 9)).toEqual({ outcome: 'queued', position: 2 });
    expect(await store.enqueue(queuedOf('4', a.sessionId), 3)).toEqual({ outcome: 'full' });
    await finish(store, b, 1);
    expect((await store.queue(a.sessionId)).tasks.map(({ messageId }) => messageId)).toEqual(['2', '3']);
    expect(await store.enqueue(queuedOf('1', a.sessionId), 9)).toMatchObject({ outcome: 'known', task: started });
    await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await store.enqueue(queuedOf('1', a.sessionId), 9)).toEqual({ outcome: 'queued', position: 3 });
  });

  test('a refused start leaves its entry waiting', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await store.enqueue(queuedOf('1', a.sessionId), 9);
    const early = { ...continuationOf('b', a), queued: { messageId: '1' } };
    expect(await store.admit(early)).toMatchObject({ outcome: 'busy' });
    expect(await store.admit(admissionOf('c', { queued: { messageId: '1' } }))).toEqual({ outcome: 'not-queued' });
    expect(await store.session(sessionIds.make('c'))).toBeNull();
    expect(await store.queue(a.sessionId)).toMatchObject({ tasks: [{ status: 'queued', runId: null }] });
  });

  test.each(['failed', 'cancelled', 'completed'] as const)(
    'E-664: what waits behind a run that ends %s is held exactly if it did not complete',
    async (status) => {
      const { store, reopen } = await fresh();
      const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
      await store.enqueue(queuedOf('1', a.sessionId), 9);
      for (const run of [a, b]) await finish(store, run, 1, { status });
      const held = status !== 'completed';
      const other = await reopen();
      expect(await other.queue(a.sessionId)).toMatchObject({ held });
      expect(await other.queue(b.sessionId)).toMatchObject({ held: false });
      expect(await other.startableTasks()).toHaveLength(held ? 0 : 1);
      await store.holdQueue(a.sessionId, false);
      expect(await other.startableTasks()).toHaveLength(1);
      await store.holdQueue(a.sessionId, true);
      expect(await other.startableTasks()).toEqual([]);
    },
  );

  test('UD-61: an expired session starts nothing, and what waited in it is gone', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await store.enqueue(queuedOf('1', a.sessionId), 9);
    await finish(store, a, 1);
    await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await store.startableTasks()).toEqual([]);
    expect(await store.queue(a.sessionId)).toMatchObject({ tasks: [] });
  });

  test('E-844: bytes are kept once under their digest, whatever they are, for every run that uses them', async () => {
    const { store, reopen } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    for (const bytes of [new Uint8Array(0), Uint8Array.from({ length: 100_000 }, (_, index) => index)]) {
      const ref = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      for (const { runId } of [a, b, a])
        expect(await store.putContent(runId, bytes)).toEqual({ ref, bytes: bytes.byteLength });
      expect(await (await reopen()).content(ref)).toEqual(bytes);
    }
    expect(await store.content('sha256:00')).toBeNull();
  });

  test('E-844: what was put for a run that is never admitted is freed in time; the rest stays', async () => {
    const { store } = await fresh();
    const hours = (count: number) => ({ endedBeforeMs: 0, nowMs: count * 3_600_000 + count });
    const put = async (name: string, text: string) =>
      (await store.putContent(runIds.make(name), Buffer.from(text))).ref;
    const refs = [
      await put('a', 'mine'),
      await put('a', 'shared'),
      await put('never', 'shared'),
      await put('never', 'lost'),
    ];
    await admitted(store, 'a');
    const kept = async () => (await Promise.all(refs.map((ref) => store.content(ref)))).map((bytes) => bytes !== null);
    await store.prune(hours(1));
    expect(await kept()).toEqual([true, true, true, true]);
    await store.prune(hours(2));
    expect(await kept()).toEqual([true, true, true, false]);
    await store.prune(hours(9));
    expect(await kept()).toEqual([true, true, true, false]);
  });
}
