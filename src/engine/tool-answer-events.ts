// What came of a call, as the facts that are committed: files it changed, its raw result, what the model reads (E-531).

import { headAndTail } from '../core/spill.ts';
import { rawAnswer, type ToolAnswerContent } from '../core/tool-answer.ts';
import { repetitionNote } from './loop-guard.ts';
import { toWellFormed } from '../core/text.ts';
import { answerReturned, applyDrafts } from '../core/closing.ts';
import { executionKeyOf, type EventDraft, type MediaRef } from '../core/run-event.ts';
import type { ContentStore } from './content-store.ts';
import type { Finished } from './execute-call.ts';
import type { Middleware, ToolResultText } from './middleware.ts';
import type { CallProgress, CallState, RunState } from '../core/run-state.ts';

/** Changes what the model reads of a result, never the raw one (E-532). */
type ChangeAnswer = NonNullable<Middleware['afterTool']>;

export interface AnswerOptions {
  readonly afterTool: readonly ChangeAnswer[];
  readonly content: ContentStore;
  readonly nowMs: number;
  /** Takes secrets out of what a failing tool said (E-534). */
  readonly redact: (text: string) => string;
  readonly onRepetition: (note: string) => void;
  readonly onUnstopped: (what: readonly string[]) => void;
}

/**
 * The completion of a call and its answer: in one group, or in two where middleware stands between them. A result that is too long, or holds media, is in the content store
 * before its event says so (E-105, E-550).
 */
export async function* answerFinished(
  state: RunState,
  finished: Finished,
  options: AnswerOptions,
): AsyncGenerator<readonly EventDraft[]> {
  const { prepared, outcome, output, toolAttempt, durationMs } = finished;
  const { call, tool, input } = prepared;
  const position = { step: state.step, attempt: state.open?.attempt ?? 0 };
  const executionKey = executionKeyOf(state.runId, state.step, call.id);
  const answer = await readable(state, finished, options);
  options.onUnstopped(output.unstopped ?? []);
  const files = (output.files ?? []).map((data): EventDraft => ({
    type: 'file-changed',
    data: { ...data, executionKey },
    ...position,
  }));
  const named = { id: call.id, name: tool.name, input, executionKey };
  const complete: EventDraft = {
    type: 'tool-call-complete',
    data: {
      ...named,
      outcome,
      toolAttempt,
      durationMs,
      ...(output.usage === undefined ? {} : { usage: output.usage }),
      ...(output.usageIncomplete === true ? { usageIncomplete: true } : {}),
      _raw: rawAnswer(answer),
    },
    ...position,
  };
  const content = answer.content + noteOnLoop(applyDrafts(state, [complete], options.nowMs), options);
  const read = { content, isError: outcome !== 'ok' };
  const result = (data: ToolResultText): EventDraft => ({
    type: 'tool-result',
    data: { toolCallId: call.id, name: tool.name, ...answer, ...data },
    ...position,
  });
  if (options.afterTool.length === 0) return yield [...files, complete, result(read)];
  yield [...files, complete];
  yield [result(await changed({ id: call.id, name: tool.name, ...read }, options.afterTool))];
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
  return { ...result, data: { ...result.data, ...(await changed({ id, name, content, isError }, options.afterTool)) } };
}

/** A middleware that fails is asked once more; then it costs the answer, not the run, and never runs the tool again (E-532). */
async function changed(read: Parameters<ChangeAnswer>[0], changes: readonly ChangeAnswer[]): Promise<ToolResultText> {
  for (let tries = 0; tries < 2; tries++)
    try {
      let answer = read;
      for (const change of changes) answer = { ...answer, ...(await change(answer)) };
      return { content: toWellFormed(answer.content), isError: answer.isError };
    } catch {}
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
  { content: store, redact }: AnswerOptions,
): Promise<ToolAnswerContent> {
  const whole = toWellFormed(output.content);
  const text = outcome === 'ok' ? whole : redact(whole);
  const media: MediaRef[] = [];
  for (const { mediaType, data } of output.media ?? [])
    media.push({ ...(await store.putContent(runId, data)), mediaType });
  const shown = media.length === 0 ? {} : { media };
  const most = limits.maxResultChars;
  // A page of a spilled result is never spilled again.
  if (text.length <= most || prepared.tool.name === 'read_tool_result') return { content: text, ...shown };
  const spill = await store.putContent(runId, new TextEncoder().encode(text));
  const head = Math.ceil((most * 2) / 3);
  const cut = headAndTail(text, { head, tail: most - head, callId: prepared.call.id });
  return { content: cut, spill, ...shown };
}
