import type { Services } from './services.ts';

/**
 * A run that is at work here hears at once that it was cancelled through another process, where the store tells of that; the
 * next scan finds it in any case (E-813). Returns the end of it.
 */
export function hearCancels({ store, runs, logger }: Pick<Services, 'store' | 'runs' | 'logger'>): () => void {
  const deafen = store.onNews?.((runId) => {
    if (runId === null || !runs.isRunning(runId)) return;
    store.run(runId).then(
      (run) => run?.control === 'cancel' && runs.stop(runId, 'cancel'),
      (cause: unknown) => logger.warn('It could not be seen what was asked of a run.', { runId, cause: String(cause) }),
    );
  });
  return deafen ?? (() => {});
}
