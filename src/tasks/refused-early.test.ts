// What a principal may use is judged before anything is done for it, and again where many ask at once (UD-67, UR-53).

import { expect, onTestFinished, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { composeLocal } from '../compose.ts';
import { createUploads } from '../files/uploads.ts';
import { createWorkspaces } from '../files/workspaces.ts';
import { expireTasks } from './expire-tasks.ts';
import { loadConfig } from '../config.ts';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { plainTask, type TaskBody } from './task-body.ts';
import { queueTask } from './queue-task.ts';
import { receiveFile, uploadFile } from './upload-file.ts';
import { steerTask } from './steer-task.ts';
import { tmpdir } from 'node:os';
import type { InputPart } from '../core/input-file.ts';
import type { PrincipalLimits } from './principal-limits.ts';
import type { Services } from './services.ts';

const [principal, idempotency] = ['owner', null];
const text = (said: string): InputPart => ({ type: 'text', text: said });
const given = (bytes: number): InputPart => ({
  type: 'given-file',
  filename: 'a.bin',
  mediaType: 'application/octet-stream',
  bytes: new Uint8Array(bytes),
  param: 'input[0].content[1]',
});
const bodyOf = (...content: readonly InputPart[]): TaskBody => ({ ...plainTask, messages: [{ content }] });
const ok = text('Reply with exactly: ok');
const slow = text('Count slowly from 1 to 200.');
const fileOf = (bytes: number) => ({
  filename: 'a.bin',
  mediaType: null,
  bytes: (async function* () {
    yield new Uint8Array(bytes);
  })(),
});

async function open(limits: Partial<PrincipalLimits> = {}, settings: Partial<Services['settings']> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'reins-early-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  onTestFinished(async () => local[Symbol.asyncDispose]());
  await local.harness();
  const none = { tasksPerMinute: null, runningTasks: null, tokensPerDay: null, dollarsPerDay: null };
  const principalLimits = { ...none, uploadBytesPerDay: null, ...limits, principals: {} };
  const services: Services = {
    ...local.services,
    workspaces: createWorkspaces({ dataDir }),
    uploads: createUploads(dataDir),
    settings: { ...local.services.settings, principalLimits, ...settings },
  };
  const day = new Date().toISOString().slice(0, 10);
  return {
    services,
    charged: async () => (await services.store.spending(principal, day)).uploadBytes,
    on: (folder: 'uploads' | 'workspaces') => readdirSync(join(dataDir, folder)),
    accept: (body: TaskBody) => acceptTask(services, { principal, idempotency, body }),
  };
}

const exhausted = { status: 429, code: 'quota_exhausted' };

test('UR-53: of uploads that come at once no more are kept than have room, and the others leave nothing', async () => {
  const { services, charged, on } = await open({ uploadBytesPerDay: 10 });
  const received = await Promise.all([6, 6, 6].map((bytes) => receiveFile(services, principal, fileOf(bytes))));
  const kept = await Promise.allSettled(received.map((file) => file.keep()));
  expect(kept.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
  for (const each of kept) if (each.status === 'rejected') expect(each.reason).toMatchObject(exhausted);
  expect([await charged(), on('uploads').length]).toEqual([6, 1]);
});

test('UR-53: files that come inline are charged as uploads: to a task, to one that waits, and to one at work', async () => {
  const { services, accept, charged, on } = await open({ uploadBytesPerDay: 10 });
  const { runId, sessionId } = await accept(bodyOf(slow, given(4)));
  expect(await charged()).toBe(4);
  const follow = (bytes: number) => {
    const body = { ...bodyOf(ok, given(bytes)), previousResponseId: runId };
    return queueTask(services, principal, { sessionId, body, bodyHash: `h${bytes}`, messageId: null });
  };
  await expect(follow(7)).rejects.toMatchObject(exhausted);
  await follow(3);
  expect([await charged(), on('uploads').length]).toEqual([7, 1]);
  const steer = (bytes: number, messageId: string) =>
    steerTask(services, principal, { responseId: runId, message: { content: [given(bytes)], messageId } });
  await expect(steer(4, 'm')).rejects.toMatchObject(exhausted);
  await steer(2, 'm');
  // Said again it is known, and costs nothing.
  await services.store.spend(principal, new Date().toISOString().slice(0, 10), { uploadBytes: -2 });
  await steer(2, 'm');
  expect(await charged()).toBe(7);
  await expect(accept(bodyOf(ok, given(4)))).rejects.toMatchObject(exhausted);
  expect([await charged(), on('workspaces')]).toEqual([7, [sessionId]]);
});

test('UR-53: what is refused after all gives back what it was charged', async () => {
  const { services, accept, charged, on } = await open();
  const failing: Services = {
    ...services,
    log: { ...services.log, admit: () => Promise.reject(new Error('no disk')) },
  };
  const body = bodyOf(ok, given(4));
  await expect(acceptTask(failing, { principal, idempotency, body })).rejects.toThrow('no disk');
  expect([await charged(), on('workspaces')]).toEqual([0, []]);
  await accept(body);
  expect(await charged()).toBe(4);
});

test.each([
  ['tasks at work', { runningTasks: 0 }, {}, 429],
  ['tasks a minute', { tasksPerMinute: 0 }, {}, 429],
  ['tokens a day', { tokensPerDay: 0 }, {}, 429],
  ['uploaded bytes a day', { uploadBytesPerDay: 3 }, {}, 429],
  ['places', {}, { take: () => null }, 503],
])('UD-67: %s: who has no room has no folder made and no byte stored', async (_, limits, slots, status) => {
  const { services, on } = await open(limits);
  const stored: number[] = [];
  const raced: Services = {
    ...services,
    runs: { ...services.runs, slots: { ...services.runs.slots, ...slots } },
    store: {
      ...services.store,
      async putContent(runId, bytes) {
        stored.push(bytes.length);
        return services.store.putContent(runId, bytes);
      },
    },
  };
  const body = bodyOf(ok, given(4));
  await expect(acceptTask(raced, { principal, idempotency, body })).rejects.toMatchObject({ status });
  expect([stored, on('workspaces')]).toEqual([[], []]);
  // An unknown file is the task's own fault, whatever else is.
  const unknown = bodyOf({ type: 'named-file', fileId: 'file_none', filename: null, param: 'p' });
  await expect(acceptTask(raced, { principal, idempotency, body: unknown })).rejects.toMatchObject({ status: 404 });
});

test('UD-13: who is refused for the very task that it repeats is answered with that one', async () => {
  const { services } = await open({ runningTasks: 1 });
  const request = { principal, idempotency: { key: 'k', bodyHash: 'h' }, body: bodyOf(slow) };
  const answers = await Promise.all(Array.from({ length: 5 }, () => acceptTask(services, request)));
  expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
});

test('UD-62: an upload is held for the task that was given it, while that waits and works, and not for longer', async () => {
  const { services, accept } = await open({}, { uploadRetentionSeconds: -1 });
  const { store } = services;
  const upload = () => uploadFile(services, principal, fileOf(70_000));
  const named = (fileId: string): InputPart => ({ type: 'named-file', fileId, filename: null, param: 'p' });
  const [first, next, other] = [await upload(), await upload(), await upload()];
  const { runId, sessionId } = await accept(bodyOf(slow, named(first.fileId)));
  const body = { ...bodyOf(slow, named(next.fileId)), previousResponseId: runId };
  const entry = await queueTask(services, principal, { sessionId, body, bodyHash: 'h', messageId: 'm' });
  expect(entry.status).toBe('queued');
  const left = async () => {
    await expireTasks(services);
    const records = await Promise.all([first, next, other].map(({ fileId }) => store.file(fileId)));
    return records.map((record) => record !== null);
  };
  expect(await left()).toEqual([true, true, false]);
  services.runs.stop(runId, 'cancel');
  await services.runs.ended(runId);
  expect(await left()).toEqual([false, true, false]);
  await store.unqueue(sessionId, 'm');
  expect(await left()).toEqual([false, false, false]);
});
