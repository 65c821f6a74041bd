import type { Clock } from '../../core/clock.ts';
import type { RelayFact } from '../relay/relay-fact.ts';

/** Model calls that failed one after the other: more than any runtime is set to try; calls within ten seconds (H-112). */
const maxFailures = 6;
const maxCalls = 30;
const windowMs = 10_000;

/**
 * Watches the model calls of one session for a runtime that asks for ever: true from the call on that is too much. Some repeat
 * a reply that they do not understand ten times a second, and run its tool calls each time. A call that was refused for a spent
 * budget is none of it: its run ends by that (H-204).
 */
export function createRunawayWatch(clock: Clock): (fact: RelayFact) => boolean {
  let failures = 0;
  let calls: { readonly request: number; readonly atMs: number }[] = [];
  return (fact) => {
    if (fact.at === 'asked') {
      const nowMs = clock.now();
      calls = [...calls.filter(({ atMs }) => nowMs - atMs < windowMs), { request: fact.request, atMs: nowMs }];
    }
    if (fact.at === 'ended' && fact.error?.type === 'reins_budget') {
      calls = calls.filter(({ request }) => request !== fact.request);
      return false;
    }
    if (fact.at === 'ended' && fact.how !== 'aborted') failures = fact.how === 'whole' ? 0 : failures + 1;
    return failures >= maxFailures || calls.length > maxCalls;
  };
}
