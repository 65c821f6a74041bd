// The in-process driver: runs at work in this process, each with its log in memory (E-006).
//
// I1. A run goes on at its own pace, whoever reads it (E-030); everything is read from its log (E-007).
// I2. What a run leaves behind is the conversation of its session, and, where it is parked, the run itself.
// I3. A sub-agent's run is a run like any other, in a session of its own; it stops with the call that began it.

import { closeRun, decidedBy } from '../core/closing.ts';
import { contextView } from '../engine/context-view.ts';
import { createDelegateTools, type ChildRun } from './sub-agents.ts';
import { createMemoryContent } from './memory-content.ts';
import { createObservers, type Observers } from './observers.ts';
import { evolve, initialRunState, isOpen, type RunState } from '../core/run-state.ts';
import {
  isLive,
  type EventDraft,
  type Limits,
  type ParentRun,
  type RunConfig,
  type RunEvent,
  type Todo,
} from '../core/run-event.ts';
import { MemoryLog } from './memory-log.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import { runLoop } from '../engine/run-loop.ts';
import { RunResult } from '../core/run-result.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { toMessages, type RunInput } from './run-input.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { Message } from '../core/transcript.ts';
import type { People } from '../engine/prepare-batch.ts';

export interface DirectSession {
  readonly id: SessionId;
  history: readonly Message[];
  todos: readonly Todo[] | null;
  running: RunId | null;
}

export interface DirectRun {
  readonly runId: RunId;
  readonly agent: AssembledAgent;
  readonly session: DirectSession;
  readonly log: MemoryLog;
  readonly observers: Observers;
  /** The fold of its committed events. */
  state: RunState;
  stop: AbortController;
}

export interface StartOptions {
  readonly requestId?: string;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
  readonly parent?: ParentRun;
  /** In place of the agent's own. */
  readonly permissions?: RunConfig['permissions'];
}

export interface WorkOptions {
  readonly signal?: AbortSignal;
  readonly people: People;
}

export class DirectRuns {
  readonly #content = createMemoryContent();
  readonly #working = new Map<RunId, Promise<void>>();
  /** Runs at work, parked, or a sub-agent's. */
  readonly #runs = new Map<RunId, DirectRun>();

  newSession(agent: AssembledAgent, name?: string): DirectSession {
    const key = name ?? agent.engine.random.token();
    return { id: sessionIds.parse(key) ?? sessionIds.make(key), history: [], todos: null, running: null };
  }

  newRun(agent: AssembledAgent, session: DirectSession, runId = runIds.make(agent.engine.random.token())): DirectRun {
    const [log, observers] = [new MemoryLog(runId, session.id), createObservers(agent)];
    const state = initialRunState(runId, session.id);
    return { runId, agent, session, log, observers, state, stop: new AbortController() };
  }

  find(runId: RunId): DirectRun | undefined {
    return this.#runs.get(runId);
  }

  get working(): number {
    return this.#working.size;
  }

  /** @throws ConfigurationError  The model cannot be served, or a limit cannot be. */
  async start(run: DirectRun, input: RunInput, options: StartOptions & WorkOptions): Promise<void> {
    const { agent } = run;
    const { requestId, parent, permissions } = options;
    const [model, limits, config] = [
      agent.chooseModel(options.model),
      agent.limits(options.limits),
      agent.runConfig('direct'),
    ];
    const data = {
      leg: 1,
      cause: 'submit',
      input: await toMessages(input, run.runId, this.#content),
      agent: agent.ref,
      _config: permissions === undefined ? config : { ...config, permissions },
      ...(requestId === undefined ? {} : { requestId }),
      ...(parent === undefined ? {} : { parent }),
      model,
      limits,
    } as const;
    this.#take(run, [{ type: 'run-started', step: 0, attempt: 0, data }]);
    this.#work(run, options);
  }

  /** The next leg of a parked run. */
  resume(run: DirectRun, cause: 'resume' | 'decision', options: WorkOptions): void {
    run.stop = new AbortController();
    this.#startLeg(run, cause);
    this.#work(run, options);
  }

  /** What was decided enters the log before the leg that reads it. */
  decide(
    run: DirectRun,
    executionKey: string,
    decided: Parameters<typeof decidedBy>[2] & { readonly by: string },
  ): void {
    const entry = run.state.pending.find((each) => each.executionKey === executionKey && isOpen(each));
    const { by, ...said } = decided;
    if (entry !== undefined) this.#take(run, [decidedBy(by, entry, said)]);
  }

  /** Resolves when the run is over, or parked. */
  async ended(run: DirectRun): Promise<void> {
    await this.#working.get(run.runId);
  }

  async cancel(run: DirectRun): Promise<void> {
    run.stop.abort(new StopTurn('cancel'));
    await this.ended(run);
    if (!isParked(run.state)) return;
    this.#startLeg(run, 'resume');
    this.#take(run, closeRun(run.state, { status: 'cancelled' }, run.agent.engine.clock.now()));
    this.#leave(run);
  }

  async cancelAll(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => this.cancel(run)));
  }

  #startLeg(run: DirectRun, cause: 'resume' | 'decision'): void {
    const { requested: model, limits, step, leg } = run.state;
    const data = { leg: leg + 1, cause, agent: run.agent.ref, model, limits };
    this.#take(run, [{ type: 'run-started', step, attempt: 0, data }]);
  }

  /** Into the log, the observers and the fold, in this order. Gives the committed events; undefined where there are none. */
  #take(run: DirectRun, drafts: readonly EventDraft[]): readonly RunEvent[] | undefined {
    const events = run.log.append(drafts, run.agent.engine.clock.now());
    run.observers.see(events);
    if (drafts.every(({ type }) => isLive(type))) return undefined;
    const facts = events.filter(({ type }) => !isLive(type));
    for (const event of facts) run.state = evolve(run.state, event);
    return facts;
  }

  #work(run: DirectRun, options: WorkOptions): void {
    this.#runs.set(run.runId, run);
    const onAbort = () => run.stop.abort(new StopTurn('cancel'));
    options.signal?.addEventListener('abort', onAbort);
    if (options.signal?.aborted === true) onAbort();
    const done = this.#drive(run, options.people).finally(() => {
      options.signal?.removeEventListener('abort', onAbort);
      this.#working.delete(run.runId);
      this.#leave(run);
    });
    this.#working.set(run.runId, done);
  }

  /** The loop yields exactly one result, whatever happens in it. */
  async #drive(run: DirectRun, people: People): Promise<void> {
    const { agent, session, state } = run;
    const delegates = createDelegateTools(agent.subagents, {
      current: () => run.state,
      runChild: (child) => this.#runChild(child, people),
    });
    const loop = runLoop(
      { ...agent.engine, content: this.#content, tools: [...agent.engine.tools, ...delegates] },
      {
        state,
        history: session.history,
        todos: session.todos,
        workspace: agent.workspace ?? '.',
        signal: run.stop.signal,
        recovering: false,
        people,
        onRepetition: () => run.observers.fire('repetition'),
      },
    );
    for (let next = await loop.next(); next.done !== true;) next = await loop.next(this.#take(run, next.value));
  }

  async #runChild(
    { child, runId, task, parent, permissions, decisions, context }: ChildRun,
    people: People,
  ): Promise<RunResult> {
    const { signal } = context;
    const known = this.#runs.get(runId);
    if (known === undefined) {
      const run = this.newRun(child.agent, this.newSession(child.agent), runId);
      await this.start(run, task, { parent, permissions, signal, people });
      return this.#resultOf(run);
    }
    if (isParked(known.state)) {
      for (const { executionKey, decided } of decisions) this.decide(known, executionKey, decided);
      this.resume(known, 'decision', { signal, people });
    }
    return this.#resultOf(known);
  }

  async #resultOf(run: DirectRun): Promise<RunResult> {
    await this.ended(run);
    if (run.state.result === null) throw new RuntimeStateError('A run ended without a result.');
    return new RunResult(run.state.result);
  }

  /** The session is free, and has the conversation that the run leaves (I2). */
  #leave({ runId, session, state }: DirectRun): void {
    if (state.result === null || isParked(state)) return;
    session.history = contextView(state, session.history).map(({ seq: _seq, ...message }) => message);
    session.todos = state.todos ?? session.todos;
    session.running = null;
    if (state.parent === null) this.#runs.delete(runId);
  }
}

export function isParked({ result }: RunState): boolean {
  return result?.status === 'awaiting-input' || result?.status === 'paused';
}
