import { within } from '../../core/within.ts';
import type { Clock } from '../../core/clock.ts';
import type { LiveTurn } from './live-turn.ts';

const interruptMs = 3_000;
/** Within the time that a host gives: what is left is named then, and not that nobody knows (H-060). */
export const stopMs = 8_900;

/** Interrupts, waits for the native end, and ends the tree. Gives what is still there, in words. */
export async function quietNative(
  { turn, session, coming }: LiveTurn,
  { label, clock }: { readonly label: string; readonly clock: Clock },
): Promise<readonly string[]> {
  turn.interrupt();
  session.cutOff();
  await within(nativeEnd(turn.facts, coming), { clock, ms: interruptMs });
  const stopping = session.stop();
  await within(stopping, { clock, ms: stopMs - interruptMs });
  const outcome = await Promise.race([stopping, Promise.resolve(null)]);
  return outcome?.unstopped ?? [`${label} has not confirmed that it stopped.`];
}

async function nativeEnd(facts: LiveTurn['turn']['facts'], coming: LiveTurn['coming']): Promise<void> {
  for (let taken = await (coming ?? facts.take()); taken.length > 0; taken = await facts.take())
    if (taken.some(({ is }) => is === 'ended')) return;
}
