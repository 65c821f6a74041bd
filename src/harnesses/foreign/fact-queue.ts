import { createMailbox, type Mailbox } from '../../process/mailbox.ts';
import type { Clock } from '../../core/clock.ts';
import type { NativeFact } from './native-fact.ts';

/**
 * Facts of a producer that cannot wait (H-122, P-076). Pieces of the same text are joined while nobody has taken them; one
 * that is still too much closes nothing: `isFull` says so, and the last fact finds room.
 */
export interface FactQueue extends Mailbox<NativeFact> {
  readonly isFull: boolean;
  /**
   * When anything was put last: that the connection lives. What says no more than that is not queued, so whoever takes facts
   * hears of progress alone (H-110). Null: nothing was.
   */
  readonly heardAtMs: number | null;
}

const maxFacts = 10_000;
/** UTF-16 units: half of 32 MiB. */
const maxUnits = 16 * 2 ** 20;

export function createFactQueue(
  clock: Clock,
  limits: { readonly facts: number; readonly units: number } = { facts: maxFacts, units: maxUnits },
): FactQueue {
  // Room for one more: a mailbox that is full hands over at once, and facts that come together are to be taken together.
  const signal = createMailbox<null>(2);
  let facts: NativeFact[] = [];
  let units = 0;
  let heardAtMs: number | null = null;
  return {
    get isFull() {
      return facts.length >= limits.facts || units >= limits.units;
    },
    get heardAtMs() {
      return heardAtMs;
    },
    put(fact) {
      heardAtMs = clock.now();
      if (fact.is === 'alive' || fact.is === 'unknown') return undefined;
      const last = facts.at(-1);
      const joined = last === undefined ? null : join(last, fact);
      if (joined === null) facts.push(fact);
      else facts[facts.length - 1] = joined;
      units += unitsOf(fact);
      return facts.length === 1 && joined === null ? void signal.put(null) : undefined;
    },
    async take() {
      await signal.take();
      const taken = facts;
      [facts, units] = [[], 0];
      return taken;
    },
    close: () => signal.close(),
  };
}

function join(a: NativeFact, b: NativeFact): NativeFact | null {
  if ((a.is === 'text' || a.is === 'thinking') && a.is === b.is && a.key === b.key)
    return { ...a, text: a.text + b.text };
  if (a.is === 'call-input' && b.is === 'call-input' && a.id === b.id) return { ...a, piece: a.piece + b.piece };
  if (a.is === 'call-output' && b.is === 'call-output' && a.id === b.id) return { ...a, text: a.text + b.text };
  return a.is === 'progress' && b.is === 'progress' ? a : null;
}

function unitsOf(fact: NativeFact): number {
  if (fact.is === 'text' || fact.is === 'thinking' || fact.is === 'call-output') return fact.text.length;
  if (fact.is === 'call-input') return fact.piece.length;
  // However often it is said, it is joined.
  return fact.is === 'progress' ? 0 : JSON.stringify(fact).length;
}
