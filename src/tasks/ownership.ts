// Which processes are at work on the store: so what one leaves is taken over by another, and what one has is left to it.
//
// W1. A process owns runs under a name that is used once. Its row says where it lives and that it still does; it is stored
//     before the first run of that name is.
// W2. A process that is seen to be dead owns nothing from then on; nor does a name without a row.
// W3. One that cannot be looked at, or that hangs, keeps what it has until its lease ends: so long without a word, while
//     somebody listened. The listener's own standing still does not count, so after a sleep of the machine, or a clock that
//     jumped, nobody is robbed.
// W4. To be wrong here costs work and never the log: who was robbed can write nothing any more (E-827).

import type { Clock } from '../core/clock.ts';
import type { RunId } from '../core/ids.ts';
import type { OwnerRecord, Store } from '../stores/store.ts';

type Identity = Pick<OwnerRecord, 'place' | 'pid' | 'startTicks'>;

/** What this process is, and what it can see of others. */
export interface Processes {
  readonly self: Identity;
  look(other: Identity): 'alive' | 'dead' | 'unseen';
}

export interface OwnershipPolicy {
  /** Silence after which a process that may live has nothing any more (W3). */
  readonly leaseMs: number;
  /** Well below `leaseMs`. */
  readonly renewEveryMs: number;
  /** How long a run waits for a process that has its agent (E-833). */
  readonly agentWaitMs: number;
}

const defaults: OwnershipPolicy = { leaseMs: 30_000, renewEveryMs: 10_000, agentWaitMs: 600_000 };

export interface Ownership {
  readonly policy: OwnershipPolicy;
  /** Runs that nobody works on and whose agent is not here, with the time since when this process knows of it (E-833). */
  readonly agentless: Map<RunId, number>;
  /** Says that this process lives. */
  renew(): Promise<void>;
  /** How long others have not heard from it; from its start on where they never have. */
  silentMs(): number;
  /** Resolves once that was said, and is to be awaited before a run is made this process's (W1). */
  present(): Promise<void>;
  /** Names of owners that may be at work, this process's among them; forgets the others. To be asked every second or so (W3). */
  living(): Promise<ReadonlySet<string>>;
  /** This process owns nothing any more. */
  leave(): Promise<void>;
}

export interface OwnershipOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly owner: string;
  readonly processes: Processes;
  readonly policy?: Partial<OwnershipPolicy>;
}

/** A listener that was away for longer has missed what was said. */
const longestGapOf = ({ leaseMs }: OwnershipPolicy) => Math.min(5_000, leaseMs / 2);

interface Silence {
  readonly seenAtMs: number;
  silentMs: number;
}

export function createOwnership({ store, clock, owner, processes, policy: own = {} }: OwnershipOptions): Ownership {
  const policy = { ...defaults, ...own };
  let said: OwnerRecord | null = null;
  let saying: Promise<void> | null = null;
  let listenedAtMs: number | null = null;
  let heardAtMs = clock.now();
  const silences = new Map<string, Silence>();

  function renew(): Promise<void> {
    const word = { owner, ...processes.self, seenAtMs: clock.now() };
    said = word;
    const words = store.putOwner(word).then(
      () => void (heardAtMs = word.seenAtMs),
      (cause: unknown) => {
        if (saying === words) saying = null; // whoever needs it next says it again
        throw cause;
      },
    );
    saying = words;
    return words;
  }

  /** @param sinceLastMs  Null when nobody was listened to before: then what its own clock said has to do, unless that is ahead. */
  function silenceOf({ owner: name, seenAtMs }: OwnerRecord, sinceLastMs: number | null): number {
    const known = silences.get(name);
    if (known?.seenAtMs === seenAtMs) return (known.silentMs += sinceLastMs ?? 0);
    const silentMs = sinceLastMs === null ? Math.max(0, clock.now() - seenAtMs) : 0;
    silences.set(name, { seenAtMs, silentMs });
    return silentMs;
  }

  return {
    policy,
    agentless: new Map(),
    renew,
    silentMs: () => clock.now() - heardAtMs,
    present: () => saying ?? renew(),
    async living() {
      const rows = await store.owners();
      const nowMs = clock.now();
      const sinceLastMs =
        listenedAtMs === null ? null : Math.min(Math.max(0, nowMs - listenedAtMs), longestGapOf(policy));
      listenedAtMs = nowMs;
      const living = new Set([owner]);
      for (const row of rows) {
        if (row.owner === owner) continue;
        if (silenceOf(row, sinceLastMs) < policy.leaseMs && processes.look(row) !== 'dead') living.add(row.owner);
        else await store.removeOwner(row);
      }
      for (const name of silences.keys()) if (!living.has(name)) silences.delete(name);
      return living;
    },
    async leave() {
      await saying?.catch(() => {}); // whoever renewed has heard of it
      if (said !== null) await store.removeOwner(said);
    },
  };
}
