// What a harness does for one leg of a run: where it works, what it is given, and what it says, group by group, into the log.

import { AdapterProtocolError, ConfigurationError, FolderError, isOutage, StorageError } from '../core/errors.ts';
import { beginningOf } from './beginning-of.ts';
import { FilesUnavailableError } from '../files/blob-store.ts';
import { evolve, type RunState } from '../core/run-state.ts';
import { placeInputFiles } from './place-input-files.ts';
import { placeSaidFiles, placeUnreadFiles } from './place-said-files.ts';
import { readHistory } from './read-history.ts';
import { rememberFiles } from './check-files.ts';
import { settleFolder } from './settle-folder.ts';
import type { EventDraft, LeftBy, RunEvent, RunStarted } from '../core/run-event.ts';
import type { HarnessAdapter, HarnessSession, Turn } from '../harnesses/harness.ts';
import type { Rule } from '../core/rule.ts';
import type { RunRecord } from '../stores/store.ts';
import type { RunRecorder } from './run-recorder.ts';
import type { RunSignals } from './background-runs.ts';
import type { Services } from './services.ts';
import type { TurnDeadline } from './turn-deadline.ts';

export interface RunningTurn extends Pick<RunSignals, 'pause' | 'compactions'> {
  readonly run: RunRecord;
  readonly recorder: RunRecorder;
  readonly deadline: TurnDeadline;
  readonly state: RunState;
  readonly cause: RunStarted['cause'];
  readonly leftBy: LeftBy;
  /** True: the harness is left there, between two effects. */
  readonly leaveBefore: (state: RunState) => boolean;
}

/** Drives the harness to its `run-result`; `stopped`: it ended without one. May hang as long as the harness does. */
export async function runTurn(services: Services, turn: RunningTurn): Promise<'over' | 'stopped'> {
  const { run, recorder, deadline } = turn;
  const adapter = services.harnesses.adapter(turn.state.config?.base ?? '');
  if (adapter === undefined) throw new ConfigurationError('The harness of this task is not installed any more.');
  const { messages: history, todos } = await readHistory(services, run);
  const workspace = await workspaceOf(services, turn, adapter);
  await placeInput(services, { run, workspace, state: turn.state });
  await placeUnreadFiles(services, run, turn.state.unread);
  const missing = await rememberFiles(services, run, turn.state.step);
  // The leg has heard of it from who began it.
  const met = isBegun(turn) ? undefined : await recorder.write(missing);
  const state = (met?.taken ?? []).reduce(evolve, turn.state);
  const session = await adapter.openSession({
    sessionId: run.sessionId,
    workspace,
    history,
    todos,
    clock: services.clock,
  });
  try {
    const groups = openTurn(services, session, { ...turn, state })[Symbol.asyncIterator]();
    return await recordGroups(services, { groups, run, recorder, deadline });
  } finally {
    // The run does not wait for its harness to clean up; a shutdown does, within the grace period.
    services.runs.cleanUp(run.runId, async () => session[Symbol.asyncDispose]());
  }
}

/** The leg is gone on with from where it was left between two effects. */
function isBegun({ cause, state }: Pick<RunningTurn, 'cause' | 'state'>): boolean {
  return state.step > 0 && (cause === 'submit' || cause === 'retry');
}

/** That of the session, but for an attached run in its principal's folder. */
async function workspaceOf(
  services: Services,
  { run, state: { config, step }, cause: begunBy }: RunningTurn,
  adapter: HarnessAdapter,
): Promise<string> {
  const { workspaces, agentTurns } = services;
  const { principal, sessionId } = run;
  if (config?.attached?.workspace !== 'principal') {
    const isNew = step === 0 && (begunBy === 'submit' || begunBy === 'retry');
    await settleFolder(services, run, isNew ? 'begin' : 'continue').catch(async (cause: unknown) => {
      // Who has it is to find the run free; a bucket that is away comes back.
      const isFiles = cause instanceof FilesUnavailableError;
      if (isFiles && cause.reason !== 'unreachable') await services.store.release(run.runId, services.owner);
      const Kind = isFiles || isOutage(cause) ? StorageError : FolderError;
      throw new Kind('The working directory of this task cannot be had on this server.', { cause });
    });
    return workspaces.ensure(sessionId);
  }
  if (agentTurns === undefined) throw new ConfigurationError('There are no folders of principals here.');
  return agentTurns.folders.ensure(principal, adapter.keepsDirectory === true ? '.' : (config.directory ?? '.'));
}

/** Once a step has begun, what lies there is the agent's; unless that was on another machine, and was left behind. */
async function placeInput(
  services: Services,
  { run, workspace, state }: { readonly run: RunRecord; readonly workspace: string; readonly state: RunState },
): Promise<void> {
  const { files } = services;
  if (state.step > 0 && (files?.foldersMove !== true || (await files.hasBegun(run)))) return;
  const begin = await beginningOf(services, run.runId);
  if (begin !== null) await placeInputFiles(services, workspace, begin.data.input ?? []);
}

function openTurn(
  services: Services,
  session: HarnessSession,
  { run, state, cause, leftBy, deadline, ...turn }: RunningTurn,
): Turn {
  const { pause, compactions, leaveBefore } = turn;
  const outside = (signal: AbortSignal) => saidMeanwhile(services, run, signal);
  const rules = () => rulesFor(services, run);
  const options = { signal: deadline.signal, pause, compactions, rules, outside, leaveBefore };
  if (cause === 'submit' || (cause === 'retry' && state.leg === 1)) return session.prompt(state, options);
  if (session.attach === undefined)
    throw new ConfigurationError('The server stopped while this task ran, and its agent cannot go on.');
  return session.attach(state, { ...options, cause, leftBy });
}

/** What people say to the run from now on (harness A5). */
async function* saidMeanwhile(services: Services, run: RunRecord, signal: AbortSignal) {
  const { log, store } = services;
  const { runId } = run;
  const after = (await store.run(runId))?.lastSeq ?? 0;
  for await (const events of log.follow(runId, { after, signal })) {
    await placeSaidFiles(services, run, events);
    for (const event of events) if (event.type === 'user-message' || event.type === 'approval-decided') yield event;
  }
}

/** Remembered decisions of this agent, made in this run, in its session, or anywhere (E-609); a sub-agent's are made in the run it works for. */
async function rulesFor({ store }: Services, run: RunRecord): Promise<readonly Rule[]> {
  const rules = (await store.rules({ principal: run.principal })).filter(
    ({ harnessId }) => harnessId === run.harnessId,
  );
  if (rules.length === 0) return [];
  let top = run;
  while (top.parentRunId !== null) top = (await store.run(top.parentRunId)) ?? { ...top, parentRunId: null };
  return rules.filter(({ scope, runId, sessionId }) => {
    if (scope === 'run') return runId === top.runId;
    return scope === 'agent' || sessionId === top.sessionId;
  });
}

async function recordGroups(
  services: Services,
  o: { readonly groups: TurnIterator } & Pick<RunningTurn, 'run' | 'recorder' | 'deadline'>,
): Promise<'over' | 'stopped'> {
  const { groups, run, recorder, deadline } = o;
  let taken: readonly RunEvent[] | undefined;
  try {
    while (!deadline.isOver) {
      const next = await groups.next(taken);
      if (deadline.isOver || next.done === true) return 'stopped';
      if (next.value.some(isOfHost)) throw new AdapterProtocolError('The harness wrote what only its host may write.');
      const stored = recorder.write(next.value);
      if (stored === undefined) {
        taken = undefined;
        continue;
      }
      const recorded = await stored;
      if (recorded.leg === 'over') return 'over';
      taken = recorded.taken;
      await placeSaidFiles(services, run, taken);
    }
    return 'stopped';
  } finally {
    // A harness that hangs cannot be waited for; its late events are thrown away with its iterator (X3).
    const onFailure = (cause: unknown) =>
      services.logger.warn('A harness failed to stop.', { runId: run.runId, cause: String(cause) });
    groups.return?.().catch(onFailure);
  }
}

/** What a file is kept as is never its harness's word: it would be one for any path (B121). */
function isOfHost(draft: EventDraft): boolean {
  return draft.type === 'run-started' || (draft.type === 'file-changed' && draft.data.fileId !== undefined);
}

type TurnIterator = ReturnType<Turn[typeof Symbol.asyncIterator]>;
