// Where the facts of a session go: to the turn that is open, if one is.
//
// O1. A turn has one `ended`, the last of its facts; what comes after it is dropped (H-100).
// O2. What is missing and was said while no turn was open is told to the next one (U-112).
// O3. What nobody knows here is no sign of progress and ends no turn; the operator is warned once of each kind, and of no more
//     than a hundred kinds (H-029).
// O4. A turn whose facts come faster than they can be kept fails (P-076).

import { createFactQueue, type FactQueue } from './fact-queue.ts';
import { harnessError } from './turn-endings.ts';
import { head } from '../../core/text.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonValue } from '../../core/json.ts';
import type { LineProcess } from './line-process.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeFact } from './native-fact.ts';

export interface OutletOptions {
  /** For people. */
  readonly label: string;
  /** Of the runtime; null: not known. */
  readonly version: string | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends what cannot be listened to any more (O4). */
  readonly onOverflow: () => void;
}

/** UTF-16 units of an unknown message that the operator is shown. */
const shownUnits = 1_000;
/** Of kinds that the operator is warned of, and of what is missing, while no turn is open: a runtime may make up names for ever. */
const maxNames = 100;

export class FactOutlet {
  readonly #o: OutletOptions;
  readonly #known = new Set<string>();
  readonly #missing = new Set<string>();
  #turn: FactQueue | null = null;

  constructor(options: OutletOptions) {
    this.#o = options;
  }

  get isOpen(): boolean {
    return this.#turn !== null;
  }

  /** Whether that turn has not ended. */
  isAt(turn: FactQueue): boolean {
    return this.#turn === turn;
  }

  /** A turn begins; one that has not ended has failed. */
  open(): FactQueue {
    this.fail(harnessError('Another turn was begun.'));
    const turn = createFactQueue(this.#o.clock);
    this.#turn = turn;
    this.tell([...this.#missing].map((what) => ({ is: 'degraded', what })));
    this.#missing.clear();
    return turn;
  }

  /** @param native  What was read as these facts. */
  tell(facts: readonly NativeFact[], native: JsonValue = null): void {
    for (const fact of facts) {
      if (fact.is === 'unknown') this.#warn(fact.kind, native);
      if (this.#turn === null) {
        if (fact.is === 'degraded' && this.#missing.size < maxNames) this.#missing.add(fact.what);
        continue;
      }
      void this.#turn.put(fact);
      if (fact.is === 'ended') this.#close();
      else if (this.#turn.isFull) this.#overflow();
    }
  }

  /** Nothing else will end the turn. */
  fail(error: ErrorInfo): void {
    if (this.isOpen) this.tell([{ is: 'ended', end: { as: 'failed', error } }]);
  }

  /** A turn does not outlast its program. Resolves when that is gone, with what its operator should read. */
  follow(process: Pick<LineProcess, 'gone' | 'diagnostics' | 'onLongLine'>): Promise<string> {
    const { label, logger } = this.#o;
    process.onLongLine(() => this.tell([{ is: 'progress' }]));
    return process.gone.then(({ how, type, toOperator }) => {
      if (this.isOpen) logger.warn('An agent went away in a turn.', { label, how, diagnostics: process.diagnostics() });
      this.fail({ type, message: `${label} ${how} while it was at work.`, retryable: false });
      return toOperator;
    });
  }

  #close(): void {
    this.#turn?.close();
    this.#turn = null;
  }

  #overflow(): void {
    const message = `${this.#o.label} went on faster than its events could be kept.`;
    this.fail({ type: 'AdapterOverflowError', message, retryable: false });
    this.#o.onOverflow();
  }

  #warn(kind: string, native: JsonValue): void {
    if (this.#known.has(kind) || this.#known.size === maxNames) return;
    this.#known.add(kind);
    const { label, version, logger } = this.#o;
    const raw = head(JSON.stringify(native), shownUnits);
    logger.warn('An agent said something that is not known here.', { label, version, kind, raw });
  }
}
