import { createPeopleVerbs, type AsVerb } from './people-verbs.ts';
import { cursorOf } from './cursor.ts';
import { DurableRuns } from './durable-runs.ts';
import { findRun } from '../tasks/find-in-scope.ts';
import { followUpOf, libraryPrincipal as principal } from './durable-admission.ts';
import { queueTask } from '../tasks/queue-task.ts';
import { RuntimeStateError, TaskEndedError } from '../core/errors.ts';
import { sessionIdOf } from './session-id.ts';
import { steerTask } from '../tasks/steer-task.ts';
import { toMessages } from './run-input.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { CloseOptions, Runtime } from './runtime.ts';
import type { Services } from '../tasks/services.ts';

/** The verbs of a runtime over what its processes share. `close` is the composer's. */
export function createDurableRuntime(
  services: Services,
  agents: readonly AssembledAgent[],
  { close }: { readonly close: (options?: CloseOptions) => Promise<void> },
): Runtime {
  let closing: Promise<void> | null = null;
  const requireOpen = () => {
    if (closing !== null) throw new RuntimeStateError('This runtime is closed.');
  };
  const runs = new DurableRuns(services, agents, requireOpen);
  const verb: AsVerb =
    (work) =>
    async (...args) => {
      requireOpen();
      return work(...args);
    };
  const closeOnce = async (options?: CloseOptions) => {
    closing ??= close(options);
    await closing;
  };
  const runStream: Runtime['runStream'] = (input, options) => {
    requireOpen();
    return runs.start(input, options);
  };
  return {
    ...createPeopleVerbs(services, verb),
    runStream,
    run: verb((input, options) => runStream(input, options).result()),
    streamText: (input, options = {}) => runStream(input, options).text(options),
    submit: verb((input, options) => runs.submit(input, options)),
    handle: verb((runId) => runs.handle(runId)),
    events: verb(async (runId, options = {}) => (await runs.handle(runId)).stream(options)),
    cursor: cursorOf,
    resume: verb((runId) => runs.resume(runId)),
    retry: verb((runId) => runs.retry(runId)),
    pause: verb((runId) => runs.pause(runId)),
    cancel: verb((runId) => runs.cancel(runId)),
    compact: verb(async (name, request = {}) => {
      const { runId } = await runs.find(name);
      // Between two steps there is nobody who would remember it.
      if (services.scheduler !== undefined)
        throw new RuntimeStateError(
          'A run that a scheduler gives out step by step shortens its conversation only by itself.',
        );
      if (!services.runs.compact(runId, request)) throw new RuntimeStateError('This run is not at work here.');
    }),
    send: verb((target, message, options) => send(services, { target, message, ...options })),
    runs: {
      get: verb((runId) => runs.find(runId)),
      list: verb(async ({ sessionId }) => {
        const known = await services.store.runIdsOfSession(sessionIdOf(sessionId));
        const records = await Promise.all(known.map(({ runId }) => runs.find(runId)));
        return records.filter(({ parentRunId }) => parentRunId === null);
      }),
    },
    get closed() {
      return closing !== null;
    },
    close: closeOnce,
    [Symbol.asyncDispose]: () => closeOnce(),
  };
}

type Target = Parameters<Runtime['send']>[0];
interface Sent {
  readonly target: Target;
  readonly message: Parameters<Runtime['send']>[1];
  readonly mode: Parameters<Runtime['send']>[2]['mode'];
}

/** @throws RuntimeStateError  There is nobody left to read a steering message (E-661). */
async function send(services: Services, { target, message, mode }: Sent): Promise<{ readonly messageId: string }> {
  const run = await findRun(services, principal, await nameOf(services, target));
  const { runId } = run;
  const content = (await toMessages(message, runId, services.store)).flatMap((each) => each.content);
  const said = { content, messageId: message.messageId ?? null };
  try {
    const { messageId } =
      mode === 'steer'
        ? await steerTask(services, principal, { responseId: runId, message: said })
        : await queueTask(services, principal, followUpOf(run, said));
    return { messageId };
  } catch (cause) {
    if (cause instanceof TaskEndedError) throw new RuntimeStateError('This run has ended.', { cause });
    throw cause;
  }
}

/** Of the run that is spoken to: the one at work in a session, else its newest. */
async function nameOf({ store }: Services, target: Target): Promise<string> {
  if ('runId' in target) return target.runId;
  const session = await store.session(sessionIdOf(target.sessionId));
  const runId = session?.runningRunId ?? (session === null ? null : await store.tip(session.sessionId));
  if (runId === null) throw new RuntimeStateError('There is no such session.');
  return runId;
}
