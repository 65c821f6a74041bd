import { within } from '../../core/within.ts';
import type { Clock } from '../../core/clock.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { RunState } from '../../core/run-state.ts';

const lookMs = 250;
const againMs = 15_000;

/** While something waits in a line: its position, when it has changed and each 15 s, until `work` has settled. Does not reject. */
export async function* tellPosition(
  work: Promise<unknown>,
  {
    clock,
    state,
    position,
  }: {
    readonly clock: Clock;
    readonly state: RunState;
    /** Null: it does not wait. */
    readonly position: () => number | null;
  },
): AsyncGenerator<readonly EventDraft[], void, unknown> {
  const sinceMs = clock.now();
  const settled = new AbortController();
  const settle = () => settled.abort();
  work.then(settle, settle);
  let told = { position: 0, atMs: sinceMs };
  for (; !settled.signal.aborted; await within(work, { clock, ms: lookMs })) {
    const [next, nowMs] = [position(), clock.now()];
    // A look is later than the one before by more than what the seconds are rounded to: they rise from notice to notice.
    if (next === null || (next === told.position && nowMs - told.atMs < againMs)) continue;
    told = { position: next, atMs: nowMs };
    const seconds = Math.round((nowMs - sinceMs) / 100) / 10;
    yield [{ type: 'waiting', data: { on: 'capacity', seconds, position: next }, step: state.step, attempt: 0 }];
  }
}
