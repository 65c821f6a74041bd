import { expect, test } from 'vitest';
import { StorageError } from '../core/errors.ts';
import { approvalIds, fileIds, harnessIds, sessionIds, type SessionId } from '../core/ids.ts';
import type { SessionHistory } from '../stores/session-store.ts';
import type { SessionRecord, Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import type { Fresh } from './store-contract.ts';
import { fileDraft, shareOf } from './store-records.ts';
import { admissionOf, continuationOf, noteDraft, pendingOf, queuedOf, requestDraft, ruleOf } from './store-samples.ts';
import { admitted, finish, lastSeq, readAll, write } from './store-steps.ts';

/** Sessions as their principal manages them: lists, forks, deletion, shares. */
export function describeSessions(fresh: Fresh): void {
  describeLists(fresh);
  describeForks(fresh);
  describeDeletion(fresh);
  describeTitles(fresh);
  describeShares(fresh);
}

const idsOf = (sessions: readonly SessionRecord[]) => sessions.map(({ sessionId }) => sessionId);
const newest = { principal: 'owner', limit: 99 };

async function done(store: Store, name: string, change: Partial<Admission> = {}): Promise<Admission> {
  const admission = admissionOf(name, change);
  expect(await store.admit(admission)).toMatchObject({ outcome: 'admitted' });
  await finish(store, admission, 1);
  return admission;
}

function describeLists(fresh: Fresh): void {
  test('UD-51: sessions are listed newest first, ties by id, by principal and harness', async () => {
    const { store, reopen } = await fresh();
    const other = harnessIds.make('other');
    await store.admit(admissionOf('b', { atMs: 2_000 }));
    await store.admit(admissionOf('a', { atMs: 2_000 }));
    await store.admit(admissionOf('c', { atMs: 3_000, harnessId: other }));
    await store.admit(admissionOf('x', { atMs: 9_000, principal: 'else' }));
    const list = async (filter: Partial<Parameters<Store['sessions']>[0]>) =>
      idsOf(await (await reopen()).sessions({ ...newest, ...filter }));
    expect(await list({})).toEqual(['hsessc', 'hsessa', 'hsessb']);
    expect(await list({ harnessId: other })).toEqual(['hsessc']);
    expect(await list({ harnessId: harnessIds.make('nobody') })).toEqual([]);
    expect(await list({ limit: 1 })).toEqual(['hsessc']);
    const after = { updatedAtMs: 2_000, sessionId: sessionIds.make('a') };
    expect(await list({ after })).toEqual(['hsessb']);
    expect(await list({ principal: 'else' })).toEqual(['hsessx']);
  });

  test('E-905, UD-61: no list shows a session that is expired, or deleted, or of a run that works for another one', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await store.admit(admissionOf('s', { parentRunId: a.runId }));
    await done(store, 'expired');
    await store.expireSessions({ updatedBeforeMs: 5_001, nowMs: 9_000 });
    const gone = await done(store, 'gone');
    await store.deleteSession(gone.sessionId);
    expect(idsOf(await store.sessions(newest))).toEqual([a.sessionId]);
  });

  const changes = ['touch', 'delete', 'new'] as const;
  test.each([0, 1, 2, 3, 4, 5].flatMap((offset) => [1, 5, 7].map((stride) => ({ offset, stride }))))(
    'UT-32: a walk while sessions change neither loops nor repeats, and shows all that stay as they were ($offset, $stride)',
    async ({ offset, stride }) => {
      const { store } = await fresh();
      const runs: Admission[] = [];
      for (let index = 0; index < 12; index++) runs.push(await done(store, String(10 + index)));
      const before = idsOf(await store.sessions(newest));
      const changed = new Set<SessionId>();
      const walked: SessionId[] = [];
      let pages = 0;
      for (let page = await store.sessions({ ...newest, limit: 3 }); page.length > 0 && pages < 20; pages++) {
        walked.push(...idsOf(page));
        const run = runs[(offset + pages * stride) % 12];
        if (run !== undefined && pages < 4) {
          const kind = changes[(offset + pages) % 3];
          const atMs = 9_000 + pages;
          if (kind === 'new') await store.admit(admissionOf(`new${pages}`, { atMs }));
          else changed.add(run.sessionId);
          if (kind === 'delete') await store.deleteSession(run.sessionId);
          if (kind === 'touch') await store.admit({ ...continuationOf(`more${pages}`, run), atMs });
        }
        const after = page.at(-1);
        page = after === undefined ? [] : await store.sessions({ ...newest, after, limit: 3 });
      }
      expect(new Set(walked).size).toBe(walked.length);
      const still = before.filter((id) => !changed.has(id));
      expect(walked.filter((id) => still.includes(id))).toEqual(still);
    },
  );

  test('UD-08: the responses of a session that can be read are listed oldest first', async () => {
    const { store } = await fresh();
    const a = await done(store, 'a');
    const b = { ...continuationOf('b', a), store: false };
    await store.admit(b);
    expect(await store.responsesOfSession(a.sessionId)).toEqual([a.runId, b.runId]);
    await finish(store, b, 1);
    const c = continuationOf('c', { ...a, runId: b.runId });
    await store.admit(c);
    expect(await store.responsesOfSession(a.sessionId)).toEqual([a.runId, c.runId]);
    const page = (after: number, limit: number) => store.responsesOfSession(a.sessionId, { after, limit });
    expect([await page(0, 1), await page(1, 1), await page(3, 9)]).toEqual([[a.runId], [c.runId], []]);
    await store.deleteResponse(a.runId);
    expect(await store.responsesOfSession(a.sessionId)).toEqual([c.runId]);
    expect(await store.responsesOfSession(sessionIds.make('nobody'))).toEqual([]);
  });
}

function describeForks(fresh: Fresh): void {
  const history: SessionHistory = {
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'é "hello"' }] },
      { role: 'assistant', parts: [{ kind: 'text', text: 'Hi.' }] },
    ],
    todos: [{ content: 'Wait.', status: 'pending' }],
  };

  test('UD-28: a fork keeps the conversation it began with and the contents of it, whatever becomes of its source', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const kept = await store.putContent(a.runId, Buffer.from('kept'));
    const lost = await store.putContent(a.runId, Buffer.from('lost'));
    await finish(store, a, 1);
    const fork = { from: a.runId, history, contents: [kept.ref, 'sha256:of nothing'] };
    const b = admissionOf('b', { newSession: { title: 'b', fork } });
    expect(await store.admit(b)).toMatchObject({ outcome: 'admitted' });
    await store.deleteSession(a.sessionId);
    const other = await reopen();
    expect(await other.forkHistory(b.sessionId)).toEqual(history);
    expect(await other.session(b.sessionId)).toMatchObject({ forkedFrom: a.runId });
    expect([await other.content(kept.ref), await other.content(lost.ref)]).toEqual([
      new Uint8Array(Buffer.from('kept')),
      null,
    ]);
    await finish(store, b, 1);
    await store.deleteSession(b.sessionId);
    expect([await other.content(kept.ref), await other.forkHistory(b.sessionId)]).toEqual([null, null]);
  });

  test('UD-28: what is deleted or has expired, or is not there, is forked no more; nothing is made', async () => {
    const { store } = await fresh();
    const [gone, idle, hidden] = [await done(store, 'gone'), await done(store, 'idle'), await done(store, 'hidden')];
    await store.deleteSession(gone.sessionId);
    await store.deleteResponse(hidden.runId);
    const nobody = admissionOf('nobody');
    const forkOf = ({ runId }: Admission) =>
      admissionOf('f', { newSession: { title: 'f', fork: { from: runId, history, contents: [] } } });
    for (const source of [gone, hidden, nobody])
      expect(await store.admit(forkOf(source))).toEqual({ outcome: 'no-session' });
    await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await store.admit(forkOf(idle))).toEqual({ outcome: 'expired' });
    expect(await store.session(forkOf(idle).sessionId)).toBeNull();
  });

  test('a session that was not forked has no such conversation', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    expect(await store.session(a.sessionId)).toMatchObject({ forkedFrom: null });
    expect(await store.forkHistory(a.sessionId)).toBeNull();
    expect(await store.forkHistory(sessionIds.make('nobody'))).toBeNull();
  });
}

/** A session with one of everything, whose run has ended; and a run that worked for it. */
async function full(store: Store, name: string): Promise<{ readonly run: Admission; readonly child: Admission }> {
  const run = admissionOf(name, { idempotency: { key: name, bodyHash: 'h' } });
  await store.admit(run);
  const { runId, sessionId } = run;
  const child = admissionOf(`${name}s`, { parentRunId: runId });
  await store.admit(child);
  for (const each of [run, child]) {
    await store.putContent(each.runId, Buffer.from(each.runId));
    await write(store, each, [requestDraft(pendingOf('1', each.runId)), fileDraft(each.runId, 'x'), noteDraft('m')]);
  }
  await store.putRule(ruleOf(name, { sessionId, runId }));
  await finish(store, child, await lastSeq(store, child));
  await finish(store, run, await lastSeq(store, run));
  await store.enqueue(queuedOf('next', sessionId), 9);
  await store.putShare(shareOf(name, sessionId));
  return { run, child };
}

/** What can be read of it. */
async function remains(store: Store, name: string, { runId, sessionId }: Admission) {
  const queue = await store.queue(sessionId);
  return {
    session: (await store.session(sessionId)) !== null,
    readable: (await store.run(runId))?.deleted === false,
    response: ((await store.run(runId))?.response ?? null) !== null,
    tip: await store.tip(sessionId),
    responses: await store.responsesOfSession(sessionId),
    events: (await readAll(store, { ...admissionOf('x'), runId })).length,
    approvals: (await store.approvals({ principal: 'owner', status: 'all', runId, limit: 9 })).length,
    approval: await store.approval(approvalIds.make(`${runId}1`)),
    rules: (await store.rules({ principal: 'owner', sessionId })).length,
    queued: queue.tasks.length,
    files: [...(await store.filesOfSession(sessionId)), ...(await store.filesOfRun(runId))].length,
    file: await store.file(fileIds.make(runId)),
    shares: [await store.share(sessionId), await store.shareBySecret(`secret of ${name}`)],
  };
}

const nothing = {
  session: false,
  readable: false,
  response: false,
  tip: null,
  responses: [],
  events: 0,
  approvals: 0,
  approval: null,
  rules: 0,
  queued: 0,
  files: 0,
  file: null,
  shares: [null, null],
};

function describeDeletion(fresh: Fresh): void {
  test('U-370: of a deleted session, and of what worked for it, nothing can be read; others have lost nothing', async () => {
    const { store, reopen } = await fresh();
    const { run, child } = await full(store, 'a');
    const other = await full(store, 'b');
    const before = await remains(store, 'b', other.run);
    const { ref } = await store.putContent(run.runId, Buffer.from(run.runId));
    expect(await store.deleteSession(run.sessionId)).toBe(true);
    const again = await reopen();
    expect(await remains(again, 'a', run)).toEqual(nothing);
    expect(await remains(again, 'as', child)).toEqual(nothing);
    expect(await again.content(ref)).toBeNull();
    expect(await remains(again, 'b', other.run)).toEqual(before);
    expect(await again.runIdsOfSession(run.sessionId)).toEqual([{ runId: run.runId, turn: 1 }]);
    expect(idsOf(await again.sessions(newest))).toEqual([other.run.sessionId]);
  });

  test('a session is deleted once; one that is not there is not', async () => {
    const { store } = await fresh();
    const a = await done(store, 'a');
    const deleted = await Promise.all([store.deleteSession(a.sessionId), store.deleteSession(a.sessionId)]);
    expect(deleted.filter(Boolean)).toEqual([true]);
    expect(await store.deleteSession(sessionIds.make('nobody'))).toBe(false);
  });

  test('a session with a task at work, or one that works for it, is not deleted, and keeps all', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const s = admissionOf('s', { parentRunId: a.runId });
    const t = admissionOf('t', { parentRunId: s.runId });
    for (const admission of [s, t]) await store.admit(admission);
    const before = await remains(store, 'a', a);
    for (const admission of [a, s, t]) {
      await expect(store.deleteSession(a.sessionId)).rejects.toThrow(StorageError);
      await finish(store, admission, 1);
    }
    expect(await remains(store, 'a', a)).toMatchObject({ session: before.session, readable: true, events: 2 });
    expect(await store.deleteSession(a.sessionId)).toBe(true);
    for (const { runId } of [a, s, t]) expect(await store.run(runId)).toMatchObject({ deleted: true });
    const family = await store.familyOf(a.sessionId);
    expect(family).toEqual([a, s, t].map(({ runId, sessionId }) => ({ runId, sessionId, status: 'completed' })));
  });

  test('UD-61: a deleted session is not continued, made anew, started from its queue, or expired', async () => {
    const { store } = await fresh();
    const a = await done(store, 'a');
    await store.deleteSession(a.sessionId);
    expect(await store.admit(continuationOf('b', a))).toEqual({ outcome: 'no-session' });
    expect(await store.admit(admissionOf('c', { sessionId: a.sessionId }))).toEqual({ outcome: 'no-session' });
    expect(await store.enqueue(queuedOf('late', a.sessionId), 9)).toEqual({ outcome: 'no-session' });
    const b = await done(store, 'b');
    await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await store.enqueue(queuedOf('late', b.sessionId), 9)).toEqual({ outcome: 'no-session' });
    expect(await store.startableTasks()).toEqual([]);
    expect(await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 })).toEqual([]);
  });

  test('UD-08, UD-14: the key of a deleted task answers for it as long as any; a prune that forgets it finds nothing else', async () => {
    const { store } = await fresh();
    const { run } = await full(store, 'a');
    await store.deleteSession(run.sessionId);
    const again = admissionOf('again', { idempotency: { key: 'a', bodyHash: 'h' } });
    expect(await store.admit(again)).toEqual({ outcome: 'replayed', runId: run.runId, sameBody: true });
    expect(await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 })).toEqual({ keys: 1, runs: 2 });
    expect(await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 })).toEqual({ keys: 0, runs: 0 });
    expect(await store.idempotency('owner', 'a')).toBeNull();
    expect(await remains(store, 'a', run)).toEqual(nothing);
  });

  test('U-370, E-845: a session that was pruned before goes like any other', async () => {
    const { store } = await fresh();
    const { run } = await full(store, 'a');
    await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
    await store.deleteSession(run.sessionId);
    await store.prune({ endedBeforeMs: 9_000, nowMs: 9_000 });
    expect(await remains(store, 'a', run)).toEqual(nothing);
  });
}

function describeTitles(fresh: Fresh): void {
  test('a person’s own title stands, moves no session in the list, and is none of one that is gone', async () => {
    const { store } = await fresh();
    const a = await done(store, 'a');
    const before = await store.session(a.sessionId);
    expect(await store.renameSession(a.sessionId, 'Mine 🙂')).toBe(true);
    expect(await store.session(a.sessionId)).toEqual({ ...before, title: 'Mine 🙂' });
    expect(await store.renameSession(sessionIds.make('nobody'), 'x')).toBe(false);
    await store.deleteSession(a.sessionId);
    expect(await store.renameSession(a.sessionId, 'x')).toBe(false);
  });
}

function describeShares(fresh: Fresh): void {
  test('U-380: however many publish a session at once, it has one link', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    const stores = [store, await reopen()];
    const shares = await Promise.all(
      Array.from({ length: 10 }, async (_, index) =>
        (stores[index % 2] ?? store).putShare(shareOf(`${index}`, a.sessionId)),
      ),
    );
    expect(shares).not.toContain(null);
    expect(new Set(shares.map((share) => share?.secret)).size).toBe(1);
    expect(await store.share(a.sessionId)).toEqual(shares[0]);
    expect(await store.shareBySecret(shares[0]?.secret ?? '')).toEqual(shares[0]);
    expect(await store.shareBySecret('')).toBeNull();
  });

  test('U-384: what was revoked stays dead when the session is published again', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const [first, second] = [shareOf('1', a.sessionId), shareOf('2', a.sessionId)];
    expect(await store.revokeShare(a.sessionId)).toBe(false);
    await store.putShare(first);
    expect([await store.revokeShare(a.sessionId), await store.revokeShare(a.sessionId)]).toEqual([true, false]);
    expect([await store.share(a.sessionId), await store.shareBySecret(first.secret)]).toEqual([null, null]);
    expect(await store.putShare(second)).toEqual(second);
    expect(await store.shareBySecret(first.secret)).toBeNull();
  });

  test('U-384, UD-61: a session that expires or is deleted takes its link along, and gets none afterwards', async () => {
    const { store } = await fresh();
    const [a, b] = [await done(store, 'a'), await done(store, 'b')];
    for (const { sessionId } of [a, b]) await store.putShare(shareOf(sessionId, sessionId));
    await store.deleteSession(a.sessionId);
    await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 });
    for (const { sessionId } of [a, b]) {
      await store.putShare(shareOf('late', sessionId));
      for (const name of [sessionId, 'late']) expect(await store.shareBySecret(`secret of ${name}`)).toBeNull();
      expect(await store.share(sessionId)).toBeNull();
    }
  });
}
