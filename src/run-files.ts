// Kept runs as files of stream parts, and back, for the command line: servers may be working on the store or not.

import { createPartsView } from './views/parts-view.ts';
import { createUhpFrames } from './views/uhp-frames.ts';
import { NotFoundError } from './core/errors.ts';
import { finalStatus } from './tasks/run-recorder.ts';
import { importedHarness, readRunFile, RunFileError } from './read-run-file.ts';
import { isJsonObject, toJsonValue } from './core/json.ts';
import { marshalStreamPart } from './protocol/parts/marshal-stream-part.ts';
import { openMadeStore } from './open-store.ts';
import { runIds, sessionIds, type RunId, type SessionId } from './core/ids.ts';
import { sessionTitle } from './core/session-title.ts';
import { systemClock } from './system.ts';
import type { Config } from './config.ts';
import type { EndedRun, Store } from './stores/store.ts';
import type { RunEvent } from './core/run-event.ts';
import { userText } from './core/user-text.ts';

export interface KeptRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** False: it was there already. */
  readonly isNew: boolean;
}

export interface RunFiles extends AsyncDisposable {
  /** Lines of parts: a run, or all runs of a session that can be read. @throws NotFoundError */
  write(id: string): AsyncIterable<string>;
  /** Keeps all that the file holds, or nothing, and executes nothing. @throws RunFileError, NotKeptError */
  keep(text: string, principal: string): Promise<{ readonly runs: readonly KeptRun[]; readonly leftOut: number }>;
}

/** @throws ConfigurationError  No server was ever started on the folder, or the database cannot be used. @throws StorageError */
export async function openRunFiles(config: Config): Promise<RunFiles> {
  const store = await openMadeStore(config);
  return {
    async *write(id) {
      for (const runId of await runsOf(store, id)) yield* linesOf(store, runId);
    },
    async keep(text, principal) {
      const { logs, leftOut } = readRunFile(text, systemClock.now());
      const runs = endedRuns(logs, principal);
      const isNew = await store.keepEnded(runs);
      const kept = runs.map(({ runId, sessionId }, index) => ({ runId, sessionId, isNew: isNew[index] === true }));
      return { runs: kept, leftOut };
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function runsOf(store: Store, id: string): Promise<readonly RunId[]> {
  const sessionId = sessionIds.parse(id);
  if (sessionId !== undefined) {
    const runs = await store.responsesOfSession(sessionId);
    if (runs.length === 0) throw new NotFoundError('session');
    return runs;
  }
  const runId = runIds.parse(id);
  const run = runId === undefined ? null : await store.run(runId);
  if (run === null || run.deleted) throw new NotFoundError('response');
  return [run.runId];
}

const pageEvents = 500;

async function* linesOf(store: Store, runId: RunId): AsyncGenerator<string> {
  const view = createPartsView({ envelope: true });
  for (let after = 0; ;) {
    const events = await store.readEvents(runId, { after, limit: pageEvents });
    if (events.length === 0) return;
    const lines = events.flatMap((event) => view.push(event)).map((part) => `${marshalStreamPart(part)}\n`);
    if (lines.length > 0) yield lines.join('');
    after = events.at(-1)?.seq ?? after;
  }
}

/** Of one session each goes on from the one before it in the file. */
function endedRuns(logs: readonly (readonly RunEvent[])[], principal: string): readonly EndedRun[] {
  const tips = new Map<SessionId, RunId>();
  return logs.map((log) => {
    const [first] = log;
    if (first === undefined) throw new RunFileError('It holds a run without events.');
    const previousRunId = tips.get(first.sessionId) ?? null;
    tips.set(first.sessionId, first.runId);
    return endedRun(log, first, { principal, previousRunId });
  });
}

function endedRun(
  log: readonly RunEvent[],
  { runId, sessionId, ...first }: RunEvent,
  o: Pick<EndedRun, 'principal' | 'previousRunId'>,
): EndedRun {
  const last = log.at(-1);
  const status = last?.type === 'run-result' ? finalStatus(last.data.status) : null;
  if (status === null || first.type !== 'run-started') throw new RunFileError(`${runId} has no beginning, or no end.`);
  const { task, input = [] } = first.data;
  const frames = createUhpFrames({ runId, sessionId, reinsEvents: task?.reinsEvents ?? false, encode: false });
  frames.push(log);
  const response = toJsonValue(frames.response());
  return {
    ...o,
    runId,
    sessionId,
    harnessId: task?.harnessId ?? importedHarness,
    title: sessionTitle(userText(input[0]?.content ?? [])) || 'Imported',
    events: log,
    status,
    response: isJsonObject(response) ? response : null,
    atMs: systemClock.now(),
  };
}
