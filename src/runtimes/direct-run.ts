import { createMemoryContent } from './memory-content.ts';
import { observersOf, type Observers } from './observers.ts';
import { initialRunState, type RunState } from '../core/run-state.ts';
import { MemoryLog } from './memory-log.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { Message } from '../core/transcript.ts';
import type { Todo } from '../core/run-event.ts';

/** A conversation in this process, with the files and long results that it speaks of. */
export interface DirectSession {
  readonly id: SessionId;
  readonly content: ContentStore;
  history: readonly Message[];
  todos: readonly Todo[] | null;
  running: RunId | null;
}

/** A run in this process, at work or parked. */
export interface DirectRun {
  readonly runId: RunId;
  readonly agent: AssembledAgent;
  readonly session: DirectSession;
  readonly log: MemoryLog;
  readonly observers: Observers;
  readonly family: Family;
  /** The fold of its log. */
  state: RunState;
  stop: AbortController;
  /** Aborts when the run is over: nobody who could cancel it needs to be listened to any more. */
  readonly over: AbortController;
}

/** The runs of sub-agents below one run, at any depth: let go with it. */
export class Family {
  readonly #logs = new Map<RunId, MemoryLog>();
  readonly #runs = new Map<RunId, DirectRun>();

  get runs(): readonly DirectRun[] {
    return [...this.#runs.values()];
  }

  find(runId: RunId): DirectRun | undefined {
    return this.#runs.get(runId);
  }

  /** The log of a run that may have yet to begin: a reader can be there first. */
  logOf(runId: RunId): MemoryLog {
    const log = this.#logs.get(runId) ?? new MemoryLog(runId, childSessionId(runId));
    this.#logs.set(runId, log);
    return log;
  }

  add(agent: AssembledAgent, runId: RunId): DirectRun {
    const session = newSession(childSessionId(runId));
    const run = makeRun(agent, { runId, session, log: this.logOf(runId), family: this });
    this.#runs.set(runId, run);
    return run;
  }
}

export function newRun(agent: AssembledAgent, session: DirectSession): DirectRun {
  const runId = runIds.make(agent.engine.random.token());
  return makeRun(agent, { runId, session, log: new MemoryLog(runId, session.id), family: new Family() });
}

export function newSession(id: SessionId): DirectSession {
  return { id, content: createMemoryContent(), history: [], todos: null, running: null };
}

export function isParked({ result }: RunState): boolean {
  return result?.status === 'awaiting-input' || result?.status === 'paused';
}

function makeRun(agent: AssembledAgent, own: Pick<DirectRun, 'runId' | 'session' | 'log' | 'family'>): DirectRun {
  const state = initialRunState(own.runId, own.session.id);
  return {
    ...own,
    agent,
    observers: observersOf(agent),
    state,
    stop: new AbortController(),
    over: new AbortController(),
  };
}

function childSessionId(runId: RunId): SessionId {
  return sessionIds.make(runId.slice(runIds.prefix.length));
}
