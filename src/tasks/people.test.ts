// What people say, and what waits, beside a task's own work: the cases that no single request over HTTP can bring about.

import { afterEach, expect, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { plainTask, type TaskBody } from './task-body.ts';
import { admitted, write } from '../testing/store-steps.ts';
import { admissionOf, pendingOf, queuedOf, requestDraft, resultDraft } from '../testing/store-samples.ts';
import { approvalIds } from '../core/ids.ts';
import { composeLocal, type Local } from '../compose.ts';
import { decideApproval } from './decide-approval.ts';
import { listApprovals, readApproval } from './read-approvals.ts';
import { loadConfig } from '../config.ts';
import { NotFoundError } from '../core/errors.ts';
import { queueTask, readQueue, resumeQueue } from './queue-task.ts';
import { startQueued } from './start-queued.ts';
import { steerTask } from './steer-task.ts';
import { tmpdir } from 'node:os';
import type { Services } from './services.ts';

const opened: Local[] = [];
afterEach(async () => {
  for (const local of opened.splice(0)) await local[Symbol.asyncDispose]();
});

async function open(): Promise<Services> {
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  opened.push(local);
  await local.harness();
  return local.services;
}

const verdict = { verb: 'decide', decision: 'approve', argsDigest: null, note: null, remember: null } as const;
const everything = { status: 'all', limit: 9, session: null, response: null, cursor: null } as const;

test('E-612: a sub-agent’s request is the task’s own to show and to decide; the sub-agent’s own is nobody’s', async () => {
  const services = await open();
  const { store } = services;
  const task = await admitted(store, 'task');
  const child = admissionOf('child', { parentRunId: task.runId });
  await store.admit(child);
  const own = pendingOf('c', child.runId);
  const asked = { ...own, approvalId: approvalIds.make('in-parent'), agentPath: ['helper'] };
  await write(store, child, [requestDraft(own), resultDraft(child.runId, child.sessionId, 'awaiting-input')]);
  await write(store, task, [requestDraft(asked), resultDraft(task.runId, task.sessionId, 'awaiting-input')]);
  const place = { response_id: task.runId, session_id: task.sessionId };
  const shown = { ...place, id: asked.approvalId, agent_path: ['helper'], call_id: own.call.id };
  for (const response of [null, task.runId])
    expect(await listApprovals(services, 'owner', { ...everything, response })).toMatchObject({ approvals: [shown] });
  const decided = await decideApproval(services, 'owner', { approvalId: asked.approvalId, verdict });
  expect(decided).toMatchObject({ ...shown, status: 'approved' });
  const events = await store.readEvents(task.runId, { after: 0, limit: 9 });
  expect(events[3]).toMatchObject({ type: 'approval-decided', leg: 1, data: { decision: 'approve', by: 'owner' } });
  await expect(readApproval(services, 'owner', own.approvalId)).rejects.toBeInstanceOf(NotFoundError);
  // It is the task that goes on.
  expect(await store.run(task.runId)).toMatchObject({ phase: 'active', owner: services.owner });
  expect(await store.run(child.runId)).toMatchObject({ phase: 'waiting' });
  await services.runs.ended(task.runId);
});

test('UR-31: what the end of its run left open cannot be decided, and says so', async () => {
  const services = await open();
  const { store } = services;
  const task = await admitted(store, 'task');
  const pending = pendingOf('c', task.runId);
  await write(store, task, [requestDraft(pending)]);
  const end = { status: 'failed', response: null, atMs: 5 } as const;
  const [result] = await store.append([{ runId: task.runId, generation: 1, after: 2, events: [], end }], {
    durable: true,
  });
  expect(result?.outcome).toBe('stored');
  const answer = decideApproval(services, 'owner', { approvalId: pending.approvalId, verdict });
  await expect(answer).rejects.toMatchObject({
    code: 'reins_approval_closed',
    detail: { approval: { status: 'cancelled' } },
  });
  expect(await readApproval(services, 'owner', pending.approvalId)).toMatchObject({ status: 'cancelled' });
});

const body: TaskBody = { ...plainTask, messages: [{ content: [{ type: 'text', text: 'Reply with exactly: ok' }] }] };

test('UR-32: an entry that cannot start holds its queue, is there to be taken back, and hinders no other session', async () => {
  const services = await open();
  const sessions = await Promise.all(
    [0, 1].map(() => acceptTask(services, { principal: 'owner', body, idempotency: null })),
  );
  for (const { runId } of sessions) await services.runs.ended(runId);
  const [bad, good] = sessions.map(({ sessionId }) => sessionId);
  if (bad === undefined || good === undefined) throw new Error('There are no sessions.');
  const plain = JSON.parse(JSON.stringify(body)) as Record<string, null>;
  const damaged = await acceptTask(services, { principal: 'owner', body, idempotency: null });
  await services.runs.ended(damaged.runId);
  await services.store.enqueue({ ...queuedOf('m', damaged.sessionId), body: { ...plain, messages: 'lost' } }, 9);
  await services.store.enqueue({ ...queuedOf('m', bad), body: { ...plain, model: 'no/such' } }, 9);
  await services.store.enqueue({ ...queuedOf('m', good), body: plain }, 9);
  const started = await startQueued(services);
  expect(started).toMatchObject([{ messageId: 'm' }]);
  expect(await readQueue(services, 'owner', bad)).toMatchObject({
    held: true,
    entries: [{ status: 'held', position: 1 }],
  });
  expect(await readQueue(services, 'owner', damaged.sessionId)).toMatchObject({ held: true });
  expect(await resumeQueue(services, 'owner', bad)).toMatchObject({ held: true, entries: [{ status: 'held' }] });
  expect(await startQueued(services)).toEqual([]);
  for (const { runId } of started) await services.runs.ended(runId);
  expect(await readQueue(services, 'owner', good)).toEqual({ held: false, entries: [] });
});

test('UR-21: an entry that somebody else has started, and whose run has ended meanwhile, is told as started', async () => {
  const services = await open();
  const { runId, sessionId } = await acceptTask(services, { principal: 'owner', body, idempotency: null });
  await services.runs.ended(runId);
  const { store } = services;
  const elsewhere: Services['store'] = {
    ...store,
    async enqueue(task, most) {
      const queued = await store.enqueue(task, most);
      if (queued.outcome === 'queued')
        for (const started of await startQueued(services, sessionId)) await services.runs.ended(started.runId);
      return queued;
    },
  };
  const followUp = { sessionId, body, bodyHash: 'hash', messageId: 'm' };
  const entry = await queueTask({ ...services, store: elsewhere }, 'owner', followUp);
  expect(entry).toMatchObject({ messageId: 'm', status: 'started', runId: expect.any(String) });
});

test('UR-32: of two who start the same entry one does', async () => {
  const services = await open();
  const { runId, sessionId } = await acceptTask(services, { principal: 'owner', body, idempotency: null });
  await services.runs.ended(runId);
  const plain = JSON.parse(JSON.stringify(body)) as Record<string, null>;
  await services.store.enqueue({ ...queuedOf('m', sessionId), body: plain }, 9);
  const rounds = await Promise.all([startQueued(services), startQueued(services), startQueued(services)]);
  expect(rounds.flat()).toHaveLength(1);
  expect((await services.store.queue(sessionId)).held).toBe(false);
  for (const started of rounds.flat()) await services.runs.ended(started.runId);
});

test('P-070: a harness that takes no messages says so, and nothing is stored', async () => {
  const services = await open();
  const { store, harnesses } = services;
  const native = harnesses.adapter('native');
  if (native === undefined) throw new Error('There is no engine.');
  const probe = async () => {
    const status = await native.probe();
    return { ...status, capabilities: { ...status.capabilities, steer: 'none' as const } };
  };
  const mute = { ...services, harnesses: { ...harnesses, adapter: () => ({ ...native, probe }) } };
  const { runId } = await acceptTask(services, { principal: 'owner', body, idempotency: null });
  const message = { content: [{ type: 'text', text: 'x' }], messageId: 'm' } as const;
  const steered = steerTask(mute, 'owner', { responseId: runId, message });
  await expect(steered).rejects.toMatchObject({ status: 422, code: 'reins_capability_unsupported' });
  await services.runs.ended(runId);
  const events = await store.readEvents(runId, { after: 0, limit: 99 });
  expect(events.filter(({ type }) => type === 'user-message')).toEqual([]);
});
