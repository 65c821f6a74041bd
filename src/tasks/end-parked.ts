import { within } from '../core/within.ts';
import type { Ending } from '../core/closing.ts';
import type { RunConfig } from '../core/run-config.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

const endMs = 9_000;

/** Ends what a harness has kept for a run that was parked and will not go on (H-060). Gives the ending, with what is left. */
export async function endParked(
  services: Services,
  {
    run: { runId, sessionId },
    config,
    ending,
  }: { readonly run: RunRecord; readonly config: RunConfig | null; readonly ending: Ending },
): Promise<Ending> {
  const adapter = services.harnesses.adapter(config?.base ?? '');
  if (adapter?.endParked === undefined) return ending;
  let unstopped: readonly string[] = ['The agent did not confirm that it stopped.'];
  const stopped = adapter.endParked(sessionId).then(
    (left) => (unstopped = left),
    (cause: unknown) =>
      services.logger.warn('A harness did not end what it kept for a run.', { runId, cause: String(cause) }),
  );
  await within(stopped, { clock: services.clock, ms: endMs });
  return ending.status === 'cancelled' && unstopped.length > 0 ? { ...ending, unstopped } : ending;
}
