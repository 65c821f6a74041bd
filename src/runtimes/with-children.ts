// A run's events with those of its sub-agents among them (E-905). A delegated call is at work alone, so its run's events
// stand between its dispatch and what comes of it: its answer, or what it waits for.
//
// M1. Nothing of a child is lost and nothing of it comes after what its parent made of it, however slow the reader is, and
//     whatever is said to the parent meanwhile.
// M2. A child is shown while it works: its events do not wait for its parent's next one.
// M3. A child that is gone on with is shown behind what was shown of it, at any depth.

import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';

/**
 * Events of one run behind `after`, to the end of a leg. With a signal they are waited for until it aborts, where the run or
 * its leg have yet to begin; without one, what is there is all there will be.
 */
export type FollowChild = (runId: RunId, after: number, signal?: AbortSignal) => AsyncIterable<readonly RunEvent[]>;

type Batches = AsyncGenerator<readonly RunEvent[]>;

export function withChildren(events: AsyncIterable<readonly RunEvent[]>, follow: FollowChild): Batches {
  return merge(events, new Children(follow, new Map(), new Map()));
}

async function* merge(events: AsyncIterable<readonly RunEvent[]>, children: Children): Batches {
  const batches = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = batches.next();
      yield* children.showUntil(next);
      const { done, value: batch } = await next;
      if (done === true) return;
      let shown: RunEvent[] = [];
      for (const event of batch) {
        if (children.endsWith(event)) {
          if (shown.length > 0) yield shown;
          shown = [];
          yield* children.showRest();
        }
        shown.push(event);
        children.see(event);
      }
      if (shown.length > 0) yield shown;
    }
  } finally {
    await batches.return?.();
  }
}

interface DelegatedCall {
  readonly id: string;
  readonly childRunId: RunId;
}

/** Whether the parent has heard of what came of the call: what its child still has to say comes before. */
function endsCall(event: RunEvent, { id }: DelegatedCall): boolean {
  switch (event.type) {
    case 'tool-call-complete':
      return event.data.id === id;
    case 'tool-result':
      return event.data.toolCallId === id;
    // While it is at work nothing else is, and nothing else asks.
    case 'approval-required':
    case 'recovery-required':
    case 'tool-dispatched':
    case 'run-result':
      return true;
    case 'run-started':
    case 'user-message':
    case 'step-started':
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-call-delta':
    case 'thinking-complete':
    case 'text-complete':
    case 'turn-complete':
    case 'attempt-reset':
    case 'model-switched':
    case 'waiting':
    case 'tool-call-start':
    case 'tool-output-delta':
    case 'todos-updated':
    case 'file-changed':
    case 'approval-decided':
    case 'step-finished':
    case 'compacted':
    case 'budget-reached':
    case 'error':
    case 'gap':
      return false;
  }
}

/** The runs that a run has begun, and the one whose turn it is. Names, and what was read, are of the whole tree (M3). */
class Children {
  readonly #follow: FollowChild;
  readonly #names: Map<RunId, string>;
  readonly #read: Map<RunId, number>;
  #open: DelegatedCall | null = null;

  constructor(follow: FollowChild, names: Map<RunId, string>, read: Map<RunId, number>) {
    this.#follow = follow;
    this.#names = names;
    this.#read = read;
  }

  endsWith(event: RunEvent): boolean {
    return this.#open !== null && endsCall(event, this.#open);
  }

  see({ type, data }: RunEvent): void {
    if (type !== 'tool-dispatched') return;
    this.#open = data.childRunId === undefined ? null : { id: data.id, childRunId: data.childRunId };
  }

  /** What the child does until its parent's log goes on. */
  async *showUntil(parentGoesOn: Promise<unknown>): Batches {
    if (this.#open === null) return;
    const gone = new AbortController();
    const leave = () => gone.abort();
    parentGoesOn.then(leave, leave);
    yield* this.#show(this.#open.childRunId, gone.signal);
  }

  /** The parent has gone on: what is left of the child's leg. */
  async *showRest(): Batches {
    if (this.#open !== null) yield* this.#show(this.#open.childRunId);
    this.#open = null;
  }

  async *#show(runId: RunId, signal?: AbortSignal): Batches {
    const own = this.#follow(runId, this.#read.get(runId) ?? 0, signal);
    for await (const batch of merge(own, new Children(this.#follow, this.#names, this.#read))) {
      const end = batch.findIndex((event) => event.runId === runId && event.type === 'run-result');
      const leg = end === -1 ? batch : batch.slice(0, end + 1);
      for (const event of leg) if (event.runId === runId) this.#note(event);
      const name = this.#names.get(runId) ?? '';
      yield leg.map((event) => ({ ...event, agentPath: [name, ...(event.agentPath ?? [])] }));
      if (end !== -1) this.#open = null;
      if (end !== -1 || signal?.aborted === true) return;
    }
  }

  #note(event: RunEvent): void {
    this.#read.set(event.runId, event.seq);
    if (event.type === 'run-started') this.#names.set(event.runId, event.data.agent?.name ?? '');
  }
}
