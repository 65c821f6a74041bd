import { expect, test } from 'vitest';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import type { Admission } from '../stores/admission.ts';
import { admissionOf, continuationOf, noteDraft, textDraft } from './store-samples.ts';
import { admitted, finish, lastSeq, readAll, write } from './store-steps.ts';
import type { Fresh } from './store-contract.ts';

/** What goes with time, and what stays. */
export function describeRetention(fresh: Fresh): void {
  const turn = { finishReason: 'end-turn', rawFinishReason: null, usage: null, usageIncomplete: false } as const;
  const accepted = (step: number, text: string): EventDraft[] => [
    { type: 'text-complete', step, attempt: 1, data: text },
    {
      type: 'turn-complete',
      step,
      attempt: 1,
      data: { ...turn, served: null, calls: [], parts: [{ block: 0, kind: 'text', start: 0, end: text.length }] },
    },
  ];
  const started = (step: number): EventDraft => {
    const model = { provider: 'demo', model: 'demo' };
    return { type: 'step-started', step, attempt: 1, data: { purpose: 'reply', model, replyBudget: null } };
  };

  test('E-845: prune removes live events, keeps every fact and its seq, joins what nothing replaced', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const place = { step: 2 };
    await write(store, a, [started(1), textDraft('he'), textDraft('llo'), ...accepted(1, 'hello')]);
    await write(store, a, [started(2), textDraft('par', place)]);
    await write(store, a, [textDraft('other', { ...place, block: 1 }), textDraft('tial', place)]);
    await write(store, a, [{ type: 'waiting', step: 2, attempt: 1, data: { on: 'model', seconds: 5 } }]);
    const output: EventDraft = {
      type: 'tool-output-delta',
      ...place,
      attempt: 1,
      data: { id: 'c', name: 'bash', text: 'o' },
    };
    await write(store, a, [noteDraft('note'), textDraft(' end', place), output]);
    await finish(store, a, await lastSeq(store, a));
    const before = await readAll(store, a);
    expect(await store.prune({ endedBeforeMs: 5_000, nowMs: 5_000 })).toEqual({ keys: 0, runs: 0 });
    expect(await store.isPruned(a.runId)).toBe(false);
    expect(await store.prune({ endedBeforeMs: 5_001, nowMs: 5_001 })).toEqual({ keys: 0, runs: 1 });
    expect(await store.isPruned(a.runId)).toBe(true);

    const after = await readAll(store, a);
    expect(after.filter(({ type }) => !isLive(type))).toEqual(before.filter(({ type }) => !isLive(type)));
    const joined = after.filter(({ type }) => isLive(type)).map(({ seq, data }) => [seq, data]);
    expect(joined).toEqual([
      [8, 'par'],
      [9, 'other'],
      [10, 'tial end'],
    ]);
    expect(after.map(({ seq }) => seq)).toEqual(after.map(({ seq }) => seq).toSorted((one, two) => one - two));
    expect(foldOf(after, a)).toEqual(foldOf(before, a));
    for (const cursor of [0, 3, 8, 10, 12]) {
      expect(await readAll(store, a, { after: cursor })).toEqual(after.filter(({ seq }) => seq > cursor));
    }
    expect(await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 })).toEqual({ keys: 0, runs: 0 });
  });

  test('E-845: a reader whose cursor stands in a hole goes on behind it, however large what stands before it is', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [started(1)]);
    await write(store, a, [noteDraft('n'.repeat(2_000_000)), textDraft('he')]);
    await write(store, a, accepted(1, 'he'));
    await finish(store, a, await lastSeq(store, a));
    await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
    expect((await store.readEvents(a.runId, { after: 3, limit: 1 })).map(({ seq }) => seq)).toEqual([5, 6]);
    expect((await readAll(store, a, { after: 3 })).map(({ seq }) => seq)).toEqual([5, 6, 7]);
  });

  test('UD-14: keys are forgotten after their run ended, and never while it runs', async () => {
    const { store } = await fresh();
    const [a, b] = ['a', 'b'].map((name) => admissionOf(name, { idempotency: { key: name, bodyHash: 'h' } }));
    if (a === undefined || b === undefined) throw new Error('unreachable');
    await store.admit(a);
    await store.admit(b);
    await finish(store, a, 1);
    expect(await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 })).toEqual({ keys: 1, runs: 1 });
    expect(await store.idempotency('owner', 'a')).toBeNull();
    expect(await store.idempotency('owner', 'b')).not.toBeNull();
    expect(await store.run(a.runId)).toMatchObject({ response: { output: 'done' } });
  });

  test('UD-61: idle sessions expire, busy ones do not; an expired one cannot be continued and stays known', async () => {
    const { store } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    await finish(store, a, 1);
    expect(await store.expireSessions({ updatedBeforeMs: 5_000, nowMs: 9_000 })).toEqual([]);
    expect(await store.expireSessions({ updatedBeforeMs: 5_001, nowMs: 9_000 })).toEqual([a.sessionId]);
    expect(await store.expireSessions({ updatedBeforeMs: 5_001, nowMs: 9_500 })).toEqual([]);
    expect(await store.session(a.sessionId)).toMatchObject({ expiredAtMs: 9_000 });
    expect(await store.session(b.sessionId)).toMatchObject({ expiredAtMs: null });
    expect(await store.admit(continuationOf('c', a))).toEqual({ outcome: 'expired' });
  });
}

function foldOf(events: readonly RunEvent[], { runId, sessionId }: Admission) {
  return events.reduce(evolve, initialRunState(runId, sessionId));
}
