import { DirectRuns, isParked, type DirectRun, type DirectSession } from './direct-runs.ts';
import { createRunStream, type RunStream } from './run-stream.ts';
import { isOpen } from '../core/run-state.ts';
import { RuntimeStateError, SessionBusyError } from '../core/errors.ts';
import { withChildren } from './with-children.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { JsonObject } from '../core/json.ts';
import type { Limits, PendingTool } from '../core/run-event.ts';
import type { People } from '../engine/prepare-batch.ts';
import type { RunId } from '../core/ids.ts';
import type { RunInput } from './run-input.ts';
import type { RunResult } from '../core/run-result.ts';
import type { TextOptions, TextStream } from './text-stream.ts';

export interface RunOptions {
  /** The conversation to go on with; absent: one of its own. */
  readonly sessionId?: string;
  readonly requestId?: string;
  /** Aborting cancels the run (E-040). */
  readonly signal?: AbortSignal;
  /** Kept with the run, for its owner. */
  readonly metadata?: JsonObject;
  readonly model?: string;
  readonly limits?: Partial<Limits>;
  /** Whether the events of sub-agents are among the run's, with their `agentPath` (E-905). Absent: no. */
  readonly children?: boolean;
  /** Decides on calls that need an approval; anything but `true` is a denial (E-522). */
  onApproval?(pending: PendingTool): boolean | Promise<boolean>;
}

export interface Agent extends AsyncDisposable {
  /** Never rejects because the run failed: that is data (E-022). @throws ConfigurationError, RuntimeStateError, SessionBusyError */
  run(input: RunInput, options?: RunOptions): Promise<RunResult>;
  /** Lazy; leaving its first iteration cancels the run (E-030 to E-034). */
  runStream(input: RunInput, options?: RunOptions): RunStream;
  streamText(input: RunInput, options?: RunOptions & TextOptions): TextStream;
  /** Goes on with a run that was parked here; `onApproval` is asked for what it waits for. @throws RuntimeStateError  None is. */
  resume(runId: RunId, options?: RunOptions): RunStream;
  /** Whether a run is at work in the session; without one: anywhere. A parked run is at work. */
  busy(sessionId?: string): boolean;
  readonly closed: boolean;
  /** Cancels what runs, then closes what the agent made for itself. Idempotent. */
  close(): Promise<void>;
}

/** One agent whose runs live in this process. One run at a time in a session, claimed before anything is awaited (E-023). */
export function createDirectAgent(agent: AssembledAgent): Agent {
  const runs = new DirectRuns();
  const sessions = new Map<string, DirectSession>();
  let closing: Promise<void> | null = null;

  function sessionOf(name: string | undefined): DirectSession {
    const session = (name === undefined ? undefined : sessions.get(name)) ?? runs.newSession(agent, name);
    if (name !== undefined) sessions.set(name, session);
    return session;
  }

  function claim({ session, runId }: DirectRun): void {
    if (closing !== null) throw new RuntimeStateError('This agent is closed.');
    if (session.running !== null) throw new SessionBusyError(session.id, session.running);
    session.running = runId;
  }

  function streamOf(
    run: DirectRun,
    o: { readonly from: number; readonly children: boolean; start(): Promise<void> },
  ): RunStream {
    const follow = (signal: AbortSignal) => run.log.follow(o.from, signal);
    const ofChild = (signal: AbortSignal) => (runId: RunId, after: number) =>
      runs.find(runId)?.log.follow(after, signal) ?? none();
    return createRunStream({
      runId: run.runId,
      sessionId: run.session.id,
      owns: true,
      start: o.start,
      follow: (signal) => (o.children ? withChildren(follow(signal), ofChild(signal)) : follow(signal)),
      cancel: () => runs.cancel(run),
    });
  }

  const runStream: Agent['runStream'] = (input, options = {}) => {
    const run = runs.newRun(agent, sessionOf(options.sessionId));
    return streamOf(run, {
      from: 0,
      children: options.children === true,
      async start() {
        claim(run);
        try {
          await runs.start(run, input, { ...options, people: peopleOf(agent, options) });
        } catch (cause) {
          run.session.running = null;
          throw cause;
        }
      },
    });
  };

  const close = async () => {
    closing ??= runs.cancelAll().then(() => agent[Symbol.asyncDispose]());
    await closing;
  };

  return {
    runStream,
    run: (input, options) => runStream(input, options).result(),
    streamText: (input, options = {}) => runStream(input, options).text(options),
    resume(runId, options = {}) {
      const run = runs.find(runId);
      if (run === undefined || !isParked(run.state)) throw new RuntimeStateError('No run of that id is parked here.');
      return streamOf(run, {
        from: run.log.events.length,
        children: options.children === true,
        async start() {
          await decidePending(runs, run, options);
          runs.resume(run, 'resume', { ...options, people: peopleOf(agent, options) });
        },
      });
    },
    busy: (name) => (name === undefined ? runs.working > 0 : (sessions.get(name)?.running ?? null) !== null),
    get closed() {
      return closing !== null;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function decidePending(runs: DirectRuns, run: DirectRun, { onApproval }: RunOptions): Promise<void> {
  if (onApproval === undefined) return;
  for (const entry of run.state.pending.filter(isOpen)) {
    if (entry.kind !== 'approval') continue;
    const decision = (await onApproval(entry)) === true ? 'approve' : 'deny';
    runs.decide(run, entry.executionKey, { by: 'callback', decision });
  }
}

function peopleOf({ config }: AssembledAgent, { onApproval }: RunOptions): People {
  if (onApproval !== undefined) return { how: 'ask', decide: onApproval };
  return { how: config.approvals.direct };
}

async function* none(): AsyncGenerator<never> {}
