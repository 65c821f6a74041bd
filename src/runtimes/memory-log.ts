// The log of one run in this process: the whole of the in-process driver's persistence. Readers are cursors on it, as on
// every log (E-007, E-031).
//
// G1. `seq` is 1, 2, 3 … and given here alone (E-100).
// G2. A reader sees each event once and in order; a slow one holds nobody up and nothing is queued for it.

import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';

export class MemoryLog {
  readonly #place: { readonly runId: RunId; readonly sessionId: SessionId };
  readonly #events: RunEvent[] = [];
  #leg = 1;
  /** True once no leg is open: readers of the leg have all there is. */
  #over = false;
  #change: PromiseWithResolvers<void> | null = null;

  constructor(runId: RunId, sessionId: SessionId) {
    this.#place = { runId, sessionId };
  }

  get events(): readonly RunEvent[] {
    return this.#events;
  }

  /** Takes drafts in, and gives them as they stand in the log. A `run-result` closes the leg, a `run-started` opens one. */
  append(drafts: readonly EventDraft[], at: number): readonly RunEvent[] {
    const { runId, sessionId } = this.#place;
    const from = this.#events.length;
    for (const draft of drafts) {
      if (draft.type === 'run-started') this.#leg = draft.data.leg;
      const leg = this.#leg;
      this.#events.push({ v: 1, seq: this.#events.length + 1, runId, sessionId, at, leg, ...draft });
      this.#over = draft.type === 'run-result' || (this.#over && draft.type !== 'run-started');
    }
    this.#announce();
    return this.#events.slice(from);
  }

  #announce(): void {
    this.#change?.resolve();
    this.#change = null;
  }

  /** Events behind the first `after`, each batch what is there; ends with the leg, or when the signal aborts. */
  async *follow(after: number, signal?: AbortSignal): AsyncGenerator<readonly RunEvent[]> {
    const onAbort = () => this.#announce();
    signal?.addEventListener('abort', onAbort);
    try {
      for (let read = after; signal?.aborted !== true;) {
        if (read < this.#events.length) {
          const batch = this.#events.slice(read);
          read += batch.length;
          yield batch;
        } else if (this.#over) return;
        else await (this.#change ??= Promise.withResolvers<void>()).promise;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
