// The log of one run in this process: the whole of the in-process driver's persistence. Readers are cursors on it, as on
// every log (E-007, E-031).
//
// G1. `seq` is 1, 2, 3 … and given here alone (E-100).
// G2. A reader sees each event once and in order; a slow one holds nobody up and nothing is queued for it.
// G3. A reader ends with the leg it reads: what a later leg adds is not for it (E-051).

import { numberedEvent } from '../stores/event-shape.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';

export interface FollowOptions {
  /** Events behind this one; 0: all. */
  readonly after: number;
  /** Waiting ends when it aborts; what is there is given all the same. */
  readonly signal?: AbortSignal;
  /** Whether a leg that has not begun is waited for. Absent: no, where none is open there is nothing to come. */
  readonly patient?: boolean;
}

export class MemoryLog {
  readonly #place: { readonly runId: RunId; readonly sessionId: SessionId };
  readonly #events: RunEvent[] = [];
  /** Numbers of the results that ended a leg. */
  readonly #ends: number[] = [];
  #leg = 1;
  #legOpen = false;
  #change: PromiseWithResolvers<void> | null = null;

  constructor(runId: RunId, sessionId: SessionId) {
    this.#place = { runId, sessionId };
  }

  get length(): number {
    return this.#events.length;
  }

  /** Takes drafts in, and gives them as they stand in the log. A `run-result` closes the leg, a `run-started` opens one. */
  append(drafts: readonly EventDraft[], at: number): readonly RunEvent[] {
    const { runId, sessionId } = this.#place;
    const from = this.#events.length;
    for (const draft of drafts) {
      if (draft.type === 'run-started') {
        this.#leg = draft.data.leg;
        this.#legOpen = true;
      }
      const stamp = { runId, sessionId, at, leg: this.#leg };
      this.#events.push(numberedEvent(draft, stamp, this.#events.length + 1));
      if (draft.type === 'run-result') {
        this.#ends.push(this.#events.length);
        this.#legOpen = false;
      }
    }
    this.#announce();
    return this.#events.slice(from);
  }

  #announce(): void {
    this.#change?.resolve();
    this.#change = null;
  }

  /** Events behind `after`, each batch what is there; ends with the leg (G3), or when the signal aborts. */
  async *follow({ after, signal, patient = false }: FollowOptions): AsyncGenerator<readonly RunEvent[]> {
    const onAbort = () => this.#announce();
    signal?.addEventListener('abort', onAbort);
    try {
      for (let read = after; ;) {
        const end = this.#ends.find((each) => each > read);
        const to = end ?? this.#events.length;
        if (read < to) yield this.#events.slice(read, to);
        else if (signal?.aborted === true || !(this.#legOpen || patient)) return;
        else await (this.#change ??= Promise.withResolvers<void>()).promise;
        if (to === end) return;
        read = to;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
