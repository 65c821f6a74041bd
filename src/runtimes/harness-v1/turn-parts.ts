// A run as its host reads it: the parts view, with calls that the host has to answer, and what is shown again to who comes
// back (P-080).
//
// T1. A call of the host's is handed out when the log waits for its answer, and not with its reply: before, it may be one
//     that is never run. One that is answered without the host comes with its result, as a call of ours.
// T2. A call says how many others surely come without a word of the host: a host that reads them all before it pauses must
//     not wait for one that waits for the host.
// T3. Handed out again is what is not settled: calls, requests, the block that is being written, and the end of the turn.

import { createPartsView } from '../../views/parts-view.ts';
import { hostQuestionsTool, ownQuestionsTool, toHostQuestions } from './host-questions.ts';
import { toJsonValue } from '../../core/json.ts';
import type { ApprovalId } from '../../core/ids.ts';
import type { PartOf, StreamPart } from '../../protocol/parts/stream-part.ts';
import type { PendingTool, RunEvent } from '../../core/run-event.ts';
import type { Question } from '../../core/questions.ts';

export interface TurnPartsOptions {
  /** Names of the host's own tools. */
  readonly hosted: ReadonlySet<string>;
  /** Names that the host knows: a call of another tool is `dynamic`. */
  readonly listed: ReadonlySet<string>;
  /** Calls that the engine begins at once. */
  readonly maxConcurrent: number;
  /** Asked for before, and nobody waits for it any more. */
  readonly isSettled: (approvalId: ApprovalId) => boolean;
  /** What the host said that a call came to; undefined: nothing, or to another process. */
  readonly outputOf: (toolCallId: string) => unknown;
}

interface Shown {
  readonly part: PartOf<'tool-call'>;
  /** Who answers it; null: we do. */
  readonly waitsFor: ApprovalId | null;
}
interface Request {
  readonly seq: number;
  /** Null: the call itself asks. */
  readonly part: StreamPart | null;
}

export class TurnParts {
  readonly #o: TurnPartsOptions;
  readonly #view;
  #isInStep = false;
  #counts: Counts = { own: 1, questions: 1, hosted: 1 };
  /** Calls of the host's in the open step that are not handed out. */
  readonly #written = new Map<string, PartOf<'tool-call'>>();
  readonly #shown = new Map<string, Shown>();
  readonly #requests = new Map<ApprovalId, Request>();
  /** What was said of blocks that are open, by their ids. */
  readonly #blocks = new Map<string, StreamPart[]>();
  readonly #hidden = new Set<string>();
  #end: readonly StreamPart[] = [];

  constructor(options: TurnPartsOptions) {
    this.#o = options;
    this.#view = createPartsView({ isHosted: (name) => this.#isHosted(name) });
  }

  push(event: RunEvent): readonly StreamPart[] {
    const parts = this.#translate(
      event,
      this.#view.push(event).filter((part) => this.#isForHosts(part, event)),
    );
    for (const part of parts) this.#noteBlock(part);
    return parts;
  }

  /** T3. */
  again(): readonly StreamPart[] {
    const shown = [...this.#shown.values()].filter(({ waitsFor }) => waitsFor === null || this.#requests.has(waitsFor));
    const calls = shown.map(({ part }) => ({ ...part, stepToolCallCount: shown.length }));
    const requests = [...this.#requests.values()].flatMap(({ part }) => part ?? []);
    return [...[...this.#blocks.values()].flatMap(joined), ...calls, ...requests, ...this.#end];
  }

  get hasEnded(): boolean {
    return this.#end.length > 0;
  }

  /** Where the first event stands that waits for the host; null: nothing does. */
  get waitsSince(): number | null {
    const seqs = Array.from(this.#requests.values(), ({ seq }) => seq);
    return seqs.length === 0 ? null : Math.min(...seqs);
  }

  #isHosted(name: string): boolean {
    return name === ownQuestionsTool || this.#o.hosted.has(name);
  }

  #translate(event: RunEvent, parts: readonly StreamPart[]): readonly StreamPart[] {
    const { type, data, seq } = event;
    if (type === 'step-started') this.#isInStep = true;
    if (type === 'step-finished') this.#endStep();
    if (type === 'approval-decided') this.#requests.delete(data.approvalId);
    if (type === 'run-result') this.#end = parts.filter((part) => part.type === 'finish' || part.type === 'error');
    if (type === 'turn-complete') return this.#turn(parts);
    if (type === 'approval-required' || type === 'recovery-required') return this.#request(data, seq, parts);
    return parts.flatMap((part) => (part.type === 'tool-result' ? this.#result(part) : part));
  }

  /** Facts of our own open a step where a host reads them, so none stands outside of one; input of questions is in our words. */
  #isForHosts(part: StreamPart, { type }: RunEvent): boolean {
    if (part.type === 'raw') return this.#isInStep && type !== 'run-started' && type !== 'run-result';
    if (part.type === 'tool-input-start' && part.toolName === ownQuestionsTool) this.#hidden.add(part.id);
    const isInput =
      part.type === 'tool-input-start' || part.type === 'tool-input-delta' || part.type === 'tool-input-end';
    return !isInput || !this.#hidden.has(part.id);
  }

  #turn(parts: readonly StreamPart[]): readonly StreamPart[] {
    const calls = parts.filter((part) => part.type === 'tool-call');
    const hosted = calls.filter(({ toolName }) => this.#isHosted(toolName));
    for (const part of hosted) this.#written.set(part.toolCallId, part);
    this.#counts = countsOf(calls, hosted, this.#o.maxConcurrent);
    return parts.flatMap((part) => {
      if (part.type !== 'tool-call') return part;
      return this.#isHosted(part.toolName) ? [] : this.#show(part, this.#counts.own);
    });
  }

  #show(part: PartOf<'tool-call'>, stepToolCallCount: number, waitsFor: ApprovalId | null = null): StreamPart {
    const dynamic = waitsFor === null && !this.#o.listed.has(part.toolName) ? { dynamic: true } : {};
    const shown = { ...part, ...dynamic, stepToolCallCount };
    this.#shown.set(part.toolCallId, { part: shown, waitsFor });
    return shown;
  }

  #request(pending: PendingTool, seq: number, parts: readonly StreamPart[]): readonly StreamPart[] {
    const { approvalId, kind, call, questions = [] } = pending;
    const isOpen = !this.#o.isSettled(approvalId);
    if (this.#requests.has(approvalId)) return [];
    if (kind === 'approval') {
      if (!isOpen) return [];
      const part = parts.find(({ type }) => type === 'tool-approval-request') ?? null;
      this.#requests.set(approvalId, { seq, part });
      return this.#shown.has(call.id) ? parts : [this.#show(callOf(pending), 1), ...parts];
    }
    const written = this.#written.get(call.id);
    if (written === undefined) return parts;
    if (isOpen) this.#requests.set(approvalId, { seq, part: null });
    const shown =
      kind === 'recovery'
        ? this.#show(written, this.#counts.hosted, approvalId)
        : this.#show({ ...written, ...inHostWords(questions) }, this.#counts.questions, approvalId);
    return isOpen ? [shown] : [];
  }

  /** T1. */
  #result(part: PartOf<'tool-result'>): readonly StreamPart[] {
    const { toolCallId } = part;
    const written = this.#written.get(toolCallId);
    const shown = this.#shown.get(toolCallId);
    this.#written.delete(toolCallId);
    this.#shown.delete(toolCallId);
    if (written === undefined) return [part];
    if (shown === undefined) return [{ ...written, providerExecuted: true, dynamic: true, stepToolCallCount: 1 }, part];
    const output = this.#o.outputOf(toolCallId);
    const { toolName } = shown.part;
    return [{ ...part, toolName, ...(output === undefined ? {} : { result: toJsonValue(output) }) }];
  }

  #endStep(): void {
    this.#isInStep = false;
    for (const each of [this.#written, this.#shown, this.#requests, this.#hidden]) each.clear();
  }

  #noteBlock(part: StreamPart): void {
    const { type } = part;
    if (type === 'text-start' || type === 'reasoning-start' || type === 'tool-input-start')
      this.#blocks.set(part.id, [part]);
    if (type === 'tool-input-delta') this.#blocks.get(part.id)?.push(part);
    if (type === 'text-end' || type === 'reasoning-end' || type === 'tool-input-end') this.#blocks.delete(part.id);
  }
}

/** How many calls of a step a call says that it has, by who answers it (T2). */
interface Counts {
  readonly own: number;
  readonly questions: number;
  readonly hosted: number;
}

/**
 * What is asked is asked before anything runs, so a call of the host's comes after that. Of several questions one may be
 * none, which is known once the others are answered.
 */
function countsOf(
  calls: readonly PartOf<'tool-call'>[],
  answered: readonly PartOf<'tool-call'>[],
  maxConcurrent: number,
): Counts {
  const questions = answered.filter(({ toolName }) => toolName === ownQuestionsTool).length;
  const hosted = answered.length - questions;
  const own = calls.length - answered.length;
  if (hosted === 0 && questions <= 1) return { own: calls.length, questions: calls.length, hosted: 1 };
  const areTogether = hosted === calls.length && hosted <= maxConcurrent;
  return { own, questions: 1, hosted: areTogether ? hosted : 1 };
}

function inHostWords(questions: readonly Question[]): Pick<PartOf<'tool-call'>, 'toolName' | 'input'> {
  return { toolName: hostQuestionsTool, input: JSON.stringify(toHostQuestions(questions)) };
}

/** Of a sub-agent: this log has its request alone. */
function callOf({ call }: PendingTool): PartOf<'tool-call'> {
  return {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.name,
    input: JSON.stringify(call.input),
    providerExecuted: true,
  };
}

function joined([start, ...deltas]: readonly StreamPart[]): readonly StreamPart[] {
  if (start?.type !== 'tool-input-start') return start === undefined ? [] : [start];
  const delta = deltas.map((part) => (part.type === 'tool-input-delta' ? part.delta : '')).join('');
  return delta === '' ? [start] : [start, { type: 'tool-input-delta', id: start.id, delta }];
}
