import { expect, test } from 'vitest';
import { approvalIds, ruleIds, runIds, sessionIds, type RunId } from '../core/ids.ts';
import type { EventDraft, PendingTool } from '../core/run-event.ts';
import type { ApprovalFilter, FactFromOutside, Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import type { Fresh } from './store-contract.ts';
import {
  admissionOf,
  decisionDraft,
  factOf,
  noteDraft,
  pendingOf,
  requestDraft,
  resultDraft,
  ruleOf,
  stampAll,
} from './store-samples.ts';
import { admitted, entry, finish, lastSeq, readAll, write } from './store-steps.ts';

const everything: ApprovalFilter = { principal: 'owner', status: 'all', limit: 99 };
const open: ApprovalFilter = { ...everything, status: 'open' };

/** What people say of runs: approvals, parks, facts from outside, rules (L6, L7). */
export function describePeople(fresh: Fresh): void {
  describeApprovals(fresh);
  describeParks(fresh);
  describeFacts(fresh);
  describeRaces(fresh);
}

async function ask(store: Store, admission: Admission, ...pending: readonly PendingTool[]): Promise<void> {
  await write(
    store,
    admission,
    pending.map((one) => requestDraft(one)),
  );
}

/** The run asks, and waits for the answer. */
async function parked(store: Store, name: string): Promise<{ run: Admission; pending: PendingTool }> {
  const run = await admitted(store, name);
  const pending = pendingOf('call', run.runId);
  await write(store, run, [requestDraft(pending), parkDraft(run)]);
  return { run, pending };
}

function parkDraft(
  { runId, sessionId }: Admission,
  status: 'awaiting-input' | 'paused' = 'awaiting-input',
): EventDraft {
  return resultDraft(runId, sessionId, status);
}

const deciding = (admission: Admission, pending: PendingTool, decision: 'approve' | 'deny' = 'approve') =>
  factOf(decisionDraft(pending, decision), admission);
const steering = (admission: Admission, id: string, text = id): FactFromOutside => {
  const content = [{ type: 'text', text }] as const;
  return factOf(
    { type: 'user-message', step: 0, attempt: 0, data: { messageId: id, content, mode: 'steer' } },
    admission,
  );
};

function describeApprovals(fresh: Fresh): void {
  test('E-600, B083: what a run asks is found by listing it, from another process and after a restart', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const pending = pendingOf('call', a.runId, { expiresAtMs: 9_000, reason: 'It deletes.' });
    await ask(store, a, pending);
    const { approvalId } = pending;
    const { runId, sessionId, harnessId, principal } = a;
    const record = { approvalId, runId, sessionId, harnessId, principal, pending, decided: null };
    const other = await reopen();
    expect(await other.approval(approvalId)).toEqual(record);
    expect(await other.approvals(open)).toEqual([record]);
    expect(await other.approval(approvalIds.make('nobody'))).toBeNull();
    expect(await store.unfinishedRuns()).toMatchObject([{ phase: 'active', openApprovals: 1 }]);
  });

  test('E-600: approvals are listed newest first, by run, session, kind, status and principal, in pages', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const b = admissionOf('b', { principal: 'else' });
    await store.admit(b);
    const [one, question, unknown] = [
      pendingOf('1', a.runId),
      pendingOf('2', a.runId, { kind: 'question' }),
      pendingOf('3', a.runId, { kind: 'recovery', status: 'uncertain' }),
    ];
    await ask(store, a, one, question, unknown);
    await ask(store, b, pendingOf('4', b.runId));
    await write(store, a, [decisionDraft(question, 'answer')]);
    const calls = async (filter: Partial<ApprovalFilter>) =>
      (await store.approvals({ ...everything, ...filter })).map(({ pending }) => pending.call.id);
    expect(await calls({})).toEqual(['3', '2', '1']);
    expect(await calls({ status: 'open' })).toEqual(['3', '1']);
    expect(await calls({ status: 'answered' })).toEqual(['2']);
    expect(await calls({ status: 'uncertain' })).toEqual(['3']);
    expect(await calls({ kind: 'question' })).toEqual(['2']);
    expect(await calls({ runId: a.runId, sessionId: a.sessionId, kind: 'approval' })).toEqual(['1']);
    expect(await calls({ sessionId: b.sessionId })).toEqual([]);
    expect(await calls({ principal: 'else' })).toEqual(['4']);
    expect(await calls({ limit: 1 })).toEqual(['3']);
    expect(await calls({ after: unknown.approvalId, limit: 1 })).toEqual(['2']);
    expect(await calls({ after: one.approvalId })).toEqual([]);
  });

  test('E-606: open approvals are due after their time, oldest first; one without a limit never is', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const due = [9_000, 8_000, 7_000].map((expiresAtMs) => pendingOf(`${expiresAtMs}`, a.runId, { expiresAtMs }));
    await ask(store, a, pendingOf('never', a.runId), ...due);
    await write(
      store,
      a,
      due.slice(2).map((pending) => decisionDraft(pending, 'deny')),
    );
    const calls = async (nowMs: number) => (await store.dueApprovals(nowMs)).map(({ pending }) => pending.call.id);
    expect(await calls(8_000)).toEqual([]);
    expect(await calls(8_001)).toEqual(['8000']);
    expect(await calls(99_000)).toEqual(['8000', '9000']);
    // What a sub-agent asks is decided where it is asked again (E-612).
    const child = admissionOf('child', { parentRunId: a.runId });
    await store.admit(child);
    await ask(store, child, pendingOf('own', child.runId, { expiresAtMs: 1 }));
    expect(await calls(8_001)).toEqual(['8000']);
  });

  test('E-613: a decision is kept with who made it and when; the owner that writes one decides as well', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const [one, two] = [pendingOf('1', a.runId), pendingOf('2', a.runId)];
    await ask(store, a, one, two);
    await store.appendFact(deciding(a, one));
    await write(store, a, [decisionDraft(two, 'expired', 'engine'), decisionDraft(two, 'approve')]);
    expect(await store.approval(one.approvalId)).toMatchObject({
      pending: { status: 'approved' },
      decided: { decision: 'approve', by: 'owner', atMs: 3_000 },
    });
    expect(await store.approval(two.approvalId)).toMatchObject({
      pending: { status: 'expired' },
      decided: { decision: 'expired', by: 'engine' },
    });
    expect(await store.approvals(open)).toEqual([]);
  });

  test('E-612: what a sub-agent asks is of its own run, and again, with its path, of the run that it works for', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const child = admissionOf('child', { parentRunId: a.runId });
    await store.admit(child);
    expect(await store.run(child.runId)).toMatchObject({ parentRunId: a.runId });
    const pending = pendingOf('call', child.runId);
    await ask(store, child, pending);
    const above = { ...pendingOf('above', a.runId), agentPath: ['scout'] };
    await write(store, a, [requestDraft(above), parkDraft(a)]);
    const idsOf = async (runId?: RunId) =>
      (await store.approvals({ ...open, ...(runId === undefined ? {} : { runId }) })).map((each) => each.approvalId);
    expect(await idsOf(child.runId)).toEqual([pending.approvalId]);
    for (const runId of [a.runId, undefined]) expect(await idsOf(runId)).toEqual([above.approvalId]);
    expect(await store.unfinishedRuns()).toMatchObject([{ openApprovals: 1 }, { openApprovals: 1 }]);
    expect(await store.appendFact(deciding(a, pending))).toEqual({ outcome: 'ended' });
    expect(await store.appendFact(deciding(a, above))).toMatchObject({ outcome: 'stored' });
    expect(await store.unfinishedRuns()).toMatchObject([{ openApprovals: 0 }, { openApprovals: 1 }]);
    expect(await store.appendFact(deciding(child, pending))).toMatchObject({ outcome: 'stored' });
    expect(await store.unfinishedRuns()).toMatchObject([{ openApprovals: 0 }, { openApprovals: 0 }]);
  });

  test('E-609: rules are kept, listed newest first, and taken back', async () => {
    const { store, reopen } = await fresh();
    const one = ruleOf('one', { match: { pathPrefix: '/work' }, scope: 'agent', toolIdentity: 'hash' });
    const two = ruleOf('two', { createdAtMs: 2_000, effect: 'deny', match: 'exact-args' });
    const three = ruleOf('three', { createdAtMs: 1_500, sessionId: sessionIds.make('b') });
    for (const rule of [one, two, three, ruleOf('x', { principal: 'else' })]) await store.putRule(rule);
    const other = await reopen();
    expect(await other.rules({ principal: 'owner' })).toEqual([two, three, one]);
    expect(await other.rules({ principal: 'owner', sessionId: one.sessionId })).toEqual([two, one]);
    expect(await other.rule(one.ruleId)).toEqual(one);
    expect([await other.deleteRule(one.ruleId), await other.deleteRule(one.ruleId)]).toEqual([true, false]);
    expect(await store.rule(one.ruleId)).toBeNull();
    expect(await store.rule(ruleIds.make('nobody'))).toBeNull();
  });
}

function describeParks(fresh: Fresh): void {
  test('E-600: a run that waits has no owner and keeps its session; its owner before can write nothing', async () => {
    const { store, reopen } = await fresh();
    const { run } = await parked(store, 'a');
    const waiting = { status: 'running', phase: 'waiting', owner: null, generation: 1, lastSeq: 3, endedAtMs: null };
    expect(await (await reopen()).run(run.runId)).toMatchObject(waiting);
    expect(await store.session(run.sessionId)).toMatchObject({ runningRunId: run.runId });
    expect(await store.unfinishedRuns()).toMatchObject([{ phase: 'waiting', owner: null, openApprovals: 1 }]);
    expect(await store.append([entry(run, 3)], { durable: true })).toEqual([{ outcome: 'lease-lost' }]);
  });

  test('E-601: a run goes on from its park once, whoever comes first', async () => {
    const { store, reopen } = await fresh();
    const { run } = await parked(store, 'a');
    const other = await reopen();
    expect(await store.takeOver(run.runId, 'here', { phase: 'active' })).toBeNull();
    const taken = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        (index % 2 === 0 ? store : other).takeOver(run.runId, `${index}`, { phase: 'waiting' }),
      ),
    );
    expect(taken.filter((record) => record !== null)).toMatchObject([{ phase: 'active', generation: 2 }]);
    expect(await store.append([entry(run, 3, { generation: 2 })], { durable: true })).toMatchObject([
      { outcome: 'stored' },
    ]);
    expect((await readAll(store, run)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });

  test('E-812, E-819: a pause parks the run and is undone by who goes on; a cancel is never unsaid', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    expect(await store.requestPause(a.runId)).toMatchObject({ control: 'pause', phase: 'active', owner: 'here' });
    await write(store, a, [parkDraft(a, 'paused')]);
    expect(await store.run(a.runId)).toMatchObject({ control: 'pause', phase: 'paused', owner: null });
    expect(await store.takeOver(a.runId, 'there', { phase: 'paused' })).toMatchObject({
      control: 'none',
      phase: 'active',
    });
    await store.requestPause(a.runId);
    await store.requestCancel(a.runId);
    expect(await store.requestPause(a.runId)).toMatchObject({ control: 'cancel' });
    expect(await store.takeOver(a.runId, 'here')).toMatchObject({ control: 'cancel' });
    expect(await store.requestPause(runIds.make('nobody'))).toBeNull();
    await finish(store, a, await lastSeq(store, a), { generation: 3 });
    expect(await store.requestPause(a.runId)).toMatchObject({ status: 'completed' });
  });

  test('E-812: of a pause and a take-over that race neither is lost: who has not seen the flag does not take the run', async () => {
    const { store, reopen } = await fresh();
    const { run } = await parked(store, 'a');
    await (await reopen()).requestPause(run.runId);
    expect(await store.takeOver(run.runId, 'here', { phase: 'waiting', control: 'none' })).toBeNull();
    expect(await store.takeOver(run.runId, 'here', { phase: 'waiting', control: 'pause' })).toMatchObject({
      control: 'none',
      phase: 'active',
    });
  });

  test('E-817, E-819: a cancel, and the end of a run, stop all that works for it, and nobody begins to any more; a pause holds it', async () => {
    const { store } = await fresh();
    const tree = async (name: string) => {
      const top = await admitted(store, name);
      const child = admissionOf(`${name} child`, { parentRunId: top.runId });
      await store.admit(child);
      const deep = admissionOf(`${name} deep`, { parentRunId: child.runId });
      await store.admit(deep);
      return { top, child, deep };
    };
    const controls = async (...runs: readonly Admission[]) =>
      Promise.all(runs.map(async ({ runId }) => (await store.run(runId))?.control));
    const [cancelled, ended, other] = [await tree('a'), await tree('b'), await tree('c')];
    await store.requestCancel(cancelled.top.runId);
    expect(await controls(cancelled.top, cancelled.child, cancelled.deep)).toEqual(['cancel', 'cancel', 'cancel']);
    await finish(store, ended.top, 1);
    expect(await controls(ended.child, ended.deep)).toEqual(['cancel', 'none']);
    await finish(store, ended.child, 1, { status: 'cancelled' });
    expect(await controls(ended.deep, other.top, other.child, other.deep)).toEqual(['cancel', 'none', 'none', 'none']);
    await store.requestPause(other.top.runId);
    expect(await controls(other.top, other.child, other.deep)).toEqual(['pause', 'pause', 'pause']);
    await store.takeOver(other.top.runId, 'there');
    expect(await controls(other.top, other.child, other.deep)).toEqual(['none', 'none', 'none']);
    for (const { runId: parentRunId } of [cancelled.deep, ended.top, admissionOf('nobody')])
      expect(await store.admit(admissionOf('late', { parentRunId }))).toEqual({ outcome: 'parent-over' });
    expect(await store.admit(admissionOf('late', { parentRunId: other.deep.runId }))).toMatchObject({
      outcome: 'admitted',
    });
  });

  test('E-114: a sub-agent that stops or waits in the log of its parent parks nobody', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [{ ...parkDraft(a), agentPath: ['scout'] }]);
    expect(await store.run(a.runId)).toMatchObject({ phase: 'active', owner: 'here' });
  });

  test('E-607: what a run leaves open when it ends is closed as cancelled', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const pending = pendingOf('call', a.runId);
    await ask(store, a, pending);
    await finish(store, a, 2, { status: 'cancelled' });
    const cancelled = {
      pending: { status: 'cancelled' },
      decided: { decision: 'cancelled', by: 'engine', atMs: 5_000 },
    };
    expect(await store.approval(pending.approvalId)).toMatchObject(cancelled);
    const late = await store.appendFact(deciding(a, pending));
    expect(late).toMatchObject({ outcome: 'decided', approval: cancelled });
    expect(await lastSeq(store, a)).toBe(3);
  });
}

function describeFacts(fresh: Fresh): void {
  test('E-140, E-601: decision, approval and rule are one; a second decision changes nothing and is told of the first', async () => {
    const { store, reopen } = await fresh();
    const { run, pending } = await parked(store, 'a');
    const rule = ruleOf('one');
    const stored = await (await reopen()).appendFact({ ...deciding(run, pending), rule });
    expect(stored).toMatchObject({ outcome: 'stored', events: [{ seq: 4, type: 'approval-decided' }] });
    expect(await store.rule(rule.ruleId)).toEqual(rule);
    expect(await store.unfinishedRuns()).toMatchObject([{ phase: 'waiting', openApprovals: 0 }]);
    const second = await store.appendFact({ ...deciding(run, pending, 'deny'), rule: ruleOf('two') });
    expect(second).toEqual({ outcome: 'decided', approval: await store.approval(pending.approvalId) });
    expect(second).toMatchObject({ approval: { decided: { decision: 'approve', by: 'owner', atMs: 3_000 } } });
    expect(await store.rules({ principal: 'owner' })).toEqual([rule]);
    expect(await readAll(store, run, { after: 3 })).toEqual(stored.outcome === 'stored' ? stored.events : []);
  });

  test('E-801: a fact from outside stands behind what the owner wrote; the owner goes on behind it', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const fact = await (await reopen()).appendFact(steering(a, 'm'));
    expect(fact).toMatchObject({ outcome: 'stored', events: [{ seq: 2, type: 'user-message' }] });
    expect(await store.append([entry(a, 1)], { durable: true })).toEqual([{ outcome: 'wrong-position', lastSeq: 2 }]);
    expect(await store.append([entry(a, 2)], { durable: true })).toMatchObject([{ outcome: 'stored' }]);
    expect(await store.run(a.runId)).toMatchObject({ owner: 'here', generation: 1, lastSeq: 3 });
  });

  test('E-101, E-662, UR-33: a message is taken in once by its id, whoever wrote it first, also after the end', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [noteDraft('own')]);
    expect(await store.appendFact(steering(a, 'own'))).toEqual({ outcome: 'known' });
    expect(await store.appendFact(steering(a, 'm'))).toMatchObject({ outcome: 'stored' });
    expect(await store.appendFact(steering(a, 'm'))).toEqual({ outcome: 'known' });
    expect(await store.appendFact(steering(a, 'm', 'other'))).toEqual({ outcome: 'conflict' });
    const b = await admitted(store, 'b');
    expect(await store.appendFact(steering(b, 'm'))).toMatchObject({ outcome: 'stored' });
    await finish(store, a, 3);
    expect(await store.appendFact(steering(a, 'm'))).toEqual({ outcome: 'known' });
    expect(await store.appendFact(steering(a, 'late'))).toEqual({ outcome: 'ended' });
    expect(await lastSeq(store, a)).toBe(4);
  });

  test('E-665: while a run waits it takes messages in and goes on waiting', async () => {
    const { store } = await fresh();
    const { run } = await parked(store, 'a');
    for (const id of ['1', '2']) await store.appendFact(steering(run, id));
    expect(await store.run(run.runId)).toMatchObject({ phase: 'waiting', owner: null, lastSeq: 5 });
    await store.takeOver(run.runId, 'there', { phase: 'waiting' });
    await store.append([entry(run, 5, { generation: 2 })], { durable: true });
    expect((await readAll(store, run)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('a fact for an unknown run, or a decision of what nobody asked, is refused', async () => {
    const { store } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    await ask(store, a, pendingOf('call', a.runId));
    expect(await store.appendFact(steering(admissionOf('nobody'), 'm'))).toEqual({ outcome: 'ended' });
    expect(await store.appendFact(deciding(a, pendingOf('other', a.runId)))).toEqual({ outcome: 'ended' });
    expect(await store.appendFact(deciding(b, pendingOf('call', a.runId)))).toEqual({ outcome: 'ended' });
    expect([await lastSeq(store, a), await lastSeq(store, b)]).toEqual([2, 1]);
  });
}

function describeRaces(fresh: Fresh): void {
  test('E-602: of 50 decisions through two processes one wins, and the log holds it alone', async () => {
    const { store, reopen } = await fresh();
    const { run, pending } = await parked(store, 'a');
    const other = await reopen();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? other : store).appendFact(deciding(run, pending, index % 3 === 0 ? 'deny' : 'approve')),
      ),
    );
    expect(results.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
    const record = await store.approval(pending.approvalId);
    const losers = results.filter(({ outcome }) => outcome !== 'stored');
    expect(losers).toEqual(Array.from({ length: 49 }, () => ({ outcome: 'decided', approval: record })));
    expect((await readAll(store, run)).filter(({ type }) => type === 'approval-decided')).toHaveLength(1);
  });

  test('E-601: park and decision race: whichever is first, the run is left to be gone on with', async () => {
    const { store, reopen } = await fresh();
    const other = await reopen();
    for (const first of ['park', 'decision']) {
      const a = await admitted(store, first);
      const pending = pendingOf('call', a.runId);
      await ask(store, a, pending);
      const events = stampAll([parkDraft(a)], a.runId, a.sessionId);
      const park = async (after: number) => store.append([entry(a, after, { events })], { durable: true });
      const decide = async () => other.appendFact(deciding(a, pending));
      const decision = first === 'park' ? null : decide();
      const parking = park(2);
      await (decision ?? decide());
      const [result] = await parking;
      if (result?.outcome !== 'stored') {
        expect(result).toEqual({ outcome: 'wrong-position', lastSeq: 3 });
        await park(3);
      }
      const left = (await store.unfinishedRuns()).find(({ runId }) => runId === a.runId);
      expect(left).toMatchObject({ phase: 'waiting', owner: null, openApprovals: 0 });
      expect(await readAll(store, a)).toHaveLength(4);
    }
  });

  test('E-661: a fact and the end race: the fact is in the log before it, or was refused', async () => {
    const { store, reopen } = await fresh();
    const other = await reopen();
    for (let round = 0; round < 20; round++) {
      const a = await admitted(store, `${round}`);
      const end = async () => finish(store, a, 1);
      const steer = async () => other.appendFact(steering(a, 'm'));
      const [one, two] = await Promise.all(round % 2 === 0 ? [steer(), end()] : [end(), steer()]);
      const outcome = (one ?? two)?.outcome;
      const types = (await readAll(store, a)).map(({ type }) => type);
      expect(types).toEqual(['run-started', outcome === 'stored' ? 'user-message' : 'run-result']);
      expect(['stored', 'ended']).toContain(outcome);
    }
  });

  test('L3: what a refused entry says of people is not indexed', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await store.append([entry(a, 7)], { durable: true });
    expect(await store.appendFact(steering(a, 'note'))).toMatchObject({ outcome: 'stored' });
  });
}
