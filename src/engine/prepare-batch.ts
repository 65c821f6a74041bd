// The calls of one accepted reply before any is dispatched: which run, which are answered without running, and what has to
// be asked first (E-510, E-525).
//
// B1. Without effects, so it is done again after a crash or a decision, and reads decisions from the log (E-515, E-608).
// B2. A decision counts for the arguments it was given for, and never against a `deny` of now (E-524, E-603).
// B3. A call that was dispatched and never came back is judged by what the log says of it, whether its tool is still there
//     or not. It is not run again unless the log, and the tool as it was then, allow it, or a person said so, of that very
//     dispatch (E-540).

import { judge, type Judgement } from './permissions.ts';
import { executionKeyOf, type PendingTool, type ToolOutcome } from '../core/run-event.ts';
import { askInTime } from './ask-in-time.ts';
import { parseQuestions } from '../core/questions.ts';
import { pendingTool } from '../core/closing.ts';
import type { CallProgress, CallState, PendingEntry, RunState } from '../core/run-state.ts';
import type { Logger } from '../core/logger.ts';
import type { PreparedCall, Toolbox } from './prepare-call.ts';
import type { Rule } from '../core/rule.ts';
import type { Tool } from './tool.ts';
import type { ToolPolicy } from './policies.ts';

/** Who decides what has to be asked: somebody later, a callback now, or nobody. */
export type People =
  | { readonly how: 'park' }
  | { readonly how: 'ask'; readonly decide: (pending: PendingTool) => unknown }
  | { readonly how: 'deny' };

export type RunnableCall = Extract<PreparedCall, { verdict: 'run' }>;

export interface CallAnswer {
  readonly outcome: ToolOutcome;
  readonly content: string;
  readonly isError: boolean;
}

export interface RunItem {
  readonly kind: 'run';
  readonly entry: CallState;
  readonly prepared: RunnableCall;
  /** What allows it: `policy`, `rule:<id>`, `approval:<id>` or `callback`. */
  readonly authority: string;
}

export type BatchItem =
  | RunItem
  | { readonly kind: 'answer'; readonly entry: CallState; readonly answer: CallAnswer }
  | { readonly kind: 'ask'; readonly pending: PendingTool };

export interface BatchOptions {
  readonly toolbox: Toolbox;
  readonly workspace: string;
  readonly people: People;
  readonly rules: readonly Rule[];
  readonly policy: ToolPolicy;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly nowMs: number;
}

/** The tool that is never dispatched: its answer comes from a person (E-611). */
export const askUserTool = 'ask_user_questions';

export async function prepareBatch(state: RunState, options: BatchOptions): Promise<readonly BatchItem[]> {
  const items: BatchItem[] = [];
  for (const entry of state.open?.calls ?? []) {
    if (entry.progress.at === 'answered' || entry.progress.at === 'returned') continue;
    items.push(await prepareEntry(state, entry, options));
  }
  return items;
}

async function prepareEntry(state: RunState, entry: CallState, options: BatchOptions): Promise<BatchItem> {
  const prepared = await options.toolbox.prepare(entry.call);
  const asked = state.pending.findLast(
    ({ executionKey }) => executionKey === executionKeyOf(state.runId, state.step, entry.call.id),
  );
  if (entry.progress.at === 'dispatched')
    return afterDispatch(state, { entry, begun: entry.progress, prepared, asked }, options);
  if (prepared.verdict === 'refuse')
    return answered(entry, { outcome: prepared.outcome, content: prepared.content, isError: true });
  if (prepared.tool.name === askUserTool) return askQuestions(state, { entry, prepared, asked }, options);
  const judgement = await judgeCall(state, prepared, options);
  return byLevel(state, { entry, prepared, approval: approvalOf(asked, prepared), judgement }, options);
}

/** The level of a prepared call as things stand now. */
function judgeCall(
  { config }: RunState,
  { tool, input, argsDigest }: RunnableCall,
  { workspace, rules, policy }: BatchOptions,
): Promise<Judgement> {
  const settings = { permissions: config?.permissions, defaultLevel: policy.defaultPermission, rules };
  return judge({ tool, input, argsDigest, workspace, directory: config?.directory }, settings);
}

function approvalOf(asked: PendingEntry | undefined, { argsDigest }: RunnableCall): PendingEntry | undefined {
  return asked?.kind === 'approval' && asked.argsDigest === argsDigest ? asked : undefined;
}

/** A call that may run, once more, right before it is dispatched: its batch may have taken long (E-524). */
export async function confirmItem(state: RunState, item: RunItem, options: BatchOptions): Promise<BatchItem> {
  const { entry, prepared, authority } = item;
  const judgement = await judgeCall(state, prepared, options);
  const begun = entry.progress.at === 'dispatched';
  const given = authority === 'callback' || authority.startsWith('approval:');
  if (judgement.level === 'allow') return given ? item : { ...item, authority: judgement.authority };
  if (judgement.level === 'ask' && (given || begun)) return item;
  if (begun) return unknown(entry, 'It must not be.');
  return byLevel(state, { entry, prepared, approval: undefined, judgement }, options);
}

async function byLevel(
  state: RunState,
  call: {
    readonly entry: CallState;
    readonly prepared: RunnableCall;
    readonly approval: PendingEntry | undefined;
    readonly judgement: Judgement;
  },
  options: BatchOptions,
): Promise<BatchItem> {
  const { entry, prepared, approval, judgement } = call;
  if (judgement.level === 'deny') return denied(entry, 'The permissions of this agent do not allow this call.');
  if (approval?.decided?.decision === 'approve')
    return { kind: 'run', entry, prepared, authority: `approval:${approval.approvalId}` };
  if (approval !== undefined && approval.decided !== null) return denied(entry, refusalOf(approval));
  if (judgement.level === 'allow') return { kind: 'run', entry, prepared, authority: judgement.authority };
  const pending = pendingFor(state, { entry, prepared, kind: 'approval' }, options);
  const { people } = options;
  switch (people.how) {
    case 'park':
      return { kind: 'ask', pending };
    case 'deny':
      return denied(entry, 'This call needs an approval, and nobody can give one here.');
    case 'ask': {
      const yes = await askInTime(people.decide, pending, options);
      return yes ? { kind: 'run', entry, prepared, authority: 'callback' } : denied(entry, 'Not approved.');
    }
  }
}

/** A note on a denial is for the model (E-604). */
function refusalOf({ decided }: PendingEntry): string {
  const note = decided?.note === undefined ? '' : ` ${decided.note}`;
  if (decided?.decision === 'expired') return 'Nobody decided on this call in time, so it was not run.';
  return `A person refused this call.${note}`;
}

interface AskedCall {
  readonly entry: CallState;
  readonly prepared: RunnableCall;
  readonly asked: PendingEntry | undefined;
}

function askQuestions(state: RunState, { entry, prepared, asked }: AskedCall, options: BatchOptions): BatchItem {
  if (asked?.kind === 'question' && asked.decided !== null) {
    const { output } = asked.decided;
    const content = output?.content ?? 'The user did not answer.';
    return answered(entry, { outcome: 'answered', content, isError: false });
  }
  const parsed = parseQuestions(prepared.input);
  if (!parsed.ok) return answered(entry, { outcome: 'invalid', content: parsed.why, isError: true });
  if (options.people.how !== 'park')
    return answered(entry, { outcome: 'not-run', content: 'Nobody can answer questions here.', isError: true });
  const pending = pendingFor(state, { entry, prepared, kind: 'question' }, options);
  return { kind: 'ask', pending: { ...pending, questions: parsed.questions } };
}

interface BegunCall {
  readonly entry: CallState;
  readonly begun: Extract<CallProgress, { at: 'dispatched' }>;
  readonly prepared: PreparedCall;
  readonly asked: PendingEntry | undefined;
}

/** The call was begun and its outcome is unknown (E-541). */
function afterDispatch(state: RunState, call: BegunCall, options: BatchOptions): BatchItem {
  const { entry, begun, prepared, asked } = call;
  const word = asked?.kind === 'recovery' && asked.toolAttempt === begun.toolAttempt ? asked : undefined;
  const said = word?.decided ?? null;
  if (said === null) {
    if (mayRepeat(begun, prepared)) {
      const approval = approvalOf(asked, prepared);
      return {
        kind: 'run',
        entry,
        prepared,
        authority: approval === undefined ? 'policy' : `approval:${approval.approvalId}`,
      };
    }
    return judgeUnknown(state, call, options);
  }
  switch (said.decision) {
    case 'retry':
      if (prepared.verdict === 'refuse') return unknown(entry, `It cannot be repeated: ${prepared.content}`);
      if (prepared.argsDigest !== word?.argsDigest) return judgeUnknown(state, call, options);
      return { kind: 'run', entry, prepared, authority: `approval:${said.approvalId}` };
    case 'result': {
      const { content, isError } = said.output ?? { content: '', isError: false };
      return answered(entry, { outcome: isError ? 'error' : 'ok', content, isError });
    }
    case 'abort':
    case 'approve':
    case 'deny':
    case 'answer':
    case 'decline':
    case 'expired':
    case 'cancelled':
      return unknown(entry, 'It was given up.');
  }
}

/** It was begun as one that may be repeated, and is still the very same (E-540). */
function mayRepeat(begun: BegunCall['begun'], prepared: PreparedCall): prepared is RunnableCall {
  if (prepared.verdict === 'refuse' || prepared.argsDigest !== begun.argsDigest) return false;
  return begun.replay !== 'manual' && (prepared.tool.replay ?? 'manual') !== 'manual';
}

function judgeUnknown(state: RunState, { entry, begun, prepared }: BegunCall, options: BatchOptions): BatchItem {
  const tool = prepared.verdict === 'run' ? prepared.tool : undefined;
  if (onUnknown(state, tool, options.people) === 'tell-model') return unknown(entry);
  const { name, input, argsDigest, replay, toolAttempt } = begun;
  const call = { id: entry.call.id, name, input };
  const as = prepared.verdict === 'run' ? identified(prepared) : { argsDigest };
  return {
    kind: 'ask',
    pending: pendingTool(state, { kind: 'recovery', call, replay, toolAttempt, ...as }, options.nowMs),
  };
}

const unknownOutcome =
  'The outcome of this call is unknown: it may have run, wholly or in part. Check before repeating it.';

function unknown(entry: CallState, why = ''): BatchItem {
  return answered(entry, { outcome: 'unknown', content: `${unknownOutcome} ${why}`.trimEnd(), isError: true });
}

/** Whether an unknown outcome waits for a person: only where one can be waited for (E-542). */
export function onUnknown({ config }: RunState, tool: Tool | undefined, people: People): 'park' | 'tell-model' {
  if (people.how !== 'park') return 'tell-model';
  return tool?.onUnknown ?? config?.permissions?.onUnknown ?? 'tell-model';
}

export function pendingFor(
  state: RunState,
  o: { readonly entry: CallState; readonly prepared: RunnableCall; readonly kind: PendingTool['kind'] },
  { nowMs }: Pick<BatchOptions, 'nowMs'>,
): PendingTool {
  const { tool, input } = o.prepared;
  const { progress, call } = o.entry;
  const request = {
    kind: o.kind,
    call: { id: call.id, name: tool.name, input },
    ...identified(o.prepared),
    replay: tool.replay ?? 'manual',
    toolAttempt: progress.at === 'dispatched' ? progress.toolAttempt : 0,
  };
  return pendingTool(state, request, nowMs);
}

/** What a decision is bound to (E-603, E-903). */
function identified({ argsDigest, tool }: RunnableCall): Pick<PendingTool, 'argsDigest' | 'toolIdentity'> {
  return { argsDigest, ...(tool.identity === undefined ? {} : { toolIdentity: tool.identity }) };
}

function denied(entry: CallState, content: string): BatchItem {
  return answered(entry, { outcome: 'denied', content: `Not run. ${content}`, isError: true });
}

function answered(entry: CallState, answer: CallAnswer): BatchItem {
  return { kind: 'answer', entry, answer };
}
