// What a run makes, changes and removes: looked for from outside, whatever its harness says of it (UD-53, E-131). A look that
// fails, or sees too much, costs artifacts: the operator hears why, and the log says that some may be missing. The run is none
// the worse for it.

import { fileIds } from '../core/ids.ts';
import { isStillOwned, settleFolder } from './settle-folder.ts';
import { LeaseLostError } from '../core/errors.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** Before the harness of a run is asked for anything. Gives what the log has to say of it. */
export async function rememberFiles(services: Services, run: RunRecord, step: number): Promise<readonly EventDraft[]> {
  const { files, logger } = services;
  if (files === null) return [];
  try {
    // Whatever was in the way the first time: later is too late.
    return (await files.begin(run).catch(() => files.begin(run))) ? [] : [missing('files-limit', step)];
  } catch (cause) {
    logger.error('The files of a task could not be looked at.', { runId: run.runId }, cause);
    return [missing('files-unchecked', step)];
  }
}

function missing(reason: 'files-limit' | 'files-unchecked', step: number): EventDraft {
  return { type: 'gap', step, attempt: 0, data: { reason } };
}

/**
 * The ending of a run with what it did to files, before the words about its end.
 * @throws LeaseLostError  It is another's by now, and so are its files.
 */
export async function withFileChanges(
  services: Services,
  run: RunRecord,
  ending: readonly EventDraft[],
): Promise<readonly EventDraft[]> {
  if (services.files === null) return ending;
  const { runId } = run;
  const step = ending.at(-1)?.step ?? 0;
  try {
    if (!(await isStillOwned(services, run))) throw new LeaseLostError(runId);
    await settleFolder(services, run, 'end');
    const { changes, isCut, left } = await services.files.finish(run);
    if (left.length > 0) services.logger.warn('Files of a task are not kept.', { runId, files: left.slice(0, 20) });
    const cut = isCut ? [missing('files-limit', step)] : [];
    if (changes.length === 0) return beforeLastWords(ending, cut);
    const known = new Map((await services.store.filesOfSession(run.sessionId)).map((file) => [file.filename, file]));
    const drafts = changes.flatMap((change): EventDraft[] => {
      const fileId = change.kind === 'delete' ? known.get(change.path)?.fileId : fileIds.make(services.random.token());
      // What never was an artifact is not missed.
      if (fileId === undefined) return [];
      return [{ type: 'file-changed', step, attempt: 0, data: { ...change, fileId } }];
    });
    return beforeLastWords(ending, [...drafts, ...cut]);
  } catch (cause) {
    if (cause instanceof LeaseLostError) throw cause;
    services.logger.error('The files of a task could not be looked at.', { runId }, cause);
    return beforeLastWords(ending, [missing('files-unchecked', step)]);
  }
}

function beforeLastWords(ending: readonly EventDraft[], drafts: readonly EventDraft[]): readonly EventDraft[] {
  const at = ending.findLastIndex(({ type }) => !lastWords.has(type)) + 1;
  return [...ending.slice(0, at), ...drafts, ...ending.slice(at)];
}

const lastWords: ReadonlySet<EventDraft['type']> = new Set(['budget-reached', 'error', 'run-result'] as const);
