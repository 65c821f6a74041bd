import { expect, test } from 'vitest';
import { fileIds } from '../core/ids.ts';
import type { Fresh } from './store-contract.ts';
import { fileDraft, uploadOf } from './store-records.ts';
import { admissionOf, continuationOf, queuedOf, stampAll } from './store-samples.ts';
import { admitted, entry, finish, lastSeq, write } from './store-steps.ts';

/** Files by their ids: uploads, and what agents made. */
export function describeFiles(fresh: Fresh): void {
  test('UD-53: an artifact is known by its id as soon as its event is stored, and after a restart', async () => {
    const { store, reopen } = await fresh();
    const a = admissionOf('a', { principal: 'else' });
    await store.admit(a);
    await write(store, a, [fileDraft('one', 'out/é.txt')]);
    expect(await (await reopen()).file(fileIds.make('one'))).toEqual({
      fileId: 'file_one',
      principal: 'else',
      sessionId: a.sessionId,
      runId: a.runId,
      filename: 'out/é.txt',
      mediaType: null,
      bytes: 9,
      sha256: 'hash of one',
      createdAtMs: 1,
      removed: false,
    });
  });

  test('UD-53: a session lists the newest of each path in the order of paths, a run all that it made; older ones can be read', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [fileDraft('1', 'b'), fileDraft('2', 'a/z'), fileDraft('3', 'b', 'modify')]);
    await finish(store, a, await lastSeq(store, a));
    const b = continuationOf('b', a);
    await store.admit(b);
    await write(store, b, [fileDraft('4', 'a/z', 'modify'), fileDraft('5', 'B')]);
    const other = await admitted(store, 'other');
    await write(store, other, [fileDraft('6', 'a/z')]);
    const ids = (files: readonly { fileId: string }[]) => files.map(({ fileId }) => fileId);
    expect(ids(await store.filesOfSession(a.sessionId))).toEqual(['file_5', 'file_4', 'file_3']);
    expect(ids(await store.filesOfRun(a.runId))).toEqual(['file_1', 'file_2', 'file_3']);
    expect(ids(await store.filesOfRun(b.runId))).toEqual(['file_4', 'file_5']);
    expect(await store.file(fileIds.make('1'))).toMatchObject({ filename: 'b', removed: false });
  });

  test('UD-53: what the agent has removed stays listed as removed, until it makes it again', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [fileDraft('1', 'x'), fileDraft('2', 'y'), fileDraft('1', 'x', 'delete')]);
    const listed = async () =>
      (await store.filesOfSession(a.sessionId)).map(({ fileId, removed }) => [fileId, removed]);
    expect(await listed()).toEqual([
      ['file_1', true],
      ['file_2', false],
    ]);
    expect(await store.file(fileIds.make('1'))).toMatchObject({ removed: true, bytes: 1 });
    await write(store, a, [fileDraft('3', 'x')]);
    expect(await listed()).toEqual([
      ['file_3', false],
      ['file_2', false],
    ]);
  });

  test('L3: a refused entry indexes no file, nor does an event that names none', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const events = stampAll([fileDraft('1', 'x')], a.runId, a.sessionId);
    const refused = [entry(a, 7, { events }), entry(a, 1, { events, generation: 2 })];
    expect(await store.append(refused, { durable: true })).toMatchObject([
      { outcome: 'wrong-position' },
      { outcome: 'lease-lost' },
    ]);
    await write(store, a, [{ type: 'file-changed', step: 1, attempt: 0, data: { kind: 'create', path: 'x' } }]);
    expect([await store.file(fileIds.make('1')), await store.filesOfSession(a.sessionId)]).toEqual([null, []]);
  });

  test('an upload is of its principal and of no session; uploads that were made before are forgotten, artifacts never', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [fileDraft('made', 'x')]);
    const [old, young] = [uploadOf('old'), uploadOf('young', { createdAtMs: 2_000, mediaType: null })];
    for (const upload of [old, young]) await store.putUpload(upload);
    const other = await reopen();
    expect([await other.file(old.fileId), await other.file(young.fileId)]).toEqual([old, young]);
    expect(await store.expireUploads(1_000)).toEqual([]);
    expect(await store.expireUploads(2_000)).toEqual([old]);
    expect(await store.expireUploads(2_000)).toEqual([]);
    expect([await other.file(old.fileId), await other.file(young.fileId)]).toEqual([null, young]);
    expect(await store.filesOfSession(a.sessionId)).toHaveLength(1);
  });

  test('UD-62: an upload that a task was given is kept until it has ended, one that waits for its session included', async () => {
    const { store, reopen } = await fresh();
    const [first, next, taken] = [uploadOf('first'), uploadOf('next'), uploadOf('taken back')];
    for (const upload of [first, next, taken]) await store.putUpload(upload);
    const a = admissionOf('a', { uploads: [first.fileId] });
    await store.admit(a);
    await store.enqueue({ ...queuedOf('1', a.sessionId), uploads: [next.fileId] }, 9);
    await store.enqueue({ ...queuedOf('2', a.sessionId), uploads: [taken.fileId] }, 9);
    const other = await reopen();
    const expired = async () => (await other.expireUploads(9_000)).map(({ fileId }) => fileId);
    expect(await expired()).toEqual([]);
    await store.unqueue(a.sessionId, '2');
    expect(await expired()).toEqual([taken.fileId]);
    await finish(store, a, 1);
    expect(await expired()).toEqual([first.fileId]);
    const b = { ...continuationOf('b', a), queued: { messageId: '1' }, uploads: [next.fileId] };
    expect(await store.admit(b)).toMatchObject({ outcome: 'admitted' });
    expect(await expired()).toEqual([]);
    await finish(store, b, 1);
    expect(await expired()).toEqual([next.fileId]);
  });

  test('UD-61: the files of an expired session are gone, its responses are not', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await write(store, a, [fileDraft('1', 'x')]);
    await finish(store, a, await lastSeq(store, a));
    await store.expireSessions({ updatedBeforeMs: 9_000, nowMs: 9_000 });
    const { fileId } = uploadOf('1');
    expect([
      await store.file(fileId),
      await store.filesOfSession(a.sessionId),
      await store.filesOfRun(a.runId),
    ]).toEqual([null, [], []]);
    expect(await store.run(a.runId)).toMatchObject({ deleted: false, response: { output: 'done' } });
  });
}
