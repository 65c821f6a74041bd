import { askInTime } from '../engine/ask-in-time.ts';
import { createRunStream, type RunStream } from './run-stream.ts';
import { DirectRuns, notParked } from './direct-runs.ts';
import { isOpen } from '../core/run-state.ts';
import { isParked, newRun, newSession, type DirectRun, type DirectSession } from './direct-run.ts';
import { RuntimeStateError, SessionBusyError } from '../core/errors.ts';
import { sessionIdOf } from './session-id.ts';
import { sessionIds } from '../core/ids.ts';
import { withChildren, type FollowChild } from './with-children.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { JsonObject } from '../core/json.ts';
import type { PendingTool } from '../core/run-event.ts';
import type { Limits } from '../core/run-config.ts';
import type { PendingEntry } from '../core/run-state.ts';
import type { People } from '../engine/prepare-batch.ts';
import type { RunInput } from './run-input.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { TextOptions, TextStream } from './text-stream.ts';

export interface ResumeOptions {
  /** Aborting cancels the run, at work or parked (E-040). Absent: only leaving its stream and `cancel` do. */
  readonly signal?: AbortSignal;
  /** Whether the events of sub-agents are among the run's, with their `agentPath` (E-905). Absent: no. */
  readonly children?: boolean;
  /**
   * Decides on calls that need an approval; anything but `true` is a denial, a failure too (E-522). On `resume` it is also
   * asked whether a call with an unknown outcome may be run again, and open questions are declined. Absent: a run does as
   * its agent's `approvals.direct` says; `resume` decides nothing.
   */
  readonly onApproval?: (pending: PendingTool) => boolean | Promise<boolean>;
}

export interface RunOptions extends ResumeOptions {
  /** The conversation to go on with: a name of the caller's, or the id of a session; absent: one of its own. */
  readonly sessionId?: string;
  readonly requestId?: string;
  /** The caller's own keys, kept with the run. Absent: none. */
  readonly metadata?: JsonObject;
  /** In place of the agent's own. @throws ConfigurationError  It cannot be served. */
  readonly model?: string;
  /** Those that are named, over the agent's own. @throws ConfigurationError  One can never be kept. */
  readonly limits?: Partial<Limits>;
}

export interface Agent extends AsyncDisposable {
  /** Never rejects because the run failed: that is data (E-022). @throws ConfigurationError, RuntimeStateError, SessionBusyError */
  run(input: RunInput, options?: RunOptions): Promise<RunResult>;
  /** Lazy; leaving its first iteration cancels the run (E-030 to E-034). */
  runStream(input: RunInput, options?: RunOptions): RunStream;
  streamText(input: RunInput, options?: RunOptions & TextOptions): TextStream;
  /** Goes on with a run that was parked here; `onApproval` is asked for what it waits for. @throws RuntimeStateError  None is. */
  resume(runId: string, options?: ResumeOptions): RunStream;
  /** Whether a run is at work in the session; without one: anywhere. A parked run is at work. */
  busy(sessionId?: string): boolean;
  readonly closed: boolean;
  /** Cancels what runs, then closes what the agent made for itself. Idempotent. */
  close(): Promise<void>;
}

/** Conversations that nobody named and that are kept, to be gone on with by their ids. */
const unnamedSessions = 100;

/** One agent whose runs live in this process. One run at a time in a session, claimed before anything is awaited (E-023). */
export function createDirectAgent(agent: AssembledAgent): Agent {
  const runs = new DirectRuns();
  const sessions = new Map<SessionId, DirectSession>();
  const unnamed: SessionId[] = [];
  let closing: Promise<void> | null = null;

  function sessionOf(name: string | undefined): DirectSession {
    const id = name === undefined ? sessionIds.make(agent.engine.random.token()) : sessionIdOf(name);
    const known = sessions.get(id);
    // An id is given by us alone: one that is not here would go on with nothing, and nobody would notice.
    if (known === undefined && name === id) throw new RuntimeStateError('This session is not here, or not any more.');
    const session = known ?? newSession(id);
    if (name !== undefined) sessions.set(id, session);
    return session;
  }

  function claim({ session, runId }: DirectRun): void {
    if (closing !== null) throw new RuntimeStateError('This agent is closed.');
    if (session.running !== null) throw new SessionBusyError(session.id, session.running);
    session.running = runId;
    if (sessions.has(session.id)) return;
    sessions.set(session.id, session);
    unnamed.push(session.id);
    if (unnamed.length > unnamedSessions) for (const id of unnamed.splice(0, 1)) sessions.delete(id);
  }

  function streamOf(
    run: DirectRun,
    { children = false }: ResumeOptions,
    start: (cancelled: AbortSignal) => Promise<void>,
  ): RunStream {
    let after = 0;
    let below: ReadonlyMap<RunId, number> = new Map();
    const follow = (signal: AbortSignal) => run.log.follow({ after, signal });
    return createRunStream({
      runId: run.runId,
      sessionId: run.session.id,
      owns: true,
      clock: agent.engine.clock,
      start(cancelled) {
        after = run.log.length;
        below = new Map(run.family.runs.map(({ runId, log }) => [runId, log.length]));
        return start(cancelled);
      },
      follow: (signal) => (children ? withChildren(follow(signal), followChild(run, below)) : follow(signal)),
      cancel: () => runs.cancel(run),
    });
  }

  const runStream: Agent['runStream'] = (input, options = {}) => {
    const run = newRun(agent, sessionOf(options.sessionId));
    return streamOf(run, options, async (cancelled) => {
      claim(run);
      await runs.start(run, input, {
        ...options,
        signals: signalsOf(options, cancelled),
        people: peopleOf(run, options),
      });
    });
  };

  const close = async () => {
    closing ??= runs.cancelAll().then(() => agent[Symbol.asyncDispose]());
    await closing;
  };

  return {
    runStream,
    run: async (input, options) => runStream(input, options).result(),
    streamText: (input, options = {}) => runStream(input, options).text(options),
    resume(runId, options = {}) {
      const run = runs.find(runId);
      if (run === undefined || !isParked(run.state)) throw notParked();
      return streamOf(run, options, async (cancelled) => {
        const decide = () => decidePending(runs, run, options);
        const signals = signalsOf(options, cancelled);
        await runs.resume(run, { signals, cause: 'resume', decide, people: peopleOf(run, options) });
      });
    },
    busy: (name) => (name === undefined ? runs.size > 0 : (sessions.get(sessionIdOf(name))?.running ?? null) !== null),
    get closed() {
      return closing !== null;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The runs below this one, each behind a place; a reader may come before they begin. */
function followChild({ family }: DirectRun, below: ReadonlyMap<RunId, number>): FollowChild {
  return (runId, read, signal) => {
    const after = Math.max(read, below.get(runId) ?? 0);
    return family.logOf(runId).follow({ after, ...(signal === undefined ? {} : { signal, patient: true }) });
  };
}

async function decidePending(runs: DirectRuns, run: DirectRun, { onApproval }: ResumeOptions): Promise<void> {
  if (onApproval === undefined) return;
  const { signal } = run.stop;
  const { logger } = run.agent.engine;
  for (const entry of run.state.pending.filter(isOpen)) {
    const yes = entry.kind !== 'question' && (await askInTime(onApproval, entry, { signal, logger }));
    if (signal.aborted) return;
    runs.decide(run, entry.executionKey, { by: 'callback', decision: wordOn(entry, yes) });
  }
}

function wordOn({ kind }: PendingEntry, yes: boolean) {
  switch (kind) {
    case 'approval':
      return yes ? 'approve' : 'deny';
    case 'recovery':
      return yes ? 'retry' : 'abort';
    case 'question':
      return 'decline';
  }
}

function signalsOf({ signal }: ResumeOptions, cancelled: AbortSignal): readonly AbortSignal[] {
  return signal === undefined ? [cancelled] : [cancelled, signal];
}

function peopleOf(run: DirectRun, { onApproval }: ResumeOptions): People {
  if (onApproval === undefined) return { how: run.agent.config.approvals.direct };
  return { how: 'ask', decide: onApproval };
}
