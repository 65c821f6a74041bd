import { expect, test } from 'vitest';
import { runIds } from '../core/ids.ts';
import { admissionOf, stampAll, textDraft } from './store-samples.ts';
import { admitted, entry, finish, write } from './store-steps.ts';
import type { Fresh } from './store-contract.ts';

/** Whose a run is: owners, takeovers, and the flag that stops it. */
export function describeOwnership(fresh: Fresh): void {
  test('E-827: after a takeover the owner before it can write nothing, live events included', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const other = await reopen();
    expect(await other.takeOver(a.runId, 'there')).toMatchObject({ owner: 'there', generation: 2, lastSeq: 1 });
    const late = { ...entry(a, 1), events: stampAll([textDraft('late')], a.runId, a.sessionId) };
    expect(await store.append([late], { durable: false })).toEqual([{ outcome: 'lease-lost' }]);
    expect(await other.append([entry(a, 1, { generation: 2 })], { durable: true })).toMatchObject([
      { outcome: 'stored' },
    ]);
  });

  test('a run that is final or unknown cannot be taken over', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await finish(store, a, 1);
    expect(await store.takeOver(a.runId, 'there')).toBeNull();
    expect(await store.takeOver(runIds.make('nobody'), 'there')).toBeNull();
  });

  test('E-825: of many who have seen that an owner is gone one takes its run', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const other = await reopen();
    expect(await other.takeOver(a.runId, 'there', { owner: null })).toBeNull();
    const taken = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        (index % 2 === 0 ? store : other).takeOver(a.runId, `${index}`, { owner: 'here', phase: 'active' }),
      ),
    );
    expect(taken.filter((record) => record !== null)).toMatchObject([{ generation: 2 }]);
    await store.release(a.runId, taken.find((record) => record !== null)?.owner ?? '');
    expect(await other.takeOver(a.runId, 'there', { owner: null })).toMatchObject({ owner: 'there', generation: 3 });
  });

  test('E-825: what was seen before another owner had the run, and let it go again, takes nothing any more', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const other = await reopen();
    await store.release(a.runId, 'here');
    const [seen] = await other.unfinishedRuns();
    if (seen === undefined) throw new Error('There is no run.');
    const { owner, phase, control, generation } = seen;
    expect(seen).toMatchObject({ owner: null, generation: 1 });
    expect(await other.takeOver(a.runId, 'b', { owner, phase, control, generation })).toMatchObject({ generation: 2 });
    await other.release(a.runId, 'b');
    expect(await store.takeOver(a.runId, 'late', { owner, phase, control, generation })).toBeNull();
    expect(await store.run(a.runId)).toMatchObject({ owner: null, generation: 2 });
    expect(await store.takeOver(a.runId, 'late', { owner, generation: 2 })).toMatchObject({ generation: 3 });
  });

  test('E-826: who is at work is seen by all, until it is removed; one that has spoken since is not', async () => {
    const { store, reopen } = await fresh();
    const [here, there] = ['here', 'there'].map((owner) => ({
      owner,
      place: 'boot',
      pid: 7,
      startTicks: owner === 'here' ? 1 : null,
      seenAtMs: 100,
    }));
    if (here === undefined || there === undefined) throw new Error('There are no owners.');
    await store.putOwner(here);
    await store.putOwner(there);
    await store.putOwner({ ...there, seenAtMs: 200 });
    const other = await reopen();
    const seen = async () => (await other.owners()).toSorted((a, b) => a.owner.localeCompare(b.owner));
    expect(await seen()).toEqual([here, { ...there, seenAtMs: 200 }]);
    await other.removeOwner(there);
    await other.removeOwner(here);
    expect(await seen()).toEqual([{ ...there, seenAtMs: 200 }]);
    await other.removeOwner({ owner: 'there', seenAtMs: 200 });
    expect(await seen()).toEqual([]);
  });

  test('a released run has no owner; only its owner can release it', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await store.release(a.runId, 'there');
    expect(await store.run(a.runId)).toMatchObject({ owner: 'here' });
    await store.release(a.runId, 'here');
    expect(await store.unfinishedRuns()).toMatchObject([{ runId: a.runId, owner: null }]);
  });

  test('heads say of many runs where their logs end, and which of them are over', async () => {
    const { store } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    await write(store, a, [textDraft('x')]);
    await finish(store, b, 1);
    const heads = await store.heads([a.runId, b.runId, runIds.make('nobody'), a.runId]);
    expect(heads.toSorted((one, two) => one.runId.localeCompare(two.runId))).toEqual([
      { runId: a.runId, lastSeq: 2, isOver: false },
      { runId: b.runId, lastSeq: 2, isOver: true },
    ]);
    expect(await store.heads([])).toEqual([]);
  });

  test('U-370: of a run whose session is deleted there is no head, before and after its tombstone is pruned', async () => {
    const { store, reopen } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    const child = admissionOf('s', { parentRunId: a.runId });
    await store.admit(child);
    for (const run of [child, a, b]) await finish(store, run, 1);
    await store.deleteResponse(b.runId);
    await store.deleteSession(a.sessionId);
    const left = async () => (await reopen()).heads([a.runId, child.runId, b.runId]);
    expect(await left()).toEqual([{ runId: b.runId, lastSeq: 2, isOver: true }]);
    await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await left()).toMatchObject([{ runId: b.runId, isOver: true }]);
  });

  test('E-832: takeovers are counted over the time asked for, across restarts', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    expect(await store.countTakeover(a.runId, { nowMs: 100, sinceMs: 0 })).toBe(1);
    expect(await store.countTakeover(a.runId, { nowMs: 200, sinceMs: 0 })).toBe(2);
    expect(await (await reopen()).countTakeover(a.runId, { nowMs: 300, sinceMs: 150 })).toBe(2);
  });

  test('E-815: cancel sets the flag of a running run, leaves a final one alone, knows no other', async () => {
    const { store, reopen } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    await finish(store, b, 1);
    expect(await (await reopen()).requestCancel(a.runId)).toMatchObject({ control: 'cancel', status: 'running' });
    expect(await store.requestCancel(a.runId)).toMatchObject({ control: 'cancel' });
    expect(await store.requestCancel(b.runId)).toMatchObject({ control: 'none', status: 'completed' });
    expect(await store.requestCancel(runIds.make('nobody'))).toBeNull();
  });
}
