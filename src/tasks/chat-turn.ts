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

export interface TurnSoFar {
  /** Number of the UI message that is told now. */
  readonly told: number;
  /** How many messages were steered into the run when the one that is looked for was; null: it was not. */
  readonly steeredAs: number | null;
  /** Where in its log the approval that is looked for was decided; null: it was not. */
  readonly decidedAt: number | null;
}

export async function turnSoFar(
  { log }: Scope,
  runId: RunId,
  wanted: { readonly messageId?: string; readonly approvalId?: string } = {},
): Promise<TurnSoFar> {
  const view = createUiView(runId);
  let [steered, steeredAs, decidedAt]: [number, number | null, number | null] = [0, null, null];
  for await (const events of log.readAll(runId, { committedOnly: true }))
    for (const event of events) {
      view.push(event);
      if (event.type === 'user-message' && event.data.mode === 'steer') {
        steered++;
        if (event.data.messageId === wanted.messageId) steeredAs ??= steered;
      } else if (event.type === 'approval-decided' && event.data.approvalId === wanted.approvalId)
        decidedAt ??= event.seq;
    }
  return { told: view.message, steeredAs, decidedAt };
}
