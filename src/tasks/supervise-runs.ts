import { expireApprovals } from './expire-approvals.ts';
import { recoverRuns } from './recover-runs.ts';
import { startQueued } from './start-queued.ts';
import type { Services } from './services.ts';

/** Whatever shall go on without being asked: called before the port opens, and each second after (E-830). */
export async function superviseRuns(services: Services): Promise<void> {
  await expireApprovals(services);
  await recoverRuns(services);
  await startQueued(services);
}
