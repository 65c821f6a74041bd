import { expect, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { composeLocal } from '../compose.ts';
import { deleteSession } from './delete-session.ts';
import { findSession } from './find-in-scope.ts';
import { loadConfig } from '../config.ts';
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
