// One run, from its first event to its last: the host of a harness.
//
// X1. A run ends exactly once, whatever the harness does: throws, hangs at any stage, stops without a result, goes on after it.
// X2. Committed groups are durable before the harness is asked for more (harness A1); live ones are not waited for.
// X3. A harness that was told to stop, by a person, its budget or a shutdown, has a bounded time to end; then the run ends
//     without it and says so (E-816).
// X4. A shutdown leaves the run unended, and without an owner, for the next start; a lost lease leaves it to who has it.
//     So does who was asked to do one effect only (`leaveBefore`).
// X5. A run's harness is opened when it has a place (UD-59). Until then it can be stopped like any other, and its time runs.

import { AdapterProtocolError, ConfigurationError, LeaseLostError, StorageError } from '../core/errors.ts';
import { applyDrafts } from '../core/closing.ts';
import { createRunRecorder, finalStatus, type RunRecorder } from './run-recorder.ts';
import { deadlineOf, evolve, type RunState } from '../core/run-state.ts';
import { foldLog } from './fold-log.ts';
import { endParked } from './end-parked.ts';
import { placeInputFiles } from './place-input-files.ts';
import { placeSaidFiles, placeUnreadFiles } from './place-said-files.ts';
import { readHistory } from './read-history.ts';
import { rememberFiles } from './check-files.ts';
import { startDeadline, type TurnDeadline } from './turn-deadline.ts';
import { parkFolder, settleFolder } from './settle-folder.ts';
import { stopOf } from '../core/stop-turn.ts';
import type { Ending } from '../core/closing.ts';
import type { EventDraft, LeftBy, RunEvent, RunStarted } from '../core/run-event.ts';
import type { HarnessAdapter, HarnessSession, Turn } from '../harnesses/harness.ts';
import type { RunErrorType } from '../core/outcome.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Rule } from '../core/rule.ts';
import type { RunSignals } from './background-runs.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';

export interface Execution extends RunSignals {
  readonly run: RunRecord;
  /** The run was begun before: by an owner that is gone, or it was parked. */
  readonly continues: boolean;
  /** What became of an owner before; absent: a crash. */
  readonly leftBy?: LeftBy;
  /** Its place among those at work, given back here; null: it needs none. */
  readonly slot: RunSlot | null;
  /** True: the harness is left there, between two effects, and the run without an owner. Absent: it works to the end. */
  leaveBefore?(state: RunState): boolean;
}

export async function executeRun(services: Services, execution: Execution): Promise<void> {
  const { run, signal, pause, compactions, continues, leftBy = 'crash' } = execution;
  using slot = execution.slot;
  const folded = await foldLog(services, run);
  const { state, damage } = folded;
  if (state.result !== null && finalStatus(state.result.status) !== null) return;
  const leg = continues ? state.leg + 1 : state.leg;
  const recorder = createRunRecorder(services, run, { ...folded, leg });
  const start = continues ? nextLeg(state) : null;
  const begun = start === null ? state : applyDrafts(state, [start], services.clock.now());
  using deadline = startDeadline(services.clock, { signal, dueAtMs: deadlineOf(begun) });
  let isLeft = false;
  const leaveBefore = (now: RunState) => (isLeft = execution.leaveBefore?.(now) ?? false);
  try {
    if (damage !== null) throw damage;
    const cause = start?.data.cause ?? 'submit';
    const taken = start === null ? [] : ((await recorder.write([start]))?.taken ?? []);
    const current = start === null ? state : taken.reduce(evolve, state);
    if (!(await mayBegin(slot, deadline)))
      return await endWaiting(services, { run, recorder, deadline, state: current, continues });
    const options = { cause, leftBy, pause, compactions, leaveBefore };
    const turn = runTurn(services, { run, recorder, deadline, state: current, ...options });
    const outcome = await Promise.race([turn, deadline.over]);
    if (outcome === 'over') return;
    if (outcome === 'stopped' && isLeft) return await leave(services, { run, recorder, state: current });
    await endUnfinished(services, { run, recorder, deadline, state: current });
  } catch (cause) {
    await endAfterFault(services, { run, recorder, deadline, state: begun, cause });
  } finally {
    recorder.close();
  }
}

async function mayBegin(slot: RunSlot | null, { signal }: TurnDeadline): Promise<boolean> {
  await slot?.free(signal).catch(() => undefined);
  return slot === null || !signal.aborted;
}

/** Nothing was begun that would have to be stopped, but for what was kept for a run that was parked. */
async function endWaiting(
  services: Services,
  { run, recorder, deadline: { signal }, state, continues }: EndingTurn & Pick<Execution, 'continues'>,
): Promise<void> {
  const how = stopOf(signal);
  if (how === 'shutdown') return leave(services, { run, recorder, state });
  const ending: Ending = how === 'cancel' ? { status: 'cancelled' } : unfinished(state, signal);
  await recorder.end(continues ? await endParked(services, { run, config: state.config, ending }) : ending);
}

/** Ends a run that no harness works on, by the closing rule and nothing else. */
export async function endRun(services: Services, run: RunRecord, ending: Ending): Promise<void> {
  const folded = await foldLog(services, run);
  const { state } = folded;
  if (state.result !== null && finalStatus(state.result.status) !== null) return;
  const recorder = createRunRecorder(services, run, { ...folded, leg: state.leg + 1 });
  try {
    await recorder.write([nextLeg(state)]);
    await recorder.end(state.result === null ? ending : { ...ending, wasParked: true });
  } finally {
    recorder.close();
  }
}

interface RunningTurn extends Pick<RunSignals, 'pause' | 'compactions'>, Required<Pick<Execution, 'leaveBefore'>> {
  readonly run: RunRecord;
  readonly recorder: RunRecorder;
  readonly deadline: TurnDeadline;
  readonly state: RunState;
  readonly cause: RunStarted['cause'];
  readonly leftBy: LeftBy;
}

/** Drives the harness to its `run-result`; `stopped`: it ended without one. May hang as long as the harness does. */
async function runTurn(services: Services, turn: RunningTurn): Promise<'over' | 'stopped'> {
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
  { run, state: { config, step }, cause }: RunningTurn,
  adapter: HarnessAdapter,
): Promise<string> {
  const { workspaces, agentTurns } = services;
  const { principal, sessionId } = run;
  if (config?.attached?.workspace !== 'principal') {
    const isNew = step === 0 && (cause === 'submit' || cause === 'retry');
    await settleFolder(services, run, isNew ? 'begin' : 'continue').catch((reason) => {
      throw new StorageError('The working directory of this task cannot be had on this server.', { cause: reason });
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
  const [first] = await services.store.readEvents(run.runId, { after: 0, limit: 1 });
  if (first?.type === 'run-started') await placeInputFiles(services, workspace, first.data.input ?? []);
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

/** The first event of the next leg: after a park because of what was said, else because an owner is gone. */
function nextLeg(state: RunState): Extract<EventDraft, { type: 'run-started' }> {
  const parked = state.result?.status;
  const cause = parked === undefined ? 'recovery' : parked === 'paused' ? 'resume' : 'decision';
  const { agent, config, requested: model, limits } = state;
  const whose = { ...(agent === null ? {} : { agent }), ...(config === null ? {} : { _base: config.base }) };
  const data = { leg: state.leg + 1, cause, ...whose, model, limits } as const;
  return { type: 'run-started', data, step: state.step, attempt: 0 };
}

/** How a run ends whose harness stopped without a word, or did not stop. */
function unfinished({ limits }: RunState, signal: AbortSignal): Ending {
  switch (stopOf(signal)) {
    case 'cancel':
      return { status: 'cancelled', unstopped: ['The agent did not confirm that it stopped.'] };
    case 'time': {
      const limit = limits.maxSeconds ?? 0;
      const budget = { budget: 'time', limit, used: limit, then: 'stop' } as const;
      return { status: 'completed', stopReason: 'max-time', budget };
    }
    case 'shutdown':
    case undefined:
      return failed('AdapterProtocolError', 'The agent stopped without giving a result.');
  }
}

type EndingTurn = Pick<RunningTurn, 'run' | 'recorder' | 'deadline' | 'state'>;

async function endUnfinished(services: Services, { run, recorder, deadline, state }: EndingTurn): Promise<void> {
  if (stopOf(deadline.signal) === 'shutdown') return leave(services, { run, recorder, state });
  await recorder.end(unfinished(state, deadline.signal));
}

/** To its next owner (X4); nobody will wait for one that is attached to a call of this process. */
async function leave(
  services: Services,
  { run, recorder, state }: Pick<EndingTurn, 'run' | 'recorder' | 'state'>,
): Promise<void> {
  if (state.config?.attached === undefined) {
    await parkFolder(services, run);
    return services.store.release(run.runId, services.owner);
  }
  await recorder.end({ status: 'cancelled' });
}

async function endAfterFault(
  services: Services,
  { cause, ...turn }: EndingTurn & { readonly cause: unknown },
): Promise<void> {
  const { logger } = services;
  const { run, recorder, deadline } = turn;
  const { runId } = run;
  if (cause instanceof LeaseLostError) return logger.warn('Another owner has this run.', { runId });
  // Many a harness throws because it was told to stop: that is no fault of the task (B097).
  if (stopOf(deadline.signal) !== undefined && !(cause instanceof StorageError)) {
    logger.warn('A harness failed while it was stopped.', { runId, cause: String(cause) });
    return endUnfinished(services, turn);
  }
  logger.error('A run failed in its host.', { runId }, cause);
  await recorder.end(endingOf(cause));
}

function endingOf(cause: unknown): Ending {
  if (cause instanceof StorageError)
    return failed('StorageError', 'The server could not read or write what this task needs.');
  if (cause instanceof ConfigurationError) return failed('AgentUnavailableError', cause.message);
  if (cause instanceof AdapterProtocolError) return failed('AdapterProtocolError', cause.message);
  return failed('HarnessError', 'The agent met an unexpected fault and was stopped.');
}

function failed(type: RunErrorType, message: string): Ending {
  return { status: 'failed', error: { type, message, retryable: false } };
}
