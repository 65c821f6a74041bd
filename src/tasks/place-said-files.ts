import { placeInputFiles } from './place-input-files.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

const pageEvents = 1_000;

/** Files of messages to a run at work that another server has taken in, whose directory is not this one. */
export async function placeSaidFiles(services: Services, run: RunRecord, events: readonly RunEvent[]): Promise<void> {
  const { files, logger, workspaces } = services;
  if (files?.foldersMove !== true) return;
  const said = events.flatMap((event) => (event.type === 'user-message' ? [event.data] : []));
  if (said.every(({ content }) => content.every(({ type }) => type === 'text'))) return;
  try {
    const placed = await placeInputFiles(services, await workspaces.ensure(run.sessionId), said);
    for (const path of placed) await files.given(run, path);
  } catch (cause) {
    logger.error('Files of a message could not be put into the working directory.', { runId: run.runId }, cause);
  }
}

/** Those of messages that were taken in while nobody was at work on the run. */
export async function placeUnreadFiles(services: Services, run: RunRecord, unread: readonly string[]): Promise<void> {
  if (services.files?.foldersMove !== true || unread.length === 0) return;
  for (let after = 0; ;) {
    const page = await services.store.readEvents(run.runId, { after, limit: pageEvents });
    const isUnread = (event: RunEvent) => event.type === 'user-message' && unread.includes(event.data.messageId);
    await placeSaidFiles(services, run, page.filter(isUnread));
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}
