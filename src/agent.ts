// The engine as a library: one agent in one folder, no server. Its runs live in a log in memory, and everything is read from
// that log, as everywhere (E-007).

import { acceptTask, type TaskBody } from './tasks/accept-task.ts';
import { composeLocal, owner, type Local } from './compose.ts';
import { loadConfig, type Config } from './config.ts';
import { ReinsError, RuntimeStateError } from './core/errors.ts';
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
  /** Cancels what runs. Idempotent. */
  close(): Promise<void>;
}

/** @throws ConfigurationError  A setting that cannot work. */
export function createAgent(options: AgentOptions = {}): Agent {
  const config = options.config ?? loadConfig({ flags: { host: '127.0.0.1' } });
  let local: Promise<Local> | null = null;
  let closing: Promise<void> | null = null;
  const open = () => {
    if (closing !== null) throw new RuntimeStateError('This agent is closed.');
    return (local ??= composeLocal(config, options.cwd ?? '.'));
  };
  const start = async (prompt: string): Promise<{ local: Local; runId: RunId }> => {
    const parts = await open();
    const harnessId = await parts.harness(options.harness ?? null);
    const body = { ...plainTask, ...input(prompt), harnessId, model: options.model ?? null };
    const instructions = options.instructions ?? null;
    const accepted = await acceptTask(parts.services, {
      principal: owner,
      idempotency: null,
      body: { ...body, instructions },
    });
    return { local: parts, runId: accepted.runId };
  };
  const runStream: Agent['runStream'] = (prompt, runOptions = {}) => createRunStream(() => start(prompt), runOptions);
  const close = async () => {
    const opened = await local;
    await opened?.[Symbol.asyncDispose]();
  };
  return {
    runStream,
    run: (prompt, runOptions) => runStream(prompt, runOptions).result(),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
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
  return {
    messages: [{ content: [{ type: 'text', text: prompt }] }],
    inputItems: [{ role: 'user', content: prompt }],
  };
}

type Started = Promise<{ readonly local: Local; readonly runId: RunId }>;

function createRunStream(start: () => Started, { signal }: RunOptions): RunStream {
  let started: Started | null = null;
  let owned = false;
  let ended: Promise<RunResultData> | null = null;
  const begin = () => (started ??= start());
  const stop = async () => {
    const { local, runId } = await begin();
    local.services.runs.stop(runId, 'cancel');
  };
  const result = () => (ended ??= awaitResult(begin(), { signal, stop }));
  const cancel = async () => {
    const outcome = result();
    await stop();
    return outcome;
  };

  async function* events(owns: boolean): AsyncGenerator<RunEvent> {
    const outcome = result();
    let complete = false;
    try {
      const { local, runId } = await begin();
      for await (const batch of local.services.log.follow(runId, { after: 0 })) yield* batch;
      complete = true;
      await outcome;
    } finally {
      if (owns && !complete) await cancel();
    }
  }

  return {
    result,
    cancel,
    [Symbol.asyncIterator]() {
      const owns = !owned;
      owned = true;
      return events(owns);
    },
    async [Symbol.asyncDispose]() {
      if (started !== null) await cancel();
    },
  };
}

async function awaitResult(
  started: Started,
  { signal, stop }: { readonly signal: AbortSignal | undefined; stop(): Promise<void> },
): Promise<RunResultData> {
  const { local, runId } = await started;
  const onAbort = () => void stop();
  signal?.addEventListener('abort', onAbort);
  try {
    if (signal?.aborted) onAbort();
    for await (const events of local.services.log.follow(runId, { after: 0 })) {
      const last = events.at(-1);
      if (last?.type === 'run-result') return last.data;
    }
    throw new ReinsError('The run was left before it ended: its agent was closed.');
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
