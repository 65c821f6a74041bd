// Who waits for an attached run: what it is told, and the end of the run with its going.
//
// Y1. However this is left, by its end, its signal, a failure or `return()`, the run is asked to stop. One that has ended is
//     left as it is.
// Y2. The last event is the terminal one, whatever becomes of the log.

import { createAgentView } from '../views/agent-view.ts';
import { stopRun } from './cancel-task.ts';
import type { AgentTurn } from './start-agent-turn.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Services } from './services.ts';

type AgentEvents = ReturnType<ReturnType<typeof createAgentView>['push']>;

/** Its events, all that are there in each batch. @param signal  Aborts when the caller has gone, or the server closes. */
export async function* followAgentTurn(
  services: Services,
  turn: AgentTurn,
  signal: AbortSignal,
): AsyncGenerator<AgentEvents> {
  const { runId, cwd, secrets } = turn;
  const view = createAgentView({ secrets, cwd, workspace: await workspaceOf(services, turn), errorId: runId });
  try {
    for await (const events of services.log.follow(runId, { after: 0, signal })) {
      const told = [];
      for (const event of events) told.push(...view.push(event, await wholeOf(services, event)));
      if (told.length > 0) yield told;
      if (view.ended) return;
    }
  } catch (cause) {
    services.logger.error('The events of a turn cannot be read.', { runId }, cause);
  } finally {
    await stopRun(services, runId);
  }
  yield view.end(signal.aborted ? 'cancelled' : 'fault');
}

/** The absolute path of its workspace. One that cannot be is the run's own fault to tell. */
async function workspaceOf({ agentTurns }: Services, { principal, cwd }: AgentTurn): Promise<string | null> {
  if (cwd === null) return null;
  return agentTurns?.folders.ensure(principal, '.').catch(() => null) ?? null;
}

/** A result that was cut for the model, as it was. */
async function wholeOf({ store, logger }: Services, event: RunEvent): Promise<string | undefined> {
  if (event.type !== 'tool-result' || event.data.spill === undefined) return undefined;
  const bytes = await store.content(event.data.spill.ref).catch((cause: unknown) => {
    logger.warn('The whole result of a call cannot be read.', { runId: event.runId, cause: String(cause) });
    return null;
  });
  return bytes === null ? undefined : new TextDecoder().decode(bytes);
}
