// One folder, one harness, no server: what `reins run` works with. Its runs live in a log in memory, and everything is read
// from that log, as everywhere (E-007).

import { acceptTask } from './tasks/accept-task.ts';
import { composeLocal, owner } from './compose.ts';
import { createRunStream, type RunStream } from './runtimes/run-stream.ts';
import { runIds, sessionIds } from './core/ids.ts';
import { systemClock, systemRandom } from './system.ts';
import { plainTask, type TaskBody } from './tasks/task-body.ts';
import { toWellFormed } from './core/text.ts';
import type { Config } from './config.ts';
import type { Logger } from './core/logger.ts';
import type { RunEvent } from './core/run-event.ts';
import type { Services } from './tasks/services.ts';

export interface LocalAgentOptions {
  readonly config: Config;
  /** The folder the agent works in. */
  readonly cwd: string;
  /** A canonical id, a provider's own name, or `<provider>/<name>`; absent: the default model. */
  readonly model?: string;
  /** A harness base; absent: the preferred one. */
  readonly harness?: string;
  readonly logger: Logger;
}

export interface LocalAgent extends AsyncDisposable {
  runStream(prompt: string, options: { readonly signal: AbortSignal }): RunStream;
}

/** @throws ConfigurationError  A setting that cannot work, a folder or harness that is not there. */
export async function openLocalAgent(options: LocalAgentOptions): Promise<LocalAgent> {
  const { config, cwd, harness, model = null, logger } = options;
  const local = composeLocal(config, { cwd, logger, ...(harness === undefined ? {} : { base: harness }) });
  return {
    runStream(prompt, { signal }) {
      const runId = runIds.make(systemRandom.token());
      const sessionId = sessionIds.make(systemRandom.token());
      const { services } = local;
      const stop = () => void services.runs.stop(runId, 'cancel');
      return createRunStream({
        runId,
        sessionId,
        owns: true,
        clock: systemClock,
        async start() {
          const body = { ...plainTask, ...input(prompt), harnessId: await local.harness(), model };
          await acceptTask(services, { principal: owner, idempotency: null, body, ids: { runId, sessionId } });
          signal.addEventListener('abort', stop);
          if (signal.aborted) stop();
        },
        follow: (left) => toEnd(services, runId, left),
        async cancel() {
          stop();
          await services.runs.ended(runId);
        },
      });
    },
    [Symbol.asyncDispose]: () => local[Symbol.asyncDispose](),
  };
}

/** A run that waits for a person has nobody to wait for here: it shows its park as its end. */
async function* toEnd(
  { log }: Services,
  runId: RunStream['runId'],
  signal: AbortSignal,
): AsyncGenerator<readonly RunEvent[]> {
  for await (const batch of log.follow(runId, { after: 0, signal })) {
    yield batch;
    if (batch.at(-1)?.type === 'run-result') return;
  }
}

function input(prompt: string): Pick<TaskBody, 'messages' | 'inputItems'> {
  const text = toWellFormed(prompt);
  return { messages: [{ content: [{ type: 'text', text }] }], inputItems: [{ role: 'user', content: text }] };
}
