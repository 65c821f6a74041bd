// The in-process driver: runs at work in this process, each with its log in memory (E-006).
//
// I1. A run goes on at its own pace, whoever reads it (E-030); everything is read from its log (E-007).
// I2. What a run leaves behind is the conversation of its session, and, where it is parked, the run itself.
// I3. A sub-agent's run is a run like any other, in a session of its own; it stops with the call that began it, and does not
//     outlive the run it works for.

import { closeRun, decidedBy } from '../core/closing.ts';
import { readContext } from '../engine/context-view.ts';
import { createDelegateTools, type ChildRun } from './sub-agents.ts';
import { evolve, isOpen, type RunState } from '../core/run-state.ts';
import { isLive, type EventDraft, type ParentRun, type RunEvent } from '../core/run-event.ts';
import { type Limits, type RunConfig } from '../core/run-config.ts';
import { isParked, type DirectRun } from './direct-run.ts';
import { resolve } from 'node:path';
import { runLoop } from '../engine/run-loop.ts';
import { RunResult } from '../core/run-result.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { toMessages, type RunInput } from './run-input.ts';
import type { JsonObject } from '../core/json.ts';
import type { People } from '../engine/prepare-batch.ts';
import type { RunId } from '../core/ids.ts';

export interface StartOptions {
  readonly requestId?: string;
  readonly metadata?: JsonObject;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
  readonly parent?: ParentRun;
  /** In place of the agent's own. */
  readonly permissions?: RunConfig['permissions'];
}

export interface WorkOptions {
  /** Each cancels the run, at work or parked (E-040); a sub-agent's only while it is at work: it parks with its parent. */
  readonly signals: readonly AbortSignal[];
  readonly people: People;
}

export class DirectRuns {
  readonly #working = new Map<RunId, Promise<void>>();
  readonly #resuming = new Set<DirectRun>();
  /** Callers' runs at work or parked; those of sub-agents are with them. */
  readonly #runs = new Map<string, DirectRun>();

  find(runId: string): DirectRun | undefined {
    return this.#runs.get(runId);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Resolves when the run has begun. @throws ConfigurationError  The model cannot be served, or a limit cannot be. */
  async start(run: DirectRun, input: RunInput, options: StartOptions & WorkOptions): Promise<void> {
    await this.#work(run, this.#begin(run, input, options), options);
  }

  /**
   * The next leg of a parked run, behind what `decide` says of what it waits for. Resolves when it has begun.
   * @throws RuntimeStateError  It is not parked, or another one resumes it.
   */
  async resume(
    run: DirectRun,
    options: WorkOptions & { readonly cause: 'resume' | 'decision'; decide(): Promise<void> },
  ): Promise<void> {
    if (!isParked(run.state) || this.#resuming.has(run)) throw notParked();
    this.#resuming.add(run);
    run.stop = new AbortController();
    const quiet = this.#working.get(run.runId);
    const begin = async () => {
      await quiet;
      await options.decide().finally(() => this.#resuming.delete(run));
      if (!isParked(run.state)) throw notParked(); // It was cancelled meanwhile.
      this.#startLeg(run, options.cause);
    };
    await this.#work(run, begin(), options);
  }

  /** What was said of an open entry enters the log. */
  decide(run: DirectRun, executionKey: string, said: Omit<Parameters<typeof decidedBy>[1], 'step'>): void {
    const entry = run.state.pending.find((each) => each.executionKey === executionKey && isOpen(each));
    if (entry !== undefined) this.#add(run, [decidedBy(entry, { ...said, step: run.state.step })]);
  }

  /** Resolves when the run is over; a parked one is closed. */
  async cancel(run: DirectRun): Promise<void> {
    run.stop.abort(new StopTurn('cancel'));
    await this.#working.get(run.runId);
    if (isParked(run.state)) this.#closeParked(run);
  }

  /** For whom nobody waits. */
  #cancelAloud(run: DirectRun): void {
    const onFailure = (cause: unknown) =>
      run.agent.engine.logger.error('A run could not be cancelled.', { runId: run.runId }, cause);
    this.cancel(run).catch(onFailure);
  }

  async cancelAll(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => this.cancel(run)));
  }

  async #begin(run: DirectRun, input: RunInput, options: StartOptions): Promise<void> {
    const { agent } = run;
    const { requestId, metadata, parent, permissions } = options;
    const [model, limits] = [agent.chooseModel(options.model), agent.limits(options.limits)];
    const config = agent.runConfig('direct');
    const data = {
      leg: 1,
      cause: 'submit',
      input: await toMessages(input, run.runId, run.session.content),
      agent: agent.ref,
      _config: permissions === undefined ? config : { ...config, permissions },
      ...(requestId === undefined ? {} : { requestId }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(parent === undefined ? {} : { parent }),
      model,
      limits,
    } as const;
    this.#add(run, [{ type: 'run-started', step: 0, attempt: 0, data }]);
  }

  #startLeg(run: DirectRun, cause: 'resume' | 'decision'): void {
    const { requested: model, limits, step, leg } = run.state;
    const data = { leg: leg + 1, cause, agent: run.agent.ref, model, limits };
    this.#add(run, [{ type: 'run-started', step, attempt: 0, data }]);
  }

  /** Into the log and to the observers. Gives the committed events; undefined where there are none. */
  #take(run: DirectRun, drafts: readonly EventDraft[]): readonly RunEvent[] | undefined {
    const events = run.log.append(drafts, run.agent.engine.clock.now());
    run.observers.see(events);
    return drafts.every(({ type }) => isLive(type)) ? undefined : events.filter(({ type }) => !isLive(type));
  }

  /** What its loop does not say. */
  #add(run: DirectRun, drafts: readonly EventDraft[]): void {
    this.#see(run, (this.#take(run, drafts) ?? []).reduce(evolve, run.state));
  }

  /** At once with the append, before any reader learns that the run is over: the next one may be started on the word of it. */
  #see(run: DirectRun, state: RunState): void {
    run.state = state;
    if (state.result !== null) this.#leave(run);
  }

  /** The run is at work from here until it is over or parked. Resolves, or rejects, with its beginning. */
  #work(run: DirectRun, begun: Promise<void>, { signals, people }: WorkOptions): Promise<void> {
    const { runId, agent } = run;
    const isCallers = run.family.find(runId) === undefined;
    if (isCallers) this.#runs.set(runId, run);
    const heard = isCallers ? run.over : new AbortController();
    const driven = begun.then(
      () => this.#drive(run, people),
      () => this.#leave(run), // Refused: its caller is told.
    );
    const done = driven
      .catch((cause: unknown) => agent.engine.logger.error('A run could not be driven.', { runId }, cause))
      .finally(() => {
        if (!isCallers) heard.abort();
        if (this.#working.get(runId) === done) this.#working.delete(runId);
      });
    this.#working.set(runId, done);
    const onAbort = () => this.#cancelAloud(run);
    for (const signal of signals)
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { signal: heard.signal });
    return begun;
  }

  /** The loop yields exactly one result, whatever happens in it. */
  async #drive(run: DirectRun, people: People): Promise<void> {
    const { agent, session, state } = run;
    const delegates = createDelegateTools(agent.subagents, {
      current: () => run.state,
      runChild: (child) => this.#runChild(run, child, people),
    });
    const loop = runLoop(
      { ...agent.engine, content: session.content, tools: [...agent.engine.tools, ...delegates] },
      {
        state,
        history: session.history,
        todos: session.todos,
        workspace: resolve(agent.workspace ?? '.'),
        signal: run.stop.signal,
        recovering: false,
        people,
        onRepetition: () => run.observers.fire('repetition'),
        onState: (next) => this.#see(run, next),
      },
    );
    for (let next = await loop.next(); next.done !== true;) next = await loop.next(this.#take(run, next.value));
  }

  async #runChild({ family }: DirectRun, asked: ChildRun, parents: People): Promise<RunResult> {
    const { child, runId, task, parent, permissions, decisions, context } = asked;
    const work = { signals: [context.signal], people: below(child.name, parents) };
    const known = family.find(runId);
    const run = known ?? family.add(child.agent, runId);
    if (known === undefined) await this.start(run, task, { parent, permissions, ...work });
    else if (isParked(run.state))
      await this.resume(run, {
        ...work,
        cause: 'decision',
        decide: async () => {
          // The words alone: the ids in them are those of the parent's entry.
          for (const { executionKey, decided } of decisions) {
            const { by, decision, note, output } = decided;
            const said = { ...(note === undefined ? {} : { note }), ...(output === undefined ? {} : { output }) };
            this.decide(run, executionKey, { by, decision, ...said });
          }
        },
      });
    await this.#working.get(runId);
    if (run.state.result === null) throw new RuntimeStateError('The run of a sub-agent has no result.');
    return new RunResult(run.state.result);
  }

  #closeParked(run: DirectRun): void {
    this.#startLeg(run, 'resume');
    this.#add(run, closeRun(run.state, { status: 'cancelled', wasParked: true }, run.agent.engine.clock.now()));
  }

  /** The session is free, and has the conversation that the run leaves (I2). One that was refused leaves nothing. */
  #leave({ runId, session, state, family, over }: DirectRun): void {
    if (isParked(state)) return;
    over.abort();
    session.running = null;
    this.#runs.delete(runId);
    if (state.result === null) return;
    session.history = readContext(state, session.history).messages.map(({ seq: _seq, ...message }) => message);
    session.todos = state.todos ?? session.todos;
    if (state.parent === null) for (const run of family.runs) if (isParked(run.state)) this.#closeParked(run);
  }
}

export function notParked(): RuntimeStateError {
  return new RuntimeStateError('No run of that id is parked here.');
}

/** A callback is told who asks. */
function below(name: string, people: People): People {
  if (people.how !== 'ask') return people;
  return {
    how: 'ask',
    decide: (pending) => people.decide({ ...pending, agentPath: [name, ...(pending.agentPath ?? [])] }),
  };
}
