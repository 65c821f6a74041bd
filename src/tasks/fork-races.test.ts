// What a fork is made of may go while the fork is made (UD-28).

import { expect, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { composeLocal } from '../compose.ts';
import { createSessionFiles } from '../files/session-files.ts';
import { createWorkspaces } from '../files/workspaces.ts';
import { loadConfig } from '../config.ts';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { plainTask, type TaskBody } from './task-body.ts';
import { queueTask } from './queue-task.ts';
import { shareSession } from './share-session.ts';
import { tmpdir } from 'node:os';
import { sessionIds, runIds } from '../core/ids.ts';
import type { Services } from './services.ts';

const bodyOf = (text: string): TaskBody => ({ ...plainTask, messages: [{ content: [{ type: 'text', text }] }] });
const [principal, idempotency] = ['owner', null];
type Race = Awaited<ReturnType<typeof openRace>>;

/** A session with one file that is not kept as an artifact, and what forks it. */
async function openRace() {
  const dataDir = mkdtempSync(join(tmpdir(), 'reins-fork-'));
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  await local.harness();
  const workspaces = createWorkspaces({ dataDir });
  const files = createSessionFiles({ dataDir, workspaces, maxBytes: 0, maxFiles: 0 });
  const services: Services = { ...local.services, workspaces, files };
  const body = bodyOf('Create a file named a.txt containing exactly: hello');
  const first = await acceptTask(services, { principal, idempotency, body });
  await services.runs.ended(first.runId);
  const fork = { ...bodyOf('Reply with exactly: ok'), previousResponseId: first.runId, fork: true };
  return {
    services,
    files,
    first,
    dataDir,
    async expire() {
      const atMs = Date.now() + 1_000;
      await services.store.expireSessions({ updatedBeforeMs: atMs, nowMs: atMs });
    },
    fork: (raced: Partial<Services>) => acceptTask({ ...services, ...raced }, { principal, idempotency, body: fork }),
    next: (raced: Partial<Services>) =>
      acceptTask({ ...services, ...raced }, { principal, idempotency, body: { ...fork, fork: false } }),
    /** Sessions on the disk and in the list, without the first one. */
    async others() {
      const listed = await services.store.sessions({ principal, limit: 9 });
      const names = [...readdirSync(join(dataDir, 'workspaces')), ...listed.map(({ sessionId }) => sessionId)];
      return names.filter((name) => name !== first.sessionId);
    },
    async [Symbol.asyncDispose]() {
      await local[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

test('UD-28: where files go while they are copied the fork is refused, and no half of it stays', async () => {
  await using race = await openRace();
  const { files, first, dataDir } = race;
  const folder = join(dataDir, 'files', first.sessionId);
  const going: Services['files'] = {
    ...files,
    async restore(from, to) {
      rmSync(join(folder, 'held'), { recursive: true });
      // As the oldest states go: their names last.
      return files.restore(from, to).finally(() => rmSync(join(folder, 'states'), { recursive: true }));
    },
  };
  await expect(race.fork({ files: going })).rejects.toMatchObject({ status: 409, code: 'reins_fork_unavailable' });
  expect(await race.others()).toEqual([]);
});

test('UD-28: where the session is deleted while its words are read the fork is refused, and knows no part of them', async () => {
  await using race = await openRace();
  const { store } = race.services;
  const going: Services['store'] = {
    ...store,
    async runIdsOfSession(sessionId) {
      const runs = await store.runIdsOfSession(sessionId);
      await store.deleteSession(sessionId);
      return runs;
    },
  };
  await expect(race.fork({ store: going })).rejects.toMatchObject({ status: 404, code: 'response_not_found' });
  expect(await race.others()).toEqual([]);
});

/** What happens in the last moment before a task is admitted. */
function before({ log }: Services, happens: () => Promise<unknown>): Pick<Services, 'log'> {
  const admit: Services['log']['admit'] = async (admission) => {
    await happens();
    return log.admit(admission);
  };
  return { log: { ...log, admit } };
}

test('UD-28, UD-61: where the session goes in the moment of admission nothing is forked, and the answer says how it went', async () => {
  await using race = await openRace();
  const { services, first } = race;
  const expired = { status: 404, code: 'session_expired', param: 'previous_response_id' };
  await expect(race.fork(before(services, race.expire))).rejects.toMatchObject(expired);
  const deletion = before(services, () => services.store.deleteSession(first.sessionId));
  await using other = await openRace();
  const { store } = other.services;
  const gone = before(other.services, () => store.deleteSession(other.first.sessionId));
  await expect(other.fork(gone)).rejects.toMatchObject({ status: 404, code: 'response_not_found' });
  await expect(race.fork(deletion)).rejects.toMatchObject(expired);
  expect([await race.others(), await other.others()]).toEqual([[], []]);
});

test('UD-61: a session that expires while it is continued, or forked, or queued for, or shared, is an expired one', async () => {
  const expired = { status: 404, code: 'session_expired' };
  const races = [
    (race: Race) => race.next(before(race.services, race.expire)),
    (race: Race) =>
      race.fork({
        files: {
          ...race.files,
          async restore() {
            await race.expire();
            return false;
          },
        },
      }),
    ({ services, first, expire }: Race) => {
      const enqueue: Services['store']['enqueue'] = async (task, most) => {
        await expire();
        return services.store.enqueue(task, most);
      };
      const body = { ...bodyOf('x'), previousResponseId: first.runId };
      const followUp = { sessionId: first.sessionId, body, bodyHash: 'h', messageId: null };
      return queueTask({ ...services, store: { ...services.store, enqueue } }, principal, followUp);
    },
    ({ services, first, expire }: Race) => {
      const putShare: Services['store']['putShare'] = async (share) => {
        await expire();
        return services.store.putShare(share);
      };
      return shareSession({ ...services, store: { ...services.store, putShare } }, principal, first.sessionId);
    },
  ];
  for (const happens of races) {
    await using race = await openRace();
    await expect(happens(race)).rejects.toMatchObject(expired);
    expect(await race.others()).toEqual([]);
  }
});

test('P-094: a fork in a session that its caller names leaves nothing when it is refused, and finds nothing that a crash left', async () => {
  await using race = await openRace();
  const { services, first, dataDir } = race;
  const ids = { runId: runIds.make('next'), sessionId: sessionIds.make('next') };
  const body = { ...bodyOf('Reply with exactly: ok'), previousResponseId: first.runId, fork: true };
  const ownership = { ...services.ownership, present: () => Promise.reject(new Error('gone')) };
  await expect(acceptTask({ ...services, ownership }, { principal, idempotency, body, ids })).rejects.toThrow('gone');
  expect(await race.others()).toEqual([]);
  mkdirSync(join(dataDir, 'workspaces', ids.sessionId, 'half'), { recursive: true });
  expect(await acceptTask(services, { principal, idempotency, body, ids })).toMatchObject(ids);
  expect(readdirSync(join(dataDir, 'workspaces', ids.sessionId))).toEqual(['a.txt']);
  // A session that is there keeps what it has, whoever else names it.
  const other = { ...ids, runId: runIds.make('other') };
  const taken = { status: 409, code: 'session_busy' };
  await expect(acceptTask(services, { principal, idempotency, body, ids: other })).rejects.toMatchObject(taken);
  expect(readdirSync(join(dataDir, 'workspaces', ids.sessionId))).toEqual(['a.txt']);
});
