import { expect, test } from 'vitest';
import { runIds, sessionIds } from '../core/ids.ts';
import { logOfAllTypes } from './log-of-all-types.ts';
import { testRunId, testSessionId } from './log-builder.ts';
import { admissionOf } from './store-samples.ts';
import { admitted, finish } from './store-steps.ts';
import type { EndedRun, Store } from '../stores/store.ts';
import type { KeepRefusal } from '../stores/not-kept-error.ts';
import type { Fresh } from './store-contract.ts';
import type { RunEvent } from '../core/run-event.ts';

const { harnessId, principal } = admissionOf('a');
const ended: EndedRun = {
  runId: testRunId,
  sessionId: testSessionId,
  harnessId,
  principal,
  title: 'From elsewhere',
  previousRunId: null,
  events: logOfAllTypes(),
  status: 'failed',
  response: { id: testRunId, status: 'failed' },
  atMs: 9_000,
};

/** Runs that ended somewhere else. */
export function describeImports(fresh: Fresh): void {
  test('P-060: a run that ended elsewhere is kept with its log, whole, and nobody is to work on it', async () => {
    const { store, reopen } = await fresh();
    const events = [...ended.events, ...Array.from({ length: 1_200 }, (_, index) => tail(index))];
    expect(await store.keepEnded([{ ...ended, events }])).toEqual([true]);
    const other = await reopen();
    const read: RunEvent[] = [];
    for (let more = await page(0); more.length > 0; more = await page(read.length)) read.push(...more);
    expect(read).toEqual(events);
    expect(await other.run(testRunId)).toMatchObject({
      status: 'failed',
      turn: 1,
      owner: null,
      response: ended.response,
    });
    expect(await other.unfinishedRuns()).toEqual([]);
    expect(await other.session(testSessionId)).toMatchObject({ title: 'From elsewhere', runningRunId: null });
    expect(await other.tip(testSessionId)).toBe(testRunId);

    function page(after: number) {
      return other.readEvents(testRunId, { after, limit: 100 });
    }
    function tail(index: number): RunEvent {
      const { runId, sessionId } = ended;
      const at = { v: 1, runId, sessionId, at: 5, leg: 1, step: 1, attempt: 1, block: 0 } as const;
      return { ...at, seq: ended.events.length + index + 1, type: 'text-delta', data: `${index}` };
    }
  });

  test('L6: nothing of it is asked of anybody, and what is deleted stays so', async () => {
    const { store } = await fresh();
    await store.keepEnded([ended]);
    expect(await store.approvals({ principal, status: 'all', limit: 9 })).toEqual([]);
    await store.deleteSession(testSessionId);
    expect(await store.keepEnded([ended])).toEqual([false]);
    const next = { ...ended, runId: runIds.make('next'), previousRunId: testRunId };
    await refused(store, next, { outcome: 'no-session' });
  });

  test('it is kept once, and turns stand in the order in which they were taken', async () => {
    const { store } = await fresh();
    await store.keepEnded([ended]);
    expect(await store.keepEnded([{ ...ended, response: null }])).toEqual([false]);
    const next = { ...ended, runId: runIds.make('next') };
    await refused(store, next, { outcome: 'not-tip', tip: testRunId });
    expect(await store.keepEnded([ended, { ...next, previousRunId: testRunId }])).toEqual([false, true]);
    expect(await store.runIdsOfSession(testSessionId)).toEqual([
      { runId: testRunId, turn: 1 },
      { runId: next.runId, turn: 2 },
    ]);
  });

  test('U-353: a session that is at work, or of somebody else, takes none', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const more = { ...ended, sessionId: a.sessionId, previousRunId: a.runId };
    await refused(store, more, { outcome: 'busy', runningRunId: a.runId });
    await finish(store, a, 1);
    await refused(store, { ...more, principal: 'else' }, { outcome: 'no-session' });
    expect(await store.keepEnded([more])).toEqual([true]);
  });

  test('all of them are kept, or none: one that is here as somebody else’s fits no less badly than one of another session', async () => {
    const { store } = await fresh();
    await store.keepEnded([ended]);
    const other = { ...ended, runId: runIds.make('other'), sessionId: sessionIds.make('other') };
    const second = { ...other, runId: runIds.make('second') };
    const theirs = { ...ended, principal: 'else' };
    for (const last of [second, theirs])
      await expect(store.keepEnded([other, last])).rejects.toMatchObject({ name: 'NotKeptError' });
    expect([await store.run(other.runId), await store.session(other.sessionId)]).toEqual([null, null]);
    expect(await store.keepEnded([other, { ...second, previousRunId: other.runId }])).toEqual([true, true]);
  });

  test('E-845: numbers stay as they are, and with holes it counts as pruned', async () => {
    const { store } = await fresh();
    const events = ended.events.filter(({ type }) => type !== 'text-delta');
    await store.keepEnded([{ ...ended, events }]);
    expect(await store.readEvents(testRunId, { after: 0, limit: 999 })).toEqual(events);
    expect(await store.isPruned(testRunId)).toBe(true);
    const whole = { ...ended, runId: runIds.make('w'), sessionId: sessionIds.make('w') };
    await store.keepEnded([whole]);
    expect(await store.isPruned(whole.runId)).toBe(false);
  });
}

function refused(store: Store, run: EndedRun, refusal: KeepRefusal): Promise<void> {
  return expect(store.keepEnded([run])).rejects.toMatchObject({ name: 'NotKeptError', refusal });
}
