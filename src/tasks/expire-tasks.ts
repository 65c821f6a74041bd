import { removeFiles } from './delete-session.ts';
import type { Services } from './services.ts';

const deliveriesForMs = 30 * 86_400_000;
const auditForSeconds = 365 * 86_400;

/**
 * Retention, in one pass: sessions unused for too long become tombstones (UD-61); events and idempotency keys of tasks that
 * ended long ago are removed, what they were folded into stays (UD-62). Never touches a running task (UD-14). A signal stops it
 * between two short pieces of work.
 */
export async function expireTasks(services: Services, signal?: AbortSignal): Promise<void> {
  const { store, clock, settings, logger, uploads } = services;
  const nowMs = clock.now();
  const { sessionRetentionSeconds, streamRetentionSeconds } = settings;
  const pruned = await store.prune({
    endedBeforeMs: nowMs - streamRetentionSeconds * 1000,
    nowMs,
    ...(signal === undefined ? {} : { signal }),
  });
  const expired =
    sessionRetentionSeconds === null
      ? []
      : await store.expireSessions({ updatedBeforeMs: nowMs - sessionRetentionSeconds * 1000, nowMs });
  // What fails for one is not to keep the others for ever.
  const steps: readonly (() => Promise<unknown>)[] = [
    ...expired.map((sessionId) => () => removeFiles(services, sessionId)),
    async () => {
      const due = await store.expireUploads(nowMs - settings.uploadRetentionSeconds * 1_000);
      for (const { fileId } of due) await uploads?.remove(fileId);
    },
    () => store.pruneDeliveries(nowMs - deliveriesForMs),
    () => store.pruneAudit(nowMs - (settings.auditRetentionSeconds ?? auditForSeconds) * 1_000),
  ];
  for (const step of steps)
    await step().catch((cause: unknown) => logger.error('A part of retention failed.', {}, cause));
  if (pruned.runs + pruned.keys + expired.length > 0)
    logger.info('Retention has removed what was due.', { ...pruned, sessions: expired.length });
}
