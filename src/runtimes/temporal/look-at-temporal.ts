import { Connection } from '@temporalio/client';
import type { Clock } from '../../core/clock.ts';
import { connectionOf, type TemporalAddress } from './open-temporal.ts';

export interface TemporalLook {
  readonly server: string;
  /** Processes that asked for workflows of this queue within the last minutes. */
  readonly workers: number;
}

/**
 * Asks and changes nothing.
 * @param o.withinMs  For connecting, and for all questions.
 * @throws Error  It does not answer, lets nobody in with these settings, or has no such namespace.
 */
export async function lookAtTemporal(
  options: TemporalAddress,
  { clock, withinMs }: { readonly clock: Clock; readonly withinMs: number },
): Promise<TemporalLook> {
  const { namespace = 'default', taskQueue = 'reins' } = options;
  const connection = await Connection.connect({ ...connectionOf(options), connectTimeout: withinMs });
  try {
    return await connection.withDeadline(clock.now() + withinMs, async () => {
      const { workflowService } = connection;
      const { serverVersion } = await workflowService.getSystemInfo({});
      await workflowService.describeNamespace({ namespace });
      const { pollers } = await workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue } });
      return { server: serverVersion, workers: new Set(pollers.map(({ identity }) => identity)).size };
    });
  } finally {
    await connection.close();
  }
}
