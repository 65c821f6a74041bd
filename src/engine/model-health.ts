// What is known of each provider's model beyond one request: strikes, blocks, limits. Lives as long as its driver (E-215).
//
// G1. A member is never called before the time its server named, as long as another one can be (E-201, E-202).
// G2. Where all are blocked all are tried (E-354); but one that told us when to come back, whose quota is spent, or that has
//     long said nothing but "too many requests", at most once a minute: a hundred tasks in a row are not a hundred calls (B074).
// G3. A success clears strikes and blocks; a learned limit stays.

import type { Clock } from '../core/clock.ts';
import type { ModelFailure } from './model-outcome.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { RetryPolicy } from './policies.ts';

/** A block whose end the server named: worth keeping over a restart. */
export interface KnownBlock {
  readonly ref: ModelRef;
  readonly untilMs: number;
}

export interface ModelHealth {
  /** When it may be called again; null: now. */
  blockedUntilMs(ref: ModelRef): number | null;
  /** What comes of calling a blocked member now, known without a call; null: call it, and that is its try (G2). */
  refusal(ref: ModelRef): ModelFailure | null;
  /** Takes a failure in; true: another member should be called now (E-350, E-354). */
  fail(ref: ModelRef, failure: ModelFailure, o: { readonly retry: RetryPolicy; readonly attempt: number }): boolean;
  succeed(ref: ModelRef): void;
  /** Output tokens of one reply that the provider has stated; null: it has not (E-211). */
  replyLimit(ref: ModelRef): number | null;
  learnReplyLimit(ref: ModelRef, tokens: number): void;
  /** Takes up what was known before a restart; nothing of it is told again. */
  restore(known: readonly KnownBlock[]): void;
  /** Listens to blocks whose end the server names; null: one is over before its time. */
  onTold(listener: (ref: ModelRef, untilMs: number | null) => void): void;
}

interface Block {
  readonly untilMs: number;
  /** `cooling`: struck, our own pause. `told`: the server named the end. `spent`: quota, `busy`: rate; their end is unknown. */
  readonly kind: 'cooling' | 'told' | 'spent' | 'busy';
  /** What led to it; null: it is known from before a restart. */
  readonly failure: ModelFailure | null;
}

interface Entry {
  readonly ref: ModelRef;
  strikes: number;
  /** Answers of 429 since the last success. */
  refused: { readonly sinceMs: number; readonly times: number } | null;
  block: Block | null;
  probedAtMs: number | null;
  replyLimit: number | null;
}

const probeEveryMs = 60_000;
/** More than a burst: two tasks that used up their attempts, one after the other. */
const busyAfter = { times: 8, ms: 5_000 };

export function createModelHealth({ clock }: { readonly clock: Clock }): ModelHealth {
  const listeners: Parameters<ModelHealth['onTold']>[0][] = [];
  const entries = new Map<string, Entry>();

  function entryOf(ref: ModelRef): Entry {
    const key = JSON.stringify([ref.provider, ref.model]);
    const known = entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { ref, strikes: 0, refused: null, block: null, probedAtMs: null, replyLimit: null };
    entries.set(key, entry);
    return entry;
  }

  function activeBlock(entry: Entry): Block | null {
    return entry.block !== null && entry.block.untilMs > clock.now() ? entry.block : null;
  }

  function block(entry: Entry, o: Omit<Block, 'untilMs'> & { readonly ms: number }): void {
    const { ms, kind, failure } = o;
    const untilMs = clock.now() + ms;
    // The server's newest word counts; a pause of our own shortens no block.
    if (ms <= 0 || (kind !== 'told' && untilMs <= (activeBlock(entry)?.untilMs ?? 0))) return;
    entry.block = { untilMs, kind, failure };
    if (kind === 'told') for (const listener of listeners) listener(entry.ref, untilMs);
  }

  function noteRefusal(entry: Entry, failure: ModelFailure): void {
    const nowMs = clock.now();
    const { sinceMs, times } = entry.refused ?? { sinceMs: nowMs, times: 0 };
    entry.refused = { sinceMs, times: times + 1 };
    if (times + 1 < busyAfter.times || nowMs - sinceMs < busyAfter.ms) return;
    block(entry, { ms: probeEveryMs, kind: 'busy', failure });
    entry.probedAtMs = nowMs;
  }

  return {
    blockedUntilMs: (ref) => activeBlock(entryOf(ref))?.untilMs ?? null,
    refusal(ref) {
      const entry = entryOf(ref);
      const active = activeBlock(entry);
      if (active === null || active.failure === null || active.kind === 'cooling') return null;
      const nowMs = clock.now();
      if (entry.probedAtMs === null || nowMs - entry.probedAtMs >= probeEveryMs) {
        entry.probedAtMs = nowMs;
        return null;
      }
      const retryAfterMs = active.kind === 'told' ? active.untilMs - nowMs : null;
      return { ...active.failure, retryAfterMs, usage: null };
    },
    fail(ref, failure, { retry, attempt }) {
      const entry = entryOf(ref);
      const asked = failure.retryAfterMs;
      if (failure.class === 'quota') {
        const ms = asked ?? retry.quotaProbeSeconds * 1000;
        block(entry, { ms, kind: asked === null ? 'spent' : 'told', failure });
        return true;
      }
      if (failure.class !== 'transient') return false;
      // Waited out where it is, once in a step: a burst must not go over to the next member as a whole (E-355, B073).
      const short = asked !== null && asked < retry.stayBelowSeconds * 1000;
      if (short && failure.error.status === 429 && attempt === 1) return false;
      entry.strikes += 1;
      if (asked !== null) block(entry, { ms: asked, kind: 'told', failure });
      if (failure.error.status === 429) noteRefusal(entry, failure);
      if (asked !== null && asked > retry.maxRetryAfterSeconds * 1000) return retry.onLongRetryAfter === 'fail-over';
      if (entry.strikes < retry.switchAfter) return false;
      block(entry, { ms: retry.cooldownSeconds * 1000, kind: 'cooling', failure });
      return true;
    },
    succeed(ref) {
      const entry = entryOf(ref);
      if (activeBlock(entry)?.kind === 'told') for (const listener of listeners) listener(ref, null);
      entry.strikes = 0;
      entry.refused = entry.block = entry.probedAtMs = null;
    },
    replyLimit: (ref) => entryOf(ref).replyLimit,
    learnReplyLimit(ref, tokens) {
      entryOf(ref).replyLimit = tokens;
    },
    restore(known) {
      for (const { ref, untilMs } of known) entryOf(ref).block = { untilMs, kind: 'told', failure: null };
    },
    onTold: (listener) => void listeners.push(listener),
  };
}
