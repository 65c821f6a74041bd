// What a run makes, changes and removes: looked for from outside, whatever its harness says of it (UD-53, E-131). A look that
// fails is the operator's to hear of; the run is none the worse for it.

import { fileIds } from '../core/ids.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** Before the harness of a run is asked for anything. */
export async function rememberFiles({ files, logger }: Services, run: RunRecord): Promise<void> {
  try {
    await files?.begin(run);
  } catch (cause) {
    logger.error('The files of a task could not be looked at.', { runId: run.runId }, cause);
  }
}

/** The ending of a run with what it did to files, before the words about its end. */
export async function withFileChanges(
  services: Services,
  run: RunRecord,
  ending: readonly EventDraft[],
): Promise<readonly EventDraft[]> {
  if (services.files === null) return ending;
  const { runId } = run;
  try {
    const { changes, left } = await services.files.finish(run);
    if (left.length > 0) services.logger.warn('Files of a task are not kept.', { runId, files: left.slice(0, 20) });
    if (changes.length === 0) return ending;
    const known = new Map((await services.store.filesOfSession(run.sessionId)).map((file) => [file.filename, file]));
    const step = ending.at(-1)?.step ?? 0;
    const drafts = changes.flatMap((change): EventDraft[] => {
      const fileId = change.kind === 'delete' ? known.get(change.path)?.fileId : fileIds.make(services.random.token());
      // What never was an artifact is not missed.
      if (fileId === undefined) return [];
      return [{ type: 'file-changed', step, attempt: 0, data: { ...change, fileId } }];
    });
    const at = ending.findLastIndex(({ type }) => !lastWords.has(type)) + 1;
    return [...ending.slice(0, at), ...drafts, ...ending.slice(at)];
  } catch (cause) {
    services.logger.error('The files of a task could not be looked at.', { runId }, cause);
    return ending;
  }
}

const lastWords: ReadonlySet<EventDraft['type']> = new Set(['budget-reached', 'error', 'run-result'] as const);
