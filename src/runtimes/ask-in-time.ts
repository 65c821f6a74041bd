import type { DirectRun } from './direct-run.ts';
import type { PendingTool } from '../core/run-event.ts';

/** What a callback says; no where it fails, or where the run is stopped while it thinks. */
export async function askInTime(
  ask: (pending: PendingTool) => unknown,
  pending: PendingTool,
  { stop: { signal }, runId, agent }: DirectRun,
): Promise<boolean> {
  const stopped = Promise.withResolvers<false>();
  const onAbort = () => stopped.resolve(false);
  signal.addEventListener('abort', onAbort);
  try {
    if (signal.aborted) return false;
    return (await Promise.race([ask(pending), stopped.promise])) === true;
  } catch (cause) {
    agent.engine.logger.error('A callback for approvals failed.', { runId }, cause);
    return false;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
