// The durable driver: runs in a store, driven by whichever process has them, read by anybody (E-006).
//
// U1. Whoever reads is an observer: leaving never stops a run, only `cancel` does, or the signal that it was started with
//     (E-035, E-040).
// U2. `submit` returns when the run is durably admitted (E-050); what happens then needs no caller.
// U3. A run of a session goes on from whatever that has come to, or is refused because another one is at work in it (E-023).
// U4. What works for a run is reached through it: it can be read, and is paused, retried and spoken to with it alone.

import { acceptTask, type Accepted, type TaskBody } from '../tasks/accept-task.ts';
import { agentBase } from './agent-adapter.ts';
import { canonicalJson, toJsonValue, type JsonObject } from '../core/json.ts';
import { ConfigurationError, IdempotencyConflictError, RequestError, RuntimeStateError } from '../core/errors.ts';
import { createHash } from 'node:crypto';
import { createRunStream, type RunStream } from './run-stream.ts';
import { cursorOf, seqOf } from './cursor.ts';
import { endsLog } from '../stores/event-shape.ts';
import { ensureHarness } from '../tasks/ensure-harness.ts';
import { findRun } from '../tasks/find-in-scope.ts';
import { followDurable, resultOf, type EventsOptions } from './durable-events.ts';
import { harnessIds, runIds, sessionIds, type HarnessId, type RunId, type SessionId } from '../core/ids.ts';
import { pauseRun } from '../tasks/pause-run.ts';
import { resumeRun } from '../tasks/resume-run.ts';
import { sessionIdOf } from './session-id.ts';
import { stopRun } from '../tasks/cancel-task.ts';
import { toMessages, type InputMessage, type RunInput } from './run-input.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { FollowUp } from '../tasks/queue-task.ts';
import type { Limits, RunEventOf, UserPart } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunStatus } from '../core/outcome.ts';
import type { Services } from '../tasks/services.ts';

/** All runs of a runtime belong to the program that holds it. */
export const libraryPrincipal = 'library';

export interface DurableRunOptions {
  /** Name of the agent; absent: the only one. */
  readonly agent?: string;
  /** The conversation to go on with, under a name of the caller's; absent: one of its own. */
  readonly sessionId?: string;
  /** The same id with the same input is the same run, however often it is submitted (E-050). */
  readonly requestId?: string;
  /** Aborting cancels the run (E-040). */
  readonly signal?: AbortSignal;
  readonly metadata?: JsonObject;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
}

export interface RunHandle {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Of the leg that is open now, or was last: a run that waits for a person gives what it waits for. */
  result(): Promise<RunResult>;
  stream(options?: EventsOptions): RunStream;
  status(): Promise<RunStatus>;
}

type Place = Pick<RunHandle, 'runId' | 'sessionId'>;
type Request = Pick<TaskBody, 'messages'> & {
  readonly options: DurableRunOptions;
  /** Absent: it says something new. */
  readonly retryOf?: RunId;
};

export class DurableRuns {
  readonly #services: Services;
  readonly #agents: ReadonlyMap<string, AssembledAgent>;
  /** What is to be forgotten with a run: the signals that would cancel it. */
  readonly #signals = new Map<RunId, (() => void)[]>();

  constructor(services: Services, agents: readonly AssembledAgent[]) {
    this.#services = services;
    this.#agents = new Map(agents.map((agent) => [agent.ref.name, agent]));
    services.log.onPublish((runId, events) => {
      const last = events.at(-1);
      if (last !== undefined && endsLog(last)) this.#forget(runId);
    });
  }

  /** @throws ConfigurationError, SessionBusyError, IdempotencyConflictError, RuntimeStateError */
  async submit(input: RunInput, options: DurableRunOptions = {}): Promise<RunHandle> {
    return this.#handleOf(await this.#submit(this.#newPlace(options), input, options));
  }

  /** A stream that starts its run when it is read, and never stops it. */
  start(input: RunInput, options: DurableRunOptions & Pick<EventsOptions, 'children'> = {}): RunStream {
    let place = this.#newPlace(options);
    const begin = async () => {
      place = await this.#submit(place, input, options);
    };
    const { children } = options;
    return this.#observe(() => place, begin, children === undefined ? {} : { children });
  }

  /** A new run in the session of a failed one, from what was said before, without a new message (E-052). */
  async retry(failedRunId: RunId): Promise<RunHandle> {
    const { runId, sessionId, status, parentRunId } = await this.find(failedRunId);
    if (status !== 'failed' || parentRunId !== null) throw new RuntimeStateError('Only a failed run can be retried.');
    const { agent: ref, model, limits, task } = (await this.#firstEvent(runId)).data;
    const agent = this.#agentNamed(ref?.name ?? '');
    // What was asked for beside the agent's own; of an agent that has changed since, that is not known any more.
    const own = agent.chooseModel(undefined);
    const asked = own.provider === model.provider && own.model === model.model ? {} : { model: `${model.provider}/${model.model}` };
    const kept = ref?.digest === agent.ref.digest ? { limits, ...asked } : {};
    const options = { agent: agent.ref.name, sessionId, metadata: task?.metadata ?? {}, ...kept };
    const place = { ...this.#newPlace({}), sessionId };
    return this.#handleOf(await this.#admit(place, { messages: [], options, retryOf: runId }));
  }

  #newPlace({ sessionId: name }: Pick<DurableRunOptions, 'sessionId'>): Place {
    const { random } = this.#services;
    const sessionId = name === undefined ? sessionIds.make(random.token()) : sessionIdOf(name);
    return { runId: runIds.make(random.token()), sessionId };
  }

  async #submit(place: Place, input: RunInput, options: DurableRunOptions): Promise<Place> {
    const messages = await toMessages(input, place.runId, this.#services.store);
    const accepted = await this.#admit(place, { messages, options });
    if (options.signal !== undefined) await this.#cancelOn(options.signal, accepted.runId);
    return accepted;
  }

  async #admit(place: Place, { messages, options, retryOf }: Request): Promise<Accepted> {
    const { requestId, sessionId: name, model = null, metadata = {}, limits = {} } = options;
    const harnessId = await this.#harnessOf(this.#agentNamed(options.agent));
    const body = { ...plainBody, messages, harnessId, model, metadata, limits };
    const session = name === undefined ? null : place.sessionId;
    if (name === session && session !== null) await this.#requireSession(session);
    const idempotency = requestId === undefined ? null : { key: requestId, bodyHash: hashOf({ ...body, session }) };
    const request = { principal: libraryPrincipal, idempotency, ids: place, cause: retryOf === undefined ? 'submit' : 'retry' } as const;
    for (;;) {
      const tip = retryOf ?? (session === null ? null : await this.#services.store.tip(session));
      try {
        const accepted = await acceptTask(this.#services, { ...request, body: { ...body, previousResponseId: tip } });
        if (accepted.replayed && !accepted.sameBody) throw new IdempotencyConflictError('requestId');
        return accepted;
      } catch (cause) {
        // The session has gone on in this moment (U3); what shall be retried is not what is newest any more.
        const overtaken = cause instanceof RequestError && cause.code === 'reins_not_session_tip';
        if (!overtaken || retryOf !== undefined) throw cause;
      }
    }
  }

  /** An id is given by a runtime alone: one that is not here would go on with nothing, and nobody would notice. */
  async #requireSession(sessionId: SessionId): Promise<void> {
    const { store } = this.#services;
    const tip = await store.tip(sessionId);
    if (tip === null || (await store.run(tip))?.parentRunId !== null)
      throw new RuntimeStateError('This session is not here, or not any more.');
  }

  #agentNamed(name: string | undefined): AssembledAgent {
    const agent = name === undefined ? [...this.#agents.values()][0] : this.#agents.get(name);
    if (agent !== undefined && (name !== undefined || this.#agents.size === 1)) return agent;
    const names = [...this.#agents.keys()].join(', ');
    throw new ConfigurationError(`Name the agent; this runtime has: ${names}.`);
  }

  #harnessOf({ ref }: AssembledAgent): Promise<HarnessId> {
    return agentHarness(this.#services, agentBase(ref.name));
  }

  /** @throws NotFoundError */
  find(runId: string): Promise<RunRecord> {
    return findRun(this.#services, libraryPrincipal, runId);
  }

  async handle(runId: RunId): Promise<RunHandle> {
    return this.#handleOf(await this.find(runId));
  }

  #handleOf({ runId, sessionId }: Place): RunHandle {
    const stream = (options: EventsOptions = {}) =>
      this.#observe(() => ({ runId, sessionId }), async () => {}, options);
    return {
      runId,
      sessionId,
      stream,
      result: () => stream().result(),
      status: async () => statusOf(await this.find(runId)),
    };
  }

  #observe(place: () => Place, start: () => Promise<void>, options: EventsOptions): RunStream {
    const { signal: left, after, ...how } = options;
    return createRunStream({
      get runId() {
        return place().runId;
      },
      get sessionId() {
        return place().sessionId;
      },
      owns: false,
      start,
      follow: (reading) => {
        const { runId } = place();
        const signal = left === undefined ? reading : AbortSignal.any([reading, left]);
        return followDurable(this.#services, runId, {
          ...how,
          signal,
          after: after === undefined ? 0 : seqOf(after, runId),
        });
      },
      ended: () => resultOf(this.#services, place().runId, options),
      ...(left === undefined ? {} : { left }),
      cancel: async () => {
        await this.cancel(place().runId);
      },
      cursor: (seq) => cursorOf({ runId: place().runId, seq }),
    });
  }

  /** Acknowledged within a second; a run that is still stopping is `running` (E-812). */
  async cancel(name: RunId): Promise<RunStatus> {
    const { runId } = await this.find(name);
    await stopRun(this.#services, runId);
    return statusOf(await this.find(runId));
  }

  async #cancelOn(signal: AbortSignal, runId: RunId): Promise<void> {
    const { runs, store, logger } = this.#services;
    const cancel = () => {
      // Before its first model call, where the signal had aborted before it was admitted.
      runs.stop(runId, 'cancel');
      stopRun(this.#services, runId).catch((cause: unknown) => logger.error('A run cannot be cancelled.', { runId }, cause));
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

  async pause(name: RunId): Promise<void> {
    const { runId, parentRunId } = await this.find(name);
    if (parentRunId !== null) throw new RuntimeStateError('A sub-agent is paused with the run it works for.');
    await pauseRun(this.#services, libraryPrincipal, runId);
  }

  /** Null for a run that is at work, waits for a person, or is over: that changes nothing. @throws ConfigurationError (E-053) */
  async resume(name: RunId): Promise<RunHandle | null> {
    const run = await this.find(name);
    const { harnesses } = this.#services;
    const paused = run.phase === 'paused' || (run.phase === 'waiting' && run.control === 'pause');
    if (run.status !== 'running' || !paused) return null;
    const { _config } = (await this.#firstEvent(run.runId)).data;
    if (harnesses.adapter(_config?.base ?? '') === undefined)
      throw new ConfigurationError('The agent of this run is not here, or has changed.');
    return (await resumeRun(this.#services, libraryPrincipal, run.runId)) ? this.#handleOf(run) : null;
  }

  async #firstEvent(runId: RunId): Promise<RunEventOf<'run-started'>> {
    const [first] = await this.#services.store.readEvents(runId, { after: 0, limit: 1 });
    if (first?.type !== 'run-started') throw new RuntimeStateError('The log of this run has no beginning.');
    return first;
  }

  /** A message for a run at work, its bytes kept with that run. */
  async contentOf(message: InputMessage, runId: RunId): Promise<readonly UserPart[]> {
    const messages = await toMessages(message, runId, this.#services.store);
    return messages.flatMap(({ content }) => content);
  }

  /** A run of its own behind what the session of this run works on (E-664). */
  async followUp(
    runId: RunId,
    { content, messageId }: { readonly content: readonly UserPart[]; readonly messageId: string | null },
  ): Promise<FollowUp> {
    const { sessionId, harnessId } = await this.find(runId);
    const body = { ...plainBody, messages: [{ content }], model: null, harnessId, metadata: {}, previousResponseId: null };
    return { sessionId, body, bodyHash: hashOf(body), messageId };
  }
}

export function statusOf({ status, phase }: RunRecord): RunStatus {
  if (status !== 'running') return status;
  return phase === 'waiting' ? 'awaiting-input' : phase === 'paused' ? 'paused' : 'running';
}

/** The record under which runs of an agent are stored, the same whoever makes it first. */
export function agentHarness(services: Services, base: string): Promise<HarnessId> {
  const harnessId = harnessIds.make(createHash('sha256').update(base).digest('hex').slice(0, 32));
  return ensureHarness(services, libraryPrincipal, base, { harnessId });
}

/** Of a task of a program, what its caller does not say. */
export const plainBody = {
  instructions: null,
  inputItems: [],
  store: true,
  background: true,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  reinsEvents: true,
  ignoredFields: [],
} satisfies Partial<TaskBody>;

/** What makes two requests the same: everything but the place that the conversation has come to. */
function hashOf(asked: object): string {
  return createHash('sha256').update(canonicalJson(toJsonValue(asked))).digest('hex');
}
