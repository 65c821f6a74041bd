// A session goes for good (U-370): what runs is stopped first, then nothing of it can be read, then its bytes are removed. Where
// a crash comes between, `sweepFiles` does the rest.

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
  await removeFiles(services, sessionId);
}

async function stopAll(services: Services, sessionId: SessionId): Promise<void> {
  const { store, clock } = services;
  for (let look = 0; ; look++) {
    const running = await runningIn(services, sessionId);
    if (running === null) return;
    if (look === lookTimes) throw new SessionBusyError(sessionId, running);
    if (look === 0) await store.holdQueue(sessionId, true);
    await stopRun(services, running);
    // Also where it is over: whoever waits for its response gets it before it is removed.
    await sleep(clock, lookEveryMs);
  }
}

/** Nothing of it can be read from then on. False: a task has begun meanwhile. */
async function bury(services: Services, sessionId: SessionId): Promise<boolean> {
  try {
    await services.store.deleteSession(sessionId);
  } catch (cause) {
    if ((await runningIn(services, sessionId)) === null) throw cause;
    return false;
  }
  return true;
}

async function runningIn({ store }: Services, sessionId: SessionId): Promise<RunId | null> {
  return (await store.session(sessionId))?.runningRunId ?? null;
}

export async function removeFiles({ workspaces, files }: Services, sessionId: SessionId): Promise<void> {
  await workspaces.remove(sessionId);
  await files?.remove(sessionId);
}

/** Removes what sessions that are deleted or expired have left on the disk. */
export async function sweepFiles(services: Services): Promise<number> {
  let swept = 0;
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
