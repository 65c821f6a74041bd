// What came of a call, as the facts that are committed: files it changed, its raw result, what the model reads (E-531).

import { callEvents } from '../core/call-events.ts';
import { cutMiddle, toWellFormed } from '../core/text.ts';
import { headAndTail } from '../core/spill.ts';
import { rawAnswer, type ToolAnswerContent } from '../core/tool-answer.ts';
import { repetitionNote } from './loop-guard.ts';
import { answerReturned, applyDrafts } from '../core/closing.ts';
import { sleep, type Clock } from '../core/clock.ts';
import {
  executionKeyOf,
  type ContentRef,
  type EventDraft,
  type MediaRef,
  type ToolOutcome,
} from '../core/run-event.ts';
import type { ContentStore } from './content-store.ts';
import type { Finished } from './execute-call.ts';
import type { Logger } from '../core/logger.ts';
import type { Middleware, ToolResultText } from './middleware.ts';
import type { CallProgress, CallState, RunState } from '../core/run-state.ts';
import type { RunId } from '../core/ids.ts';
import { toolMediaType } from './tool-media-type.ts';

/** Changes what the model reads of a result, never the raw one (E-532). */
type ChangeAnswer = NonNullable<Middleware['afterTool']>;

export interface AnswerOptions {
  readonly afterTool: readonly ChangeAnswer[];
  readonly content: ContentStore;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly nowMs: number;
  /** Takes secrets out of what a failing tool said (E-534). */
  readonly redact: (text: string) => string;
  readonly onRepetition: (note: string) => void;
  readonly onUnstopped: (what: readonly string[]) => void;
}

/**
 * The completion of a call and its answer: in one group, or in two where middleware stands between them. A result that is
 * too long, or holds media, is in the content store before its event says so (E-105, E-550); what cannot be kept costs
 * itself, not the rest of a result that is known.
 */
export async function* answerFinished(
  state: RunState,
  finished: Finished,
  options: AnswerOptions,
): AsyncGenerator<readonly EventDraft[]> {
  const { prepared, outcome, output, toolAttempt, durationMs } = finished;
  const { call, tool, input } = prepared;
  const events = callEvents(state, { id: call.id, name: tool.name, input });
  const answer = await readable(state, finished, options);
  const effects = effectsOf(state, finished, options);
  const complete = events.complete({
    outcome,
    toolAttempt,
    durationMs,
    ...(output.usage === undefined ? {} : { usage: output.usage }),
    ...(output.usageIncomplete === true ? { usageIncomplete: true } : {}),
    _raw: rawAnswer(answer),
  });
  const content = answer.content + noteOnLoop(applyDrafts(state, [complete], options.nowMs), options);
  const read = { content, isError: outcome !== 'ok' };
  if (options.afterTool.length === 0) return yield [...effects, complete, events.answer({ ...answer, ...read })];
  yield [...effects, complete];
  yield [events.answer({ ...answer, ...(await changed({ id: call.id, name: tool.name, ...read }, options)) })];
}

/** What a call has done, whatever becomes of its answer: files it changed, and what it could not stop. */
export function effectsOf(
  { runId, step, open }: RunState,
  { prepared: { call }, output }: Finished,
  { onUnstopped }: Pick<AnswerOptions, 'onUnstopped'>,
): readonly EventDraft[] {
  onUnstopped(output.unstopped ?? []);
  const executionKey = executionKeyOf(runId, step, call.id);
  const position = { step, attempt: open?.attempt ?? 0 };
  return (output.files ?? []).map((data) => ({ type: 'file-changed', data: { ...data, executionKey }, ...position }));
}

/** The answer to a call whose result was stored before its owner was gone: without running the tool (E-532). */
export async function answerStored(
  state: RunState,
  o: { readonly entry: CallState; readonly progress: Extract<CallProgress, { at: 'returned' }> },
  options: AnswerOptions,
): Promise<EventDraft> {
  const result = answerReturned(state, o.entry, o.progress);
  if (result.type !== 'tool-result' || options.afterTool.length === 0) return result;
  const { toolCallId: id, name, content, isError } = result.data;
  return { ...result, data: { ...result.data, ...(await changed({ id, name, content, isError }, options)) } };
}

/** A middleware that fails is asked once more; then it costs the answer, not the run, and never runs the tool again (E-532). */
async function changed(
  read: Parameters<ChangeAnswer>[0],
  { afterTool, logger }: Pick<AnswerOptions, 'afterTool' | 'logger'>,
): Promise<ToolResultText> {
  for (let tries = 0; tries < 2; tries++)
    try {
      let answer = read;
      for (const change of afterTool) answer = { ...answer, ...(await change(answer)) };
      return { content: toWellFormed(answer.content), isError: answer.isError };
    } catch (cause) {
      logger.error('A middleware failed on the result of a tool.', { callId: read.id, tool: read.name }, cause);
    }
  return { content: 'The result of this call could not be processed.', isError: true };
}

/** What is added to what the model reads of the newest call, once calls go in circles (E-560). */
export function noteOnLoop(
  { recentCalls, limits }: RunState,
  { onRepetition }: Pick<AnswerOptions, 'onRepetition'>,
): string {
  const note = limits.loopGuard === null ? null : repetitionNote(recentCalls, limits.loopGuard);
  if (note === null) return '';
  onRepetition(note);
  return `\n\n${note}`;
}

async function readable(
  { runId, limits }: RunState,
  { prepared, outcome, output }: Finished,
  options: AnswerOptions,
): Promise<ToolAnswerContent> {
  const text = readableText(output.content, outcome, options);
  const media: MediaRef[] = [];
  const lost: string[] = [];
  for (const { mediaType, data } of output.media ?? []) {
    const kept = await keep(data, { runId, ...options });
    if (kept === null) lost.push(`\n[A result of the type ${mediaType} could not be kept.]`);
    else media.push({ ...kept, mediaType: toolMediaType(mediaType, data) });
  }
  const shown = media.length === 0 ? {} : { media };
  const most = limits.maxResultChars;
  // A page of a spilled result is never spilled again.
  if (text.length <= most || prepared.tool.name === 'read_tool_result')
    return { content: text + lost.join(''), ...shown };
  const spill = await keep(new TextEncoder().encode(text), { runId, ...options });
  const head = Math.ceil((most * 2) / 3);
  const tail = most - head;
  if (spill === null)
    return { content: `${cutMiddle(text, head, tail)}\n[The rest could not be kept.]${lost.join('')}`, ...shown };
  const cut = headAndTail(text, { head, tail, callId: prepared.call.id });
  return { content: cut + lost.join(''), spill, ...shown };
}

/** Text of a tool, of which the model may read all but, where it failed, secrets (E-534). */
export function readableText(content: string, outcome: ToolOutcome, { redact }: Pick<AnswerOptions, 'redact'>): string {
  const whole = toWellFormed(content);
  return outcome === 'ok' ? whole : redact(whole);
}

const keepTries = 3;
const keepAgainMs = 500;

/** Null: the store does not take it, also when asked again. */
async function keep(
  bytes: Uint8Array,
  o: { readonly runId: RunId } & Pick<AnswerOptions, 'content' | 'clock' | 'signal' | 'logger'>,
): Promise<ContentRef | null> {
  for (let tries = 1; ; tries++)
    try {
      return await o.content.putContent(o.runId, bytes);
    } catch (cause) {
      o.logger.error('A result of a tool could not be stored.', { runId: o.runId, bytes: bytes.byteLength }, cause);
      if (tries === keepTries) return null;
      await sleep(o.clock, keepAgainMs, o.signal);
    }
}
