import { createCallLedger, type PriceOf, type RelayedCall } from './relayed-call.ts';
import { refusals, type RelayRefusal } from './refusals.ts';
import type { CallMeter } from './run-meter.ts';
import type { Redact } from '../../core/redact.ts';
import type { RelayFact } from './relay-fact.ts';
import type { RelayProvider } from './routes.ts';

export interface LeaseOptions {
  readonly provider: RelayProvider;
  /** The provider's names of the models that may be asked for; null: any. */
  readonly models: readonly string[] | null;
  /** Counts the calls, and says when they are too many. Absent: they never are. */
  readonly meter?: CallMeter;
  /** Contract: must not throw; facts of one call come in order, those of several calls mixed. */
  onFact(fact: RelayFact): void;
}

/** The right of one session process to call models (H-200). Disposing revokes, and forgets that there was one. */
export interface Lease extends Disposable {
  /** What the runtime is given as its key. Never logged. */
  readonly token: string;
  /** Refuses what comes; what runs goes on. Idempotent. */
  close(): void;
  /** Aborts what runs and refuses the rest, with a word that ends the turn (H-060). Idempotent. */
  revoke(): void;
  /** Requests that are under way. */
  readonly open: number;
}

/** Where the calls of a provider go. */
export interface OpenUpstream {
  readonly origin: string;
  /** Of the base address, without a slash at its end. */
  readonly path: string;
  /** Of the base address, without the question mark. */
  readonly query: string;
  readonly apiKey: string | null;
  readonly redact: Redact;
}

/** A request that is under way, until it is disposed of. */
export interface OpenRequest extends Disposable {
  /** So many more bytes of it are in memory. Not null: they may not be, and nothing of it is to be kept. */
  hold(bytes: number): RelayRefusal | null;
}

/** The relay's own side of a lease. */
export interface OpenLease extends Lease {
  readonly options: LeaseOptions;
  readonly upstream: OpenUpstream;
  readonly isRevoked: boolean;
  /** `abort` is called if the lease is revoked before the request is over. */
  enter(abort: () => void): OpenRequest;
  /** The number of a model call that came in. */
  number(): number;
  /** @throws RelayRefusal  It may not be asked for. */
  admit(models: readonly string[], kind: 'call' | 'aside'): void;
  /** To the meter, to whoever counts all calls of the relay, and then to the runtime's adapter. */
  tell(fact: RelayFact): void;
}

export interface LeaseParts {
  readonly token: string;
  readonly upstream: OpenUpstream;
  readonly forget: () => void;
  readonly priceOf: PriceOf;
  readonly onCall: (call: RelayedCall) => void;
}

/** Of all requests of a lease together, each at least so much: its runtime's program may be whoever has talked it round. */
const maxHeldBytes = 128 * 1024 * 1024;
const leastHeldBytes = 1024 * 1024;

export function openLease(options: LeaseOptions, parts: LeaseParts): OpenLease {
  const { token, upstream, forget } = parts;
  const { models: allowed, meter } = options;
  const callOf = createCallLedger(options.provider, parts.priceOf);
  const running = new Set<() => void>();
  let [isClosed, isRevoked, asked, held] = [false, false, 0, 0];
  const revoke = () => {
    isClosed = isRevoked = true;
    for (const abort of running) abort();
  };
  return {
    token,
    options,
    upstream,
    close: () => void (isClosed = true),
    revoke,
    get open() {
      return running.size;
    },
    get isRevoked() {
      return isRevoked;
    },
    enter(abort) {
      running.add(abort);
      let own = leastHeldBytes;
      held += own;
      return {
        hold(bytes) {
          if (isClosed) return refusals.revoked();
          own += bytes;
          held += bytes;
          return held > maxHeldBytes ? refusals.tooMuch() : null;
        },
        [Symbol.dispose]() {
          running.delete(abort);
          held -= own;
        },
      };
    },
    number: () => ++asked,
    admit(models, kind) {
      if (isClosed) throw refusals.revoked();
      const foreign = models.find((model) => allowed?.includes(model) === false);
      if (foreign !== undefined) throw refusals.foreignModel(foreign);
      if (kind === 'aside') return;
      if (allowed !== null && models.length === 0) throw refusals.foreignModel(null);
      if (meter?.refuses() === true) throw refusals.budgetSpent();
      meter?.admitted();
    },
    tell(fact) {
      if (fact.at === 'asked') meter?.asked(fact.request);
      const call = callOf(fact);
      if (call !== null) {
        meter?.ended(call);
        parts.onCall(call);
      }
      options.onFact(fact);
    },
    [Symbol.dispose]() {
      revoke();
      forget();
    },
  };
}
