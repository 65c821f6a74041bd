import { untilAborted } from '../core/until-aborted.ts';
import type { Logger } from '../core/logger.ts';
import type { PendingTool } from '../core/run-event.ts';

/** What a callback says. Only a plain yes is one: one that fails, or that a stop has overtaken, has not said it. */
export async function askInTime(
  ask: (pending: PendingTool) => unknown,
  pending: PendingTool,
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
): Promise<boolean> {
  try {
    return (await untilAborted(Promise.resolve(pending).then(ask), signal)) === true;
  } catch (cause) {
    if (!signal.aborted) logger.error('A callback for approvals failed.', { runId: pending.runId }, cause);
    return false;
  }
}
