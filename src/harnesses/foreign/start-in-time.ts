import { harnessError } from './turn-endings.ts';
import { RuntimeFault } from './runtime.ts';
import type { Clock } from '../../core/clock.ts';

export interface StartTime {
  /** For people. */
  readonly label: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly seconds: number;
}

/**
 * A start as long as it may take: that a session is ready is its first sign of life (H-110). Who starts it stops at the signal
 * and leaves nothing behind (B145).
 * @throws RuntimeFault  It was not ready in time.
 */
export async function startInTime<T>(
  { label, clock, signal, seconds }: StartTime,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancelTimer = clock.timer(seconds * 1_000, () => late.abort());
  try {
    return await start(AbortSignal.any([signal, late.signal]));
  } catch (cause) {
    if (!late.signal.aborted || signal.aborted) throw cause;
    throw new RuntimeFault(harnessError(`${label} was not ready within ${seconds} s.`), { cause });
  } finally {
    cancelTimer();
  }
}
