import { refusals } from './refusals.ts';
import type { Redact } from '../../core/redact.ts';
import type { RelayFact } from './relay-fact.ts';
import type { RelayProvider } from './routes.ts';
import type { Usage } from '../../core/usage.ts';

export interface LeaseOptions {
  readonly provider: RelayProvider;
  /** The provider's names of the models that may be asked for; null: any. */
  readonly models: readonly string[] | null;
  /** Once replies have used up so many tokens, no other one is asked for. Absent: no limit. */
  readonly maxOutputTokens?: number;
  /** Absent: no limit. */
  readonly maxRequests?: number;
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
  /** Model calls that were let through to the provider. */
  readonly requests: number;
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

/** The relay's own side of a lease. */
export interface OpenLease extends Lease {
  readonly options: LeaseOptions;
  readonly upstream: OpenUpstream;
  readonly isRevoked: boolean;
  /** A request is under way until the answer is called; `abort` is called if the lease is revoked before. */
  enter(abort: () => void): () => void;
  /** The number of a model call that came in. */
  number(): number;
  /** @throws RelayRefusal  It may not be asked for. */
  admit(models: readonly string[], kind: 'call' | 'aside'): void;
  spend(usage: Usage): void;
}

export interface LeaseParts {
  readonly token: string;
  readonly upstream: OpenUpstream;
  readonly forget: () => void;
}

export function openLease(options: LeaseOptions, { token, upstream, forget }: LeaseParts): OpenLease {
  const { models: allowed, maxRequests = Infinity, maxOutputTokens = Infinity } = options;
  const running = new Set<() => void>();
  let [isClosed, isRevoked, asked, requests, outputTokens] = [false, false, 0, 0, 0];
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
    get requests() {
      return requests;
    },
    get open() {
      return running.size;
    },
    get isRevoked() {
      return isRevoked;
    },
    enter(abort) {
      running.add(abort);
      return () => void running.delete(abort);
    },
    number: () => ++asked,
    admit(models, kind) {
      if (isClosed) throw refusals.revoked();
      const foreign = models.find((model) => allowed?.includes(model) === false);
      if (foreign !== undefined) throw refusals.foreignModel(foreign);
      if (kind === 'aside') return;
      if (allowed !== null && models.length === 0) throw refusals.foreignModel(null);
      if (requests >= maxRequests || outputTokens >= maxOutputTokens) throw refusals.budgetSpent();
      requests++;
    },
    spend: (usage) => void (outputTokens += usage.outputTokens ?? 0),
    [Symbol.dispose]() {
      revoke();
      forget();
    },
  };
}
