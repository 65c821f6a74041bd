// Working directories where each machine has its own: here before a run goes on in one, stored before another machine may.

import { FilesUnavailableError } from '../files/blob-store.ts';
import { SessionBusyError } from '../core/errors.ts';
import type { RunPlace } from '../files/held-states.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * Puts the working directory of a run in its place on this machine, as the newest run of its session left it.
 * @throws FilesUnavailableError  It is on another machine alone, or cannot be had now. SessionBusyError  Another run is at it.
 */
export async function settleFolder(
  services: Services,
  run: RunPlace & Partial<Pick<RunRecord, 'harnessId'>>,
  how: 'begin' | 'continue' | 'end',
): Promise<void> {
  const { files, store, workspaces } = services;
  if (files?.foldersMove !== true) return;
  const { runId, sessionId } = run;
  const after = await folderBefore(services, run);
  if (await files.settle({ runId, sessionId }, { after, how })) {
    const harness = run.harnessId === undefined ? null : await store.harness(run.harnessId);
    await workspaces.ensure(sessionId, harness?.setup.template ?? undefined);
    return;
  }
  const running = (await store.session(sessionId))?.runningRunId ?? null;
  if (running !== null && running !== runId) throw new SessionBusyError(sessionId, running);
  throw new FilesUnavailableError(
    null,
    'The working directory of this session is on another server, as it is too much to be stored for all.',
  );
}

/** The newest run before it, also one whose response is deleted; of a fork's first run the one that was forked. */
async function folderBefore({ store }: Services, { sessionId, runId }: RunPlace): Promise<RunPlace | null> {
  const before = (await store.runIdsOfSession(sessionId)).findLast((each) => each.runId !== runId);
  if (before !== undefined) return { sessionId, runId: before.runId };
  const forkedFrom = (await store.session(sessionId))?.forkedFrom ?? null;
  return forkedFrom === null ? null : store.run(forkedFrom);
}

/** What becomes of the run does not hang on it: where it fails only this machine has what was done. */
export async function parkFolder(
  { files, store, logger, owner }: Services,
  { runId, sessionId }: RunPlace,
): Promise<void> {
  if (files?.foldersMove !== true) return;
  try {
    // Of a run that was lost its new owner has the newer state.
    if ((await store.run(runId))?.owner !== owner) return;
    if (!(await files.park({ runId, sessionId })))
      logger.warn('The working directory of a task is too much to be stored; only this server has it.', { runId });
  } catch (cause) {
    logger.error('The working directory of a task could not be stored; only this server has it.', { runId }, cause);
  }
}
