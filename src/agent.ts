// The engine as a library: one agent in one folder, no server. Its runs live in a log in memory, and everything is read from
// that log, as everywhere (E-007).

import { acceptTask, type TaskBody } from './tasks/accept-task.ts';
import { composeLocal, owner } from './compose.ts';
import { loadConfig, type Config } from './config.ts';
import { RuntimeStateError, StorageError } from './core/errors.ts';
import { toWellFormed } from './core/text.ts';
import type { Logger } from './core/logger.ts';
import type { Services } from './tasks/services.ts';
import type { RunEvent } from './core/run-event.ts';
import type { RunId } from './core/ids.ts';
import type { RunResultData } from './core/outcome.ts';

export interface AgentOptions {
  /** A canonical id, a provider's own name, or `<provider>/<name>`; absent: the default model, `demo` without any key. */
  readonly model?: string;
  /** The folder the agent works in; absent: the current one. */
  readonly cwd?: string;
  /** A harness base; absent: the preferred one, `native`. */
  readonly harness?: string;
  /** Added to what the settings say. */
  readonly instructions?: string;
  /** Absent: environment and settings file, as for the command line. */
  readonly config?: Config;
  /** Where the causes of failures go; absent: nowhere. */
  readonly logger?: Logger;
}

export interface RunOptions {
  /** Aborting cancels the run (E-040). */
  readonly signal?: AbortSignal;
}

/** Nothing starts before the first `next()` or `result()` (E-030). */
export interface RunStream extends AsyncIterable<RunEvent>, AsyncDisposable {
  /** The same promise every time; resolves also for a failed or cancelled run (E-022), and when nobody iterates. */
  result(): Promise<RunResultData>;
  cancel(): Promise<RunResultData>;
}

export interface Agent extends AsyncDisposable {
  /** Never rejects because the run failed: that is data (E-022). @throws RequestError  The model cannot be served. */
  run(prompt: string, options?: RunOptions): Promise<RunResultData>;
  /** Breaking out of the first iteration cancels the run (E-032); later iterations only watch (E-034). */
  runStream(prompt: string, options?: RunOptions): RunStream;
  /** Cancels what runs, then forgets all runs: their log lives as long as the agent. Idempotent. */
  close(): Promise<void>;
}

/** @throws ConfigurationError  A setting that cannot work, a folder or harness that is not there. */
export function createAgent(options: AgentOptions = {}): Agent {
  const { cwd = '.', harness, logger } = options;
  const config = options.config ?? loadConfig({ flags: { host: '127.0.0.1' } });
  const local = composeLocal(config, {
    cwd,
    ...(harness === undefined ? {} : { base: harness }),
    ...(logger === undefined ? {} : { logger }),
  });
  let closing: Promise<void> | null = null;
  const start = async (prompt: string): Promise<RunId> => {
    if (closing !== null) throw new RuntimeStateError('This agent is closed.');
    const { model = null, instructions = null } = options;
    const body: TaskBody = { ...plainTask, ...input(prompt), harnessId: await local.harness(), model, instructions };
    return (await acceptTask(local.services, { principal: owner, idempotency: null, body })).runId;
  };
  const runStream: Agent['runStream'] = (prompt, runOptions = {}) =>
    createRunStream(local.services, () => start(prompt), runOptions);
  const close = async () => {
    closing ??= Promise.resolve(local[Symbol.asyncDispose]());
    await closing;
  };
  return {
    runStream,
    run: (prompt, runOptions) => runStream(prompt, runOptions).result(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const plainTask: Omit<TaskBody, 'messages' | 'inputItems' | 'harnessId' | 'model' | 'instructions'> = {
  previousResponseId: null,
  store: true,
  background: false,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  metadata: {},
  reinsEvents: false,
  ignoredFields: [],
};

function input(prompt: string): Pick<TaskBody, 'messages' | 'inputItems'> {
  const text = toWellFormed(prompt);
  return { messages: [{ content: [{ type: 'text', text }] }], inputItems: [{ role: 'user', content: text }] };
}

function createRunStream({ log, runs }: Services, start: () => Promise<RunId>, { signal }: RunOptions): RunStream {
  let started: Promise<RunId> | null = null;
  let outcome: Promise<RunResultData> | null = null;
  let owned = false;
  const begin = () => (started ??= start());
  const result = () => {
    outcome ??= awaitResult(begin());
    // Whoever asks for the result hears of a refusal; that nobody asks must not end the process.
    outcome.catch(() => {});
    return outcome;
  };
  const cancel = async () => {
    runs.stop(await begin(), 'cancel');
    return result();
  };

  async function awaitResult(begun: Promise<RunId>): Promise<RunResultData> {
    const runId = await begun;
    const onAbort = () => runs.stop(runId, 'cancel');
    signal?.addEventListener('abort', onAbort);
    try {
      if (signal?.aborted) onAbort();
      for await (const events of log.follow(runId, { after: 0 })) {
        const last = events.at(-1);
        if (last?.type === 'run-result') return last.data;
      }
      throw new StorageError('The log of the run ended before the run did.');
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async function* iterate(owns: boolean): AsyncGenerator<RunEvent> {
    const ended = result();
    const runId = await begin();
    let complete = false;
    try {
      for await (const batch of log.follow(runId, { after: 0 })) yield* batch;
      complete = true;
    } finally {
      if (owns && !complete) await cancel();
    }
    await ended;
  }

  return {
    result,
    cancel,
    [Symbol.asyncIterator]() {
      const owns = !owned;
      owned = true;
      return iterate(owns);
    },
    async [Symbol.asyncDispose]() {
      if (started !== null) await cancel().catch(() => {}); // A run that was refused needs no cancel.
    },
  };
}
