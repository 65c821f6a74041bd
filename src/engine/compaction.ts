// When what the model reads gets too long, and what is then left out of it. What compaction does to the view is the fold's
// (`core/transcript.ts`, T3 and T4); here is when, how, and up to which place.
//
// K1. One round makes at most one `compacted`: old tool output is cleared if that alone is enough, else the old messages
//     are summarised, else the oldest are dropped (E-441).
// K2. What stays, always: what this run was asked, its newest reply with all that came after, and so open calls, steering
//     and a reply that shall be continued; no call without its result (E-443).
// K3. A round counts only if the view is shorter after it. `tokensAfter` is that of the view that the fold makes of it.
// K4. A failed summary never fails the run: dropping is what is left (E-445). A stopped one changes nothing.
// K5. What the calls for a summary have used is billed with the change that was made, those in vain included.

import { compactable, compactTranscript, withoutOutput, type Message, type PlacedMessage } from '../core/transcript.ts';
import { readContext } from './context-view.ts';
import { estimateTokens, tokensOfText, unitsOfTokens } from './token-estimate.ts';
import { spentBudget } from '../core/budgets.ts';
import { summaryPrompt } from './summary-prompt.ts';
import { toWellFormed } from '../core/text.ts';
import type { CompactionPolicy } from './policies.ts';
import type { EventData, EventDraft } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';
import type { Usage } from '../core/usage.ts';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

export interface CompactOptions {
  readonly trigger: EventData['compacted']['trigger'];
  readonly history: readonly Message[];
  /** The model's own window, or the smaller of it and `limits.maxContextTokens`; null = unknown. */
  readonly windowTokens: number | null;
  readonly replyBudget: number | null;
  /** Estimate of all that a request holds beside the conversation and the configured system prompt. */
  readonly toolTokens: number;
  readonly policy: CompactionPolicy;
  /** What a person who asked for it wants the summary to keep. */
  readonly instructions?: string;
  /** Aborted: nothing more is changed (K4). */
  readonly signal?: AbortSignal;
  /** Asks the agent's model. */
  summarise(prompt: LanguageModelV4Prompt, maxTokens: number): Promise<SummaryReply>;
}

export interface SummaryReply {
  /** Empty: there is none. */
  readonly text: string;
  /** Of all calls for it, whatever came of them. */
  readonly usage: Usage | null;
  readonly usageIncomplete: boolean;
}

export type CompactOutcome = 'not-due' | 'shortened' | 'nothing-left';

export async function* compactContext(
  current: () => RunState,
  options: CompactOptions,
): AsyncGenerator<readonly EventDraft[], CompactOutcome> {
  const state = current();
  const size = sizeOf(state, options);
  const due = options.trigger !== 'auto' || size.tokens > size.limit;
  if (!due || (options.trigger === 'auto' && !options.policy.enabled)) return 'not-due';
  if (options.trigger === 'overflow' && !options.policy.enabled) return 'nothing-left';
  const round: Round = { state, options, size, old: compactable(state.transcript, options.history) };
  const pruned = prune(round);
  const reply = pruned === null ? await askForSummary(round) : null;
  if (options.signal?.aborted === true) return 'nothing-left';
  const made = pruned ?? (reply === null ? null : summarise(round, reply)) ?? trim(round);
  if (made === null) return 'nothing-left';
  const { usage = null, usageIncomplete = false } = reply ?? {};
  const data = { ...made, usage, ...(usageIncomplete ? { usageIncomplete } : {}) };
  yield [{ type: 'compacted', data, step: state.step, attempt: 0 }];
  return 'shortened';
}

interface Size {
  /** Of the request as it is, by the provider's count where there is one. */
  readonly tokens: number;
  /** Of it, what is no message. */
  readonly fixed: number;
  /** The provider's tokens to one of the estimate. */
  readonly scale: number;
  /** What a request may have; Infinity = unknown. */
  readonly limit: number;
  /** What it may have after this round. */
  readonly goal: number;
}

interface Round {
  readonly state: RunState;
  readonly options: CompactOptions;
  readonly size: Size;
  /** What may be left out, oldest first. */
  readonly old: readonly PlacedMessage[];
}

function sizeOf(state: RunState, options: CompactOptions): Size {
  const { systemPrompt, instructions } = state.config ?? {};
  const fixed = tokensOfText(`${systemPrompt ?? ''}${instructions ?? ''}`) + options.toolTokens;
  const estimated = Math.max(1, fixed + readContext(state, options.history).tokens);
  // The larger of the two: some providers do not count what they found in their cache.
  const tokens = Math.max(estimated, measuredTokens(state));
  const limit = limitOf(state, options);
  // The provider has just said that its window is smaller than it was thought to be.
  const goal = options.trigger === 'overflow' ? Math.min(limit, tokens * 0.75) : Math.min(limit, tokens);
  return { tokens, fixed, scale: tokens / estimated, limit, goal };
}

/** The newest request as its provider counted it, and the estimate of what came after. */
function measuredTokens({ measured, transcript }: RunState): number {
  if (measured === null) return 0;
  const { messages } = transcript;
  const first = messages.findLastIndex(({ seq = 0 }) => seq < measured.before) + 1;
  return measured.tokens + estimateTokens(messages.slice(first));
}

const roomForEnvelope = 1024;

function limitOf({ limits }: RunState, { windowTokens, replyBudget }: CompactOptions): number {
  const own = limits.maxContextTokens ?? Infinity;
  if (windowTokens === null || windowTokens === own) return own;
  // A reply may be promised the whole window; a request still needs its half of it.
  const window = Math.max(windowTokens - (replyBudget ?? 0) - roomForEnvelope, windowTokens / 2);
  return Math.min(own, window);
}

type Change = Omit<EventData['compacted'], 'usage' | 'usageIncomplete'>;

/** The change with its figures; null: nothing would be shorter (K3). */
function changeOf(
  { state, options, size }: Round,
  change: Pick<Change, 'method' | 'throughSeq' | 'summary'>,
): Change | null {
  const after = { ...state, transcript: compactTranscript(state.transcript, change) };
  const left = size.fixed + readContext(after, options.history).tokens;
  const tokensBefore = Math.ceil(size.tokens);
  const tokensAfter = Math.ceil(left * size.scale);
  return tokensAfter < tokensBefore ? { trigger: options.trigger, tokensBefore, tokensAfter, ...change } : null;
}

/** Clears old tool output, where it frees enough and is enough (E-441). A person who asks wants more than that. */
function prune(round: Round): Change | null {
  const { old, options, size } = round;
  const { pruneKeepsTokens, pruneFreesTokens } = options.policy;
  if (options.trigger === 'manual') return null;
  let [newer, freed] = [0, 0];
  let throughSeq: number | null = null;
  for (const { message, place } of old.toReversed()) {
    if (message.role !== 'tool') continue;
    const tokens = estimateTokens([message]);
    if (newer >= pruneKeepsTokens) {
      throughSeq ??= place;
      freed += tokens - estimateTokens([withoutOutput(message)]);
    }
    newer += tokens;
  }
  if (throughSeq === null || freed < pruneFreesTokens) return null;
  const change = changeOf(round, { method: 'prune', throughSeq });
  return change !== null && change.tokensAfter <= size.goal ? change : null;
}

/** Least that a summary may have: some providers refuse a smaller reply budget. */
const fewestSummaryTokens = 256;

interface Summary extends SummaryReply {
  readonly throughSeq: number;
}

/** Null: none is asked for. */
async function askForSummary(round: Round): Promise<Summary | null> {
  const { state, options, size, old } = round;
  const { policy, instructions } = options;
  const throughSeq = cutFor(round, 1 / 4);
  const spent = state.recoveries.summaries >= policy.maxSummaries || spentBudget(state) !== null;
  if (throughSeq === null || spent) return null;
  const maxTokens = Math.max(fewestSummaryTokens, Math.min(policy.summaryTokens, Math.floor(size.goal / 4)));
  const staying = new Set(old.filter(({ place }) => place > throughSeq).map(({ message }) => message));
  const leaving = readContext(state, options.history).messages.filter((message) => !staying.has(message));
  const units = unitsOfTokens(size.goal / size.scale - maxTokens);
  const reply = await options.summarise(summaryPrompt(leaving, { units, instructions }), maxTokens);
  return { ...reply, throughSeq };
}

function summarise(round: Round, { text, throughSeq }: Summary): Change | null {
  const summary = toWellFormed(text).trim();
  return summary === '' ? null : changeOf(round, { method: 'summary', throughSeq, summary });
}

/** Drops the oldest messages, down to half of what fits, so that it is not done again at the next step. */
function trim(round: Round): Change | null {
  const throughSeq = cutFor(round, 1 / 2);
  return throughSeq === null ? null : changeOf(round, { method: 'trim', throughSeq });
}

/**
 * The place up to which messages may go (K2): the oldest after which no more than that share of the room is left, and if
 * there is none, the newest at all.
 */
function cutFor({ size, old }: Round, share: number): number | null {
  const end = endOfOld(old);
  const room = Math.min(size.goal / size.scale - size.fixed, estimateTokens(old.map(({ message }) => message)));
  let stays = estimateTokens(old.slice(end).map(({ message }) => message));
  let next = old[end];
  let cut: number | null = null;
  for (const item of old.slice(0, end).toReversed()) {
    if (mayPart(item, next)) {
      if (cut !== null && stays > room * share) break;
      cut = item.place;
    }
    stays += estimateTokens([item.message]);
    next = item;
  }
  return cut;
}

/** Index of the first message that stays whatever happens: the newest reply of this run, else what was said in it. */
function endOfOld(old: readonly PlacedMessage[]): number {
  const ofRun = old.findIndex(({ place }) => place > 0);
  if (ofRun < 0) return old.length;
  return Math.max(
    ofRun,
    old.findLastIndex(({ message }) => message.role === 'assistant'),
  );
}

/** Whether the view may begin between two neighbours: not between a call and its result, nor inside a reply in pieces. */
function mayPart(before: PlacedMessage, after: PlacedMessage | undefined): boolean {
  if (after === undefined) return true;
  const pieces = before.message.role === 'assistant' && after.message.role === 'assistant';
  return after.message.role !== 'tool' && !pieces;
}
