import { expect, onTestFinished, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { admissionOf } from '../testing/store-samples.ts';
import { admitted, finish } from '../testing/store-steps.ts';
import { composeLocal } from '../compose.ts';
import { createSessionFiles } from '../files/session-files.ts';
import { createWorkspaces } from '../files/workspaces.ts';
import { deleteSession } from './delete-session.ts';
import { findSession } from './find-in-scope.ts';
import { join } from 'node:path';
import { loadConfig } from '../config.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { NotFoundError } from '../core/errors.ts';
import { plainTask, type TaskBody } from './task-body.ts';
import { tmpdir } from 'node:os';
import type { Services } from './services.ts';

const bodyOf = (text: string): TaskBody => ({ ...plainTask, messages: [{ content: [{ type: 'text', text }] }] });

test('U-370: a task that begins while its session is being deleted is stopped like any other', async () => {
  await using local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  await local.harness();
  const { services } = local;
  const [principal, idempotency] = ['owner', null];
  const first = await acceptTask(services, { principal, idempotency, body: bodyOf('Reply with exactly: ok') });
  await services.runs.ended(first.runId);
  const begun: string[] = [];
  const raced: Services = {
    ...services,
    store: {
      ...services.store,
      async deleteSession(sessionId) {
        if (begun.length === 0) {
          const body = { ...bodyOf('Count slowly from 1 to 200.'), previousResponseId: first.runId };
          begun.push((await acceptTask(services, { principal, idempotency, body })).runId);
        }
        return services.store.deleteSession(sessionId);
      },
    },
  };
  await deleteSession(raced, principal, first.sessionId);
  expect(begun).toHaveLength(1);
  await expect(findSession(services, principal, first.sessionId)).rejects.toBeInstanceOf(NotFoundError);
});

test('U-370, E-905: what still works for a task that is over is stopped first, and its files go at once', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'reins-delete-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  await using local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  const workspaces = createWorkspaces({ dataDir });
  const files = createSessionFiles({ dataDir, workspaces, maxBytes: 100, maxFiles: 9 });
  const services: Services = { ...local.services, workspaces, files };
  const { store } = services;
  const parent = await admitted(store, 'parent');
  const child = admissionOf('child', { parentRunId: parent.runId });
  const grandchild = admissionOf('grandchild', { parentRunId: child.runId });
  for (const each of [child, grandchild]) await store.admit(each);
  for (const { runId, sessionId } of [parent, child, grandchild]) await files.begin({ runId, sessionId });
  await finish(store, parent, 1);
  await deleteSession(services, 'owner', parent.sessionId);
  for (const { runId } of [child, grandchild])
    expect(await store.run(runId)).toMatchObject({ status: 'cancelled', deleted: true });
  expect([await workspaces.list(), await files.list()]).toEqual([[], []]);
});
