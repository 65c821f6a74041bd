// A session goes for good (U-370), and with it those of the runs that worked for its own: what runs is stopped first, then
// nothing of them can be read, then their bytes are removed. Where a crash comes between, `sweepFiles` does the rest.

import { findSession } from './find-in-scope.ts';
import { sleep } from '../core/clock.ts';
import { SessionBusyError } from '../core/errors.ts';
import { stopRun } from './cancel-task.ts';
import type { Services } from './services.ts';
import type { RunId, SessionId } from '../core/ids.ts';

/** A task is over within ten seconds of its stop, whatever its harness does (UD-52). */
const [lookEveryMs, lookTimes] = [100, 120];

/** @throws RequestError  There is no such session; or its tasks cannot be stopped: nothing is removed. */
export async function deleteSession(services: Services, principal: string, name: string): Promise<void> {
  const { sessionId } = await findSession(services, principal, name);
  do await stopAll(services, sessionId);
  while (!(await bury(services, sessionId)));
  const family = await services.store.familyOf(sessionId);
  for (const each of new Set([sessionId, ...family.map((member) => member.sessionId)]))
    // It is deleted already: what stays for now is swept.
    await removeFiles(services, each).catch((cause: unknown) =>
      services.logger.error('Files of a deleted session could not be removed.', { sessionId: each }, cause),
    );
}

async function stopAll(services: Services, sessionId: SessionId): Promise<void> {
  const { store, clock } = services;
  for (let look = 0; ; look++) {
    const running = await runningIn(services, sessionId);
    const [first] = running;
    if (first === undefined) return;
    if (look === lookTimes) throw new SessionBusyError(sessionId, first);
    if (look === 0) await store.holdQueue(sessionId, true);
    await Promise.all(running.map((runId) => stopRun(services, runId)));
    // Also where it is over: whoever waits for its response gets it before it is removed.
    await sleep(clock, lookEveryMs);
  }
}

/** Nothing of it can be read from then on. False: a task has begun meanwhile. */
async function bury(services: Services, sessionId: SessionId): Promise<boolean> {
  try {
    await services.store.deleteSession(sessionId);
  } catch (cause) {
    if ((await runningIn(services, sessionId)).length === 0) throw cause;
    return false;
  }
  return true;
}

async function runningIn({ store }: Services, sessionId: SessionId): Promise<readonly RunId[]> {
  return (await store.familyOf(sessionId)).flatMap(({ runId, status }) => (status === 'running' ? [runId] : []));
}

export async function removeFiles({ workspaces, files, harnesses }: Services, sessionId: SessionId): Promise<void> {
  // Who works on them would put them back.
  for (const base of harnesses.bases) await harnesses.adapter(base)?.forgetSession?.(sessionId);
  await workspaces.remove(sessionId);
  await files?.remove(sessionId);
}

/** Making a directory takes no longer. */
const unfinishedForMs = 3_600_000;

/** Removes what sessions that are deleted or expired have left on the disk, and directories that were never finished. */
export async function sweepFiles(services: Services): Promise<number> {
  let swept = 0;
  await services.workspaces.removeUnfinished(services.clock.now() - unfinishedForMs);
  const known = new Set([...(await services.workspaces.list()), ...((await services.files?.list()) ?? [])]);
  for (const sessionId of known) {
    // There may be very many, and others wait.
    await new Promise((resolve) => setImmediate(resolve));
    const session = await services.store.session(sessionId);
    // What no record names is left alone: it may be about to be made, or be of a database that was put back.
    if (session === null ? !(await services.store.isSessionDeleted(sessionId)) : session.expiredAtMs === null) continue;
    await removeFiles(services, sessionId);
    swept += 1;
  }
  return swept;
}
