// Working directories where each machine has its own: here before a run goes on in one, stored before another machine may.

import { FilesUnavailableError } from '../files/blob-store.ts';
import { SessionBusyError } from '../core/errors.ts';
import type { RunId } from '../core/ids.ts';
import type { RunPlace } from '../files/held-states.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * Puts the working directory of a run in its place on this machine, as the newest run of its session left it.
 * @throws FilesUnavailableError  It is on another machine alone, or cannot be had now. SessionBusyError  Another run is at it.
 */
export async function settleFolder(
  services: Services,
  run: RunPlace & Partial<Pick<RunRecord, 'harnessId' | 'generation'>>,
  how: 'begin' | 'continue' | 'end',
): Promise<void> {
  const { files, store, workspaces } = services;
  if (files?.foldersMove !== true) return;
  const { sessionId, runId } = run;
  const after = await folderBefore(services, run);
  // Asked after: the run that it comes after has ended for good, and leaves the directory no otherwise any more.
  const running = how === 'begin' ? ((await store.session(sessionId))?.runningRunId ?? null) : null;
  if (running !== null && running !== runId) throw new SessionBusyError(sessionId, running);
  const found = await files.settle(run, { after, how });
  if (found.at === 'elsewhere') throw new FilesUnavailableError(found.why);
  const harness = run.harnessId === undefined ? null : await store.harness(run.harnessId);
  await workspaces.ensure(sessionId, harness?.setup.template ?? undefined);
}

/** The newest run before it, also one whose response is deleted; of a fork's first run the one that was forked. */
async function folderBefore({ store }: Services, { sessionId, runId }: RunPlace): Promise<RunPlace | null> {
  const before = (await store.runIdsOfSession(sessionId)).findLast((each) => each.runId !== runId);
  if (before !== undefined) return { sessionId, runId: before.runId };
  const forkedFrom = (await store.session(sessionId))?.forkedFrom ?? null;
  return forkedFrom === null ? null : store.run(forkedFrom);
}

/**
 * Before a run that was left is taken over: why that is for another machine to do, which alone has its directory. Null: it is
 * not, or that cannot be looked at now.
 */
export async function folderElsewhere(services: Services, runId: RunId): Promise<FilesUnavailableError | null> {
  const { files, store, logger } = services;
  if (files?.foldersMove !== true) return null;
  const run = await store.run(runId);
  if (run === null) return null;
  const after = await folderBefore(services, run);
  const why = await files.whyElsewhere(run, after).catch((cause: unknown) => {
    logger.warn('Where the working directory of a task is cannot be looked at.', { runId, cause: String(cause) });
    return null;
  });
  return why === null ? null : new FilesUnavailableError(why);
}

/** Of a run that was lost its new owner has the newer state. */
export async function isStillOwned({ store }: Services, { runId, owner, generation }: RunRecord): Promise<boolean> {
  const now = await store.run(runId);
  return now?.owner === owner && now.generation === generation;
}

/** What becomes of the run does not hang on it: where it fails only this machine has what was done, and nobody takes less for it. */
export async function parkFolder(services: Services, run: RunRecord): Promise<void> {
  const { files, logger, owner } = services;
  if (files?.foldersMove !== true) return;
  const { runId } = run;
  try {
    if (!(await isStillOwned(services, run))) return;
    const why = await files.park(run).catch((cause: unknown) => {
      logger.error('The working directory of a task could not be stored.', { runId }, cause);
      return 'failed' as const;
    });
    if (why === null) return;
    logger.warn('The working directory of a task is not stored for all; only this server has it.', { runId, why });
    await files.stay(run, { why, by: owner });
  } catch (cause) {
    logger.error('The working directory of a task could not be stored, and others are not told.', { runId }, cause);
  }
}

/** Once the end of the run is stored: here the directory stands as it left it. */
export async function leaveFolder({ files, logger, runs }: Services, run: RunRecord): Promise<void> {
  try {
    if (files !== null && (await files.leave(run))) runs.cleanUp(run.runId, () => files.dropParked(run));
  } catch (cause) {
    logger.error('That a task has left its working directory could not be noted.', { runId: run.runId }, cause);
  }
}
