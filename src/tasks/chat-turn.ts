// What the log of a run says of the messages that it was given by a chat.

import { createUiView } from '../views/ui-view.ts';
import type { RunEventOf } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

type Scope = Pick<Services, 'log' | 'store'>;

/** The one that began it: its own id where the client gave one. */
export function askedId({ runId, data }: Pick<RunEventOf<'run-started'>, 'runId' | 'data'>): string {
  return data.input?.[0]?.messageId ?? `usr_${runId}`;
}

export async function beginningOf({ store }: Scope, runId: RunId): Promise<RunEventOf<'run-started'> | null> {
  const [first] = await store.readEvents(runId, { after: 0, limit: 1 });
  return first?.type === 'run-started' ? first : null;
}

/** How many messages were steered into the run when this one was; null: it was not. */
export async function steeredAs({ log }: Scope, runId: RunId, messageId: string): Promise<number | null> {
  let count = 0;
  for await (const events of log.readAll(runId, { committedOnly: true }))
    for (const event of events) {
      if (event.type !== 'user-message' || event.data.mode !== 'steer') continue;
      count++;
      if (event.data.messageId === messageId) return count;
    }
  return null;
}

/** The UI message that the run tells now. */
export async function toldMessage({ log }: Scope, runId: RunId): Promise<number> {
  const view = createUiView(runId);
  for await (const events of log.readAll(runId, { committedOnly: true })) for (const event of events) view.push(event);
  return view.message;
}

/** Where in the log something was decided; null: nothing was. */
export async function decidedAt({ log }: Scope, runId: RunId, approvalId: string): Promise<number | null> {
  for await (const events of log.readAll(runId, { committedOnly: true }))
    for (const event of events)
      if (event.type === 'approval-decided' && event.data.approvalId === approvalId) return event.seq;
  return null;
}
