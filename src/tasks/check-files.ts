import { fileIds } from '../core/ids.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { FileChange } from '../files/session-files.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * The ending of a run with what it made, changed and removed before its last event (E-131). A check that fails is the
 * operator's to hear of; the run is none the worse for it.
 */
export async function withFileChanges(
  services: Services,
  run: RunRecord,
  ending: readonly EventDraft[],
): Promise<readonly EventDraft[]> {
  const last = ending.at(-1);
  if (services.files === null || last === undefined) return ending;
  const { runId } = run;
  try {
    const { changes, left } = await services.files.finish(run);
    if (left.length > 0) services.logger.warn('Files of a task are not kept.', { runId, files: left.slice(0, 20) });
    if (changes.length === 0) return ending;
    const known = new Map((await services.store.filesOfSession(run.sessionId)).map((file) => [file.filename, file]));
    const drafts = changes.flatMap((change): EventDraft[] => {
      const fileId = change.kind === 'delete' ? known.get(change.path)?.fileId : fileIds.make(services.random.token());
      // What never was an artifact is not missed.
      return fileId === undefined ? [] : [{ ...draftOf(change, last), data: { ...change, fileId } }];
    });
    return [...ending.slice(0, -1), ...drafts, last];
  } catch (cause) {
    services.logger.error('The files of a task could not be looked at.', { runId }, cause);
    return ending;
  }
}

function draftOf(data: FileChange, { step }: EventDraft): Extract<EventDraft, { type: 'file-changed' }> {
  return { type: 'file-changed', step, attempt: 0, data };
}
