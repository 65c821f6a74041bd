import type { LoopGuard } from '../core/run-config.ts';

/**
 * How often the newest calls repeat themselves: the largest number of laps, at the end of the list, of a cycle of at most
 * `maxPeriod` calls with the same arguments and results (E-560). 1 = no repetition, 0 = no calls.
 */
export function lapsOf(calls: readonly string[], maxPeriod: number): number {
  let most = calls.length === 0 ? 0 : 1;
  for (let period = 1; period <= maxPeriod && period * 2 <= calls.length; period++) {
    let same = 0;
    for (let at = calls.length - 1; at >= period && calls[at] === calls[at - period]; at--) same += 1;
    most = Math.max(most, Math.floor(same / period) + 1);
  }
  return most;
}

/** The note that the model gets with a result once its calls go in circles; null before. */
export function repetitionNote(calls: readonly string[], guard: LoopGuard): string | null {
  const laps = lapsOf(calls, guard.maxPeriod);
  if (laps < guard.threshold) return null;
  return `[Note: the last calls were repeated ${laps} times with the same arguments and the same results. Repeating them again will not help; try something else or answer.]`;
}
