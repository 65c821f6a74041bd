import { placeInputFiles } from './place-input-files.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

const pageEvents = 1_000;

/** Files of a message to a run at work that another server has taken in, whose directory is not this one. */
export async function placeSaidFiles(
  { files, logger, ...services }: Services,
  run: RunRecord,
  { data }: RunEventOf<'user-message'>,
): Promise<void> {
  if (files?.move !== true || data.content.every(({ type }) => type === 'text')) return;
  try {
    const workspace = await services.workspaces.ensure(run.sessionId);
    const placed = await placeInputFiles({ ...services, files, logger }, workspace, [data]);
    for (const path of placed) await files.given(run, path);
  } catch (cause) {
    logger.error('Files of a message could not be put into the working directory.', { runId: run.runId }, cause);
  }
}

/** Those of messages that were taken in while nobody was at work on the run. */
export async function placeUnreadFiles(services: Services, run: RunRecord, unread: readonly string[]): Promise<void> {
  if (services.files?.move !== true || unread.length === 0) return;
  for (let after = 0; ;) {
    const page = await services.store.readEvents(run.runId, { after, limit: pageEvents });
    for (const event of page)
      if (event.type === 'user-message' && unread.includes(event.data.messageId))
        await placeSaidFiles(services, run, event);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}
