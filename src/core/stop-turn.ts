/**
 * Why a turn's signal aborted, carried as the signal's reason: a person's `cancel` and a spent `time` budget end the run,
 * a `shutdown` leaves it, unended, to the next owner.
 */
export class StopTurn extends Error {
  readonly how: 'cancel' | 'time' | 'shutdown';
  constructor(how: StopTurn['how']) {
    super(`The turn is stopped: ${how}.`);
    this.how = how;
  }
}

/** The reason a signal gives, or undefined while it has not aborted. Foreign abort reasons count as a cancel. */
export function stopOf(signal: AbortSignal): StopTurn['how'] | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof StopTurn ? signal.reason.how : 'cancel';
}
