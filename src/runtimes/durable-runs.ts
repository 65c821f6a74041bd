// The durable driver: runs in a store, driven by whichever process has them, read by anybody (E-006).
//
// U1. Whoever reads is an observer: leaving never stops a run, only `cancel` does (E-035).
// U2. `submit` returns when the run is durably admitted (E-050); what happens then needs no caller.
// U3. A stream ends with the leg it was opened in, or with the run, as it was asked for (E-051).

import { acceptTask, type TaskBody } from '../tasks/accept-task.ts';
import { baseOf } from './agent-adapter.ts';
import { cancelTask } from '../tasks/cancel-task.ts';
import { canonicalJson, toJsonValue, type JsonObject } from '../core/json.ts';
import { ConfigurationError, CursorError, IdempotencyConflictError, RuntimeStateError } from '../core/errors.ts';
import { createHash } from 'node:crypto';
import { createRunStream, type RunStream } from './run-stream.ts';
import { cursorOf, seqOf } from './cursor.ts';
import { ensureHarness } from '../tasks/ensure-harness.ts';
import { finalStatus } from '../tasks/run-recorder.ts';
import { findRun } from '../tasks/find-in-scope.ts';
import { pauseRun } from '../tasks/pause-run.ts';
import { resumeRun } from '../tasks/resume-run.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import { toMessages, type InputMessage, type RunInput } from './run-input.ts';
import { withChildren } from './with-children.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { FollowUp } from '../tasks/queue-task.ts';
import type { Limits, RunEvent, UserPart } from '../core/run-event.ts';
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

export interface EventsOptions {
  /** A cursor: events behind it. Absent: from the first. */
  readonly after?: string;
  /** `leg`: to the result of the leg that is open now, or was last. `run`: over parks, to the end. */
  readonly follow?: 'leg' | 'run';
  /** With the events of sub-agents among them (E-905). */
  readonly children?: boolean;
}

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
  readonly #agents: ReadonlyMap<string, AssembledAgent>;

  constructor(services: Services, agents: readonly AssembledAgent[]) {
    this.#services = services;
    this.#agents = new Map(agents.map((agent) => [agent.ref.name, agent]));
  }

  /** @throws ConfigurationError, SessionBusyError, IdempotencyConflictError */
  async submit(input: RunInput, options: DurableRunOptions = {}): Promise<RunHandle> {
    const { random } = this.#services;
    const runId = runIds.make(random.token());
    const messages = await toMessages(input, runId, this.#services.store);
    return this.#admit(runId, { messages, options, cause: 'submit' });
  }

  /** A new run in the session of a failed one, from what was said before, without a new message (E-052). */
  async retry(failedRunId: RunId): Promise<RunHandle> {
    const failed = await this.find(failedRunId);
    if (failed.status !== 'failed') throw new RuntimeStateError('Only a failed run can be retried.');
    const harness = await this.#services.store.harness(failed.harnessId);
    const agent = [...this.#agents.values()].find((each) => baseOf(each) === harness?.base);
    if (agent === undefined) throw new ConfigurationError('The agent of this run is not here, or has changed.');
    const options = { agent: agent.ref.name, sessionId: failed.sessionId };
    return this.#admit(runIds.make(this.#services.random.token()), { messages: [], options, cause: 'retry' });
  }

  async #admit(
    runId: RunId,
    o: {
      readonly messages: TaskBody['messages'];
      readonly options: DurableRunOptions;
      readonly cause: 'submit' | 'retry';
    },
  ): Promise<RunHandle> {
    const { store, random } = this.#services;
    const { options, messages, cause } = o;
    const agent = this.#agentNamed(options.agent);
    const session = options.sessionId === undefined ? null : sessionIdOf(options.sessionId);
    const tip = session === null ? null : await store.tip(session);
    const body: TaskBody = {
      ...plainBody,
      messages,
      model: options.model ?? null,
      harnessId: await this.harnessIdOf(agent),
      previousResponseId: tip,
      metadata: options.metadata ?? {},
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    };
    const { requestId } = options;
    const accepted = await acceptTask(this.#services, {
      principal: libraryPrincipal,
      body,
      idempotency: requestId === undefined ? null : { key: requestId, bodyHash: hashOf(body, options.sessionId) },
      ids: { runId, sessionId: session ?? sessionIds.make(random.token()) },
      cause,
    });
    if (accepted.replayed && !accepted.sameBody) throw new IdempotencyConflictError('requestId');
    return this.#handleOf(accepted.runId, accepted.sessionId);
  }

  #agentNamed(name: string | undefined): AssembledAgent {
    const agent = name === undefined ? [...this.#agents.values()][0] : this.#agents.get(name);
    if (agent !== undefined && (name !== undefined || this.#agents.size === 1)) return agent;
    const names = [...this.#agents.keys()].join(', ');
    throw new ConfigurationError(`Name the agent; this runtime has: ${names}.`);
  }

  /** The record under which runs of the agent, as it is now, are stored; made where it is missing. */
  harnessIdOf(agent: AssembledAgent): Promise<RunRecord['harnessId']> {
    return ensureHarness(this.#services, libraryPrincipal, baseOf(agent));
  }

  /** @throws NotFoundError */
  find(runId: string): Promise<RunRecord> {
    return findRun(this.#services, libraryPrincipal, runId);
  }

  async handle(runId: RunId): Promise<RunHandle> {
    const { sessionId } = await this.find(runId);
    return this.#handleOf(runId, sessionId);
  }

  #handleOf(runId: RunId, sessionId: SessionId): RunHandle {
    const stream = (options: EventsOptions = {}) => this.observe({ runId, sessionId }, async () => {}, options);
    return {
      runId,
      sessionId,
      stream,
      result: () => stream().result(),
      status: async () => statusOf(await this.find(runId)),
    };
  }

  /** A stream that starts its run when it is read, and never stops it. */
  start(input: RunInput, options: DurableRunOptions & Pick<EventsOptions, 'children'> = {}): RunStream {
    const place = { runId: runIds.make(this.#services.random.token()), sessionId: sessionIdOf(options.sessionId) };
    let handle: RunHandle | null = null;
    const begin = async () => {
      handle = await this.submit(input, options);
      place.runId = handle.runId;
      place.sessionId = handle.sessionId;
      this.#cancelOn(options.signal, handle.runId);
    };
    return this.observe(place, begin, options);
  }

  #cancelOn(signal: AbortSignal | undefined, runId: RunId): void {
    if (signal === undefined) return;
    const cancel = () => void this.cancel(runId).catch(() => {}); // A run that is over needs no cancel.
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
  }

  observe(
    place: { readonly runId: RunId; readonly sessionId: SessionId },
    start: () => Promise<void>,
    options: EventsOptions,
  ): RunStream {
    const follow = (runId: RunId, after: number, signal: AbortSignal) =>
      this.#follow(runId, { after, signal, to: options.follow ?? 'leg' });
    return createRunStream({
      get runId() {
        return place.runId;
      },
      get sessionId() {
        return place.sessionId;
      },
      owns: false,
      start,
      follow: (signal) => {
        const after = options.after === undefined ? 0 : seqOf(options.after, place.runId);
        const own = follow(place.runId, after, signal);
        return options.children === true ? withChildren(own, (runId, read) => follow(runId, read, signal)) : own;
      },
      cancel: () => this.cancel(place.runId),
      cursor: (seq) => cursorOf(place.runId, seq),
    });
  }

  /** Events behind a place, to the result of the leg that is open, or to the end (U3). */
  async *#follow(
    runId: RunId,
    o: { readonly after: number; readonly signal: AbortSignal; readonly to: 'leg' | 'run' },
  ): AsyncGenerator<readonly RunEvent[]> {
    const run = await this.#services.store.run(runId);
    const last = run?.lastSeq ?? 0;
    if (o.after > last) throw new CursorError('This cursor lies ahead of its run.');
    if (o.after === last && run !== null && run.status !== 'running') return;
    for await (const batch of this.#services.log.follow(runId, { after: o.after, signal: o.signal })) {
      const at = batch.findIndex((event) => endsAt(event, { last, to: o.to }));
      yield at === -1 ? batch : batch.slice(0, at + 1);
      if (at !== -1) return;
    }
  }

  async cancel(runId: RunId): Promise<void> {
    await cancelTask(this.#services, libraryPrincipal, runId);
    await this.#services.runs.ended(runId);
  }

  async pause(runId: RunId): Promise<void> {
    await pauseRun(this.#services, libraryPrincipal, runId);
  }

  /** Null for a run that is at work or over: that changes nothing. @throws ConfigurationError  Its agent is not here (E-053). */
  async resume(runId: RunId): Promise<RunHandle | null> {
    const run = await this.find(runId);
    const harness = await this.#services.store.harness(run.harnessId);
    if (this.#services.harnesses.adapter(harness?.base ?? '') === undefined)
      throw new ConfigurationError('The agent of this run is not here, or has changed.');
    return (await resumeRun(this.#services, libraryPrincipal, runId)) ? this.#handleOf(runId, run.sessionId) : null;
  }

  /** Asks for a shorter conversation at the next step. @throws RuntimeStateError  The run is not at work here. */
  compact(runId: RunId, request: { readonly instructions?: string } = {}): void {
    if (!this.#services.runs.compact(runId, request)) throw new RuntimeStateError('This run is not at work here.');
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
    const body: TaskBody = {
      ...plainBody,
      messages: [{ content }],
      model: null,
      harnessId,
      previousResponseId: null,
      metadata: {},
    };
    return { sessionId, body, bodyHash: hashOf(body, sessionId), messageId };
  }
}

function endsAt(event: RunEvent, { last, to }: { readonly last: number; readonly to: 'leg' | 'run' }): boolean {
  if (event.type !== 'run-result') return false;
  return finalStatus(event.data.status) !== null || (to === 'leg' && event.seq >= last);
}

export function statusOf({ status, phase }: RunRecord): RunStatus {
  if (status !== 'running') return status;
  return phase === 'waiting' ? 'awaiting-input' : phase === 'paused' ? 'paused' : 'running';
}

/** Sessions of a library may have any name; the same name is the same session. */
export function sessionIdOf(name: string | undefined): SessionId {
  if (name === undefined) return sessionIds.make('');
  return sessionIds.parse(name) ?? sessionIds.make(createHash('sha256').update(name).digest('hex').slice(0, 32));
}

const plainBody = {
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
function hashOf({ previousResponseId: _tip, ...body }: TaskBody, session: string | undefined): string {
  const asked = toJsonValue({ ...body, session });
  return createHash('sha256').update(canonicalJson(asked)).digest('hex');
}
