// The durable driver: runs in a store, driven by whichever process has them, read by anybody (E-006).
//
// U1. Whoever reads is an observer: leaving never stops a run, only `cancel` does, or the signal that it was started with
//     (E-035, E-040).
// U2. `submit` returns when the run is durably admitted (E-050); what happens then needs no caller.
// U3. What works for a run can be read, and is paused and done again with that run alone.

import { admitRetry, admitRun, firstEvent, libraryPrincipal, type Agents } from './durable-admission.ts';
import { ConfigurationError, RuntimeStateError } from '../core/errors.ts';
import { createRunStream, type RunStream } from './run-stream.ts';
import { cursorOf, seqOf } from './cursor.ts';
import { endsLog } from '../stores/event-shape.ts';
import { findRun } from '../tasks/find-in-scope.ts';
import { followDurable, resultOf, type EventsOptions } from './durable-events.ts';
import { pauseRun } from '../tasks/pause-run.ts';
import { resumeRun } from '../tasks/resume-run.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import { sessionIdOf } from './session-id.ts';
import { stopRun } from '../tasks/cancel-task.ts';
import { toMessages, type RunInput } from './run-input.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { DurableRunOptions, RunPlace } from './durable-admission.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunStatus } from '../core/outcome.ts';
import type { Services } from '../tasks/services.ts';

export interface RunHandle {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Of the leg that is open now, or was last: a run that waits for a person gives what it waits for. */
  result(): Promise<RunResult>;
  stream(options?: EventsOptions): RunStream;
  status(): Promise<RunStatus>;
}

export class DurableRuns {
  readonly #services: Services;
  readonly #agents: Agents;
  readonly #requireOpen: () => void;
  /** What is to be forgotten with a run: the signals that would cancel it. */
  readonly #signals = new Map<RunId, (() => void)[]>();

  /** @param requireOpen  Throws once the runtime is closed: handles and streams outlive it. */
  constructor(services: Services, agents: readonly AssembledAgent[], requireOpen: () => void) {
    this.#services = services;
    this.#requireOpen = requireOpen;
    this.#agents = new Map(agents.map((agent) => [agent.ref.name, agent]));
    services.log.onPublish((runId, events) => {
      const last = events.at(-1);
      if (last !== undefined && endsLog(last)) this.#forget(runId);
    });
  }

  /** @throws ConfigurationError, SessionBusyError, IdempotencyConflictError, RuntimeStateError */
  async submit(input: RunInput, options: DurableRunOptions = {}): Promise<RunHandle> {
    return this.#handleOf(await this.#submit(this.#newPlace(options.sessionId), input, options));
  }

  /** A stream that starts its run when it is read, and never stops it. */
  start(input: RunInput, options: DurableRunOptions & Pick<EventsOptions, 'children'> = {}): RunStream {
    let place = this.#newPlace(options.sessionId);
    const begin = async () => {
      place = await this.#submit(place, input, options);
    };
    return this.#observe(() => place, { children: options.children ?? false }, begin);
  }

  /** A new run in the session of a failed one, from what was said before, without a new message (E-052). */
  async retry(failedRunId: string): Promise<RunHandle> {
    const failed = await this.find(failedRunId);
    if (failed.status !== 'failed' || failed.parentRunId !== null)
      throw new RuntimeStateError('Only a failed run can be retried.');
    const place = { ...this.#newPlace(undefined), sessionId: failed.sessionId };
    return this.#handleOf(await admitRetry(this.#services, this.#agents, { failed, place }));
  }

  #newPlace(name: string | undefined): RunPlace {
    const { random } = this.#services;
    const sessionId = name === undefined ? sessionIds.make(random.token()) : sessionIdOf(name);
    return { runId: runIds.make(random.token()), sessionId };
  }

  async #submit(place: RunPlace, input: RunInput, options: DurableRunOptions): Promise<RunPlace> {
    const messages = await toMessages(input, place.runId, this.#services.store);
    const accepted = await admitRun(this.#services, this.#agents, { ...options, messages, place });
    if (options.signal !== undefined) await this.#cancelOn(options.signal, accepted.runId);
    return accepted;
  }

  /** @throws NotFoundError */
  async find(name: string): Promise<RunRecord> {
    this.#requireOpen();
    return findRun(this.#services, libraryPrincipal, name);
  }

  async handle(name: string): Promise<RunHandle> {
    return this.#handleOf(await this.find(name));
  }

  #handleOf({ runId, sessionId }: RunPlace): RunHandle {
    const place = { runId, sessionId };
    const stream = (options: EventsOptions = {}) => this.#observe(() => place, options);
    return {
      ...place,
      stream,
      result: () => stream().result(),
      status: async () => statusOf(await this.find(runId)),
    };
  }

  #observe(place: () => RunPlace, options: EventsOptions, start?: () => Promise<void>): RunStream {
    const { signal: left, after, ...how } = options;
    const follow = (reading: AbortSignal) => {
      const { runId } = place();
      const signal = left === undefined ? reading : AbortSignal.any([reading, left]);
      const behind = after === undefined ? 0 : seqOf(after, runId);
      return followDurable(this.#services, runId, { ...how, signal, after: behind });
    };
    return createRunStream({
      get runId() {
        return place().runId;
      },
      get sessionId() {
        return place().sessionId;
      },
      owns: false,
      start: async () => {
        this.#requireOpen();
        await start?.();
      },
      follow,
      ended: () => resultOf(this.#services, place().runId, options),
      ...(left === undefined ? {} : { left }),
      cancel: async () => void (await this.cancel(place().runId)),
      cursor: (seq) => cursorOf({ runId: place().runId, seq }),
    });
  }

  /** Acknowledged within a second; a run that is still stopping is `running` (E-812). */
  async cancel(name: string): Promise<RunStatus> {
    const { runId } = await this.find(name);
    await stopRun(this.#services, runId);
    return statusOf(await this.find(runId));
  }

  async #cancelOn(signal: AbortSignal, runId: RunId): Promise<void> {
    const { runs, store } = this.#services;
    const cancel = () => {
      // At once: where the signal has aborted before, this comes before the first model call.
      runs.stop(runId, 'cancel');
      runs.cleanUp(runId, () => stopRun(this.#services, runId));
    };
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
    const forget = () => signal.removeEventListener('abort', cancel);
    this.#signals.set(runId, [...(this.#signals.get(runId) ?? []), forget]);
    if ((await store.run(runId))?.status !== 'running') this.#forget(runId);
  }

  #forget(runId: RunId): void {
    for (const forget of this.#signals.get(runId) ?? []) forget();
    this.#signals.delete(runId);
  }

  async pause(name: string): Promise<void> {
    const { runId, parentRunId } = await this.find(name);
    if (parentRunId !== null) throw new RuntimeStateError('A sub-agent is paused with the run it works for.');
    await pauseRun(this.#services, libraryPrincipal, runId);
  }

  /** Null for a run that is at work, waits for a person, or is over: that changes nothing. @throws ConfigurationError (E-053) */
  async resume(name: string): Promise<RunHandle | null> {
    const run = await this.find(name);
    const { runId, status, phase, control } = run;
    const isPaused = phase === 'paused' || (phase === 'waiting' && control === 'pause');
    if (status !== 'running' || !isPaused) return null;
    const { _config } = (await firstEvent(this.#services, runId)).data;
    if (this.#services.harnesses.adapter(_config?.base ?? '') === undefined)
      throw new ConfigurationError('The agent of this run is not here, or has changed.');
    return (await resumeRun(this.#services, libraryPrincipal, runId)) ? this.#handleOf(run) : null;
  }
}

/** One that shall stop waits for nobody any more. */
export function statusOf({ status, phase, control }: RunRecord): RunStatus {
  if (status !== 'running' || control === 'cancel') return status;
  return phase === 'waiting' ? 'awaiting-input' : phase === 'paused' ? 'paused' : 'running';
}
