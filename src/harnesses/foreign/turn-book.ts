// Native facts become run events here, by the ordering laws E-120 to E-135 and for all runtimes alike. Pure: no clock, no I/O;
// what it says depends on the state of the log and on the facts so far.
//
// B1. A step is one model reply with the calls it makes. It opens with the reply's first sign, and ends when the next one
//     opens, or the turn does (H-021).
// B2. What a runtime says of calls before it has taken their reply for whole is held until it has (H-022).
// B3. Shown text is never withdrawn but by `attempt-reset`; a whole that differs from its pieces wins, and the gap is said (H-023).
// B4. A call runs once in the log: what is said of one that was answered is dropped.

import { answerCall, applyDrafts, closeRun, finishStep, pendingTool, type Ending } from '../../core/closing.ts';
import { callEvents } from '../../core/call-events.ts';
import { canonicalJson, parsedOrText, type JsonValue } from '../../core/json.ts';
import { addUsage, type Usage } from '../../core/usage.ts';
import { hash } from 'node:crypto';
import { cutMiddle, hashText, toWellFormed } from '../../core/text.ts';
import { ReplyBlocks } from '../../core/reply-blocks.ts';
import type { CallState, RunState } from '../../core/run-state.ts';
import type { EventDraft, PendingTool } from '../../core/run-event.ts';
import type { NativeCall, NativeFact } from './native-fact.ts';
import type { Question } from '../../core/questions.ts';
import type { StopReason } from '../../core/outcome.ts';

/** What the driver has to see to before the book goes on. */
export type GateRequest = Extract<NativeFact, { is: 'gate' | 'question' }>;

/** Longest text of a result that is kept, in UTF-16 units; head and tail of what is longer. */
const maxResultUnits = 65_536;

export class TurnBook {
  #state: RunState;
  readonly #nativeModel: string;
  #blocks: ReplyBlocks | null = null;
  #texts = new Map<string, string>();
  #served: string | null = null;
  #begun = false;
  #held: NativeFact[] = [];
  #dropped: GateRequest[] = [];
  /** Of the open step's reply, told after it (H-031). */
  #lateUsage: Usage | null = null;
  readonly #degraded = new Set<string>();

  /** @param nativeModel  The provider's own name of the model that was asked for: no other one answered (UD-84). */
  constructor(state: RunState, nativeModel = state.requested.model) {
    this.#state = state;
    this.#nativeModel = nativeModel;
  }

  /** The log has taken this in. */
  fold(state: RunState): void {
    this.#state = state;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Whether facts wait for their reply to be accepted (B2). */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Whether a call of the open step runs now. */
  get isRunningCall(): boolean {
    return this.#calls().some(({ progress }) => progress.at === 'dispatched');
  }

  /** Goes into the next step's beginning. */
  degrade(what: string): void {
    this.#degraded.add(what);
  }

  /** Facts in, drafts out, and the gates that are to be answered now. Drafts are folded with `applyDrafts` as they are made. */
  take(facts: readonly NativeFact[], nowMs: number): { drafts: readonly EventDraft[]; gates: readonly GateRequest[] } {
    const drafts: EventDraft[] = [];
    const gates: GateRequest[] = [];
    const write = (more: readonly EventDraft[]) => {
      drafts.push(...more);
      this.#state = applyDrafts(this.#state, more, nowMs);
    };
    const queue = [...facts];
    for (let fact = queue.shift(); fact !== undefined; fact = queue.shift()) {
      if (this.#mustWait(fact)) {
        this.#held.push(fact);
        continue;
      }
      if (fact.is === 'gate' || fact.is === 'question') {
        if (fact.is === 'question' || fact.bySubAgent !== true) {
          write(this.#toAccepted(nowMs));
          write(this.#lateCall(fact.call, nowMs));
        }
        gates.push(fact);
        continue;
      }
      write(this.#note(fact, nowMs));
      if (fact.is === 'reply-accepted') queue.unshift(...this.#held.splice(0));
    }
    return { drafts, gates };
  }

  /** Gates of replies that were given up since the last call: nobody answers them. */
  dropped(): readonly GateRequest[] {
    return this.#dropped.splice(0);
  }

  /** The mark did not come in time: what is known counts (H-022). */
  acceptAsKnown(nowMs: number): { drafts: readonly EventDraft[]; gates: readonly GateRequest[] } {
    return this.take([{ is: 'reply-accepted', finishReason: 'tool-use', raw: null, usage: null }], nowMs);
  }

  /** The call may run: it starts, by this authority. */
  begin(call: NativeCall, authority: string): readonly EventDraft[] {
    const entry = this.#entry(call.id);
    if (entry === undefined || entry.progress.at !== 'written') return [];
    const events = callEvents(this.#state, call);
    const argsDigest = digestOf(call);
    const dispatch = { toolAttempt: 1, argsDigest, replay: 'manual', timeoutMs: null, authority } as const;
    return [events.start(true), events.dispatch(dispatch)];
  }

  /** The call does not run; the model reads why. */
  refuse(
    call: NativeCall,
    answer: { readonly outcome: 'denied' | 'answered' | 'cancelled'; readonly content: string },
  ) {
    const entry = this.#entry(call.id);
    if (entry === undefined || entry.progress.at === 'answered') return [];
    return answerCall(this.#state, entry, { ...answer, isError: answer.outcome !== 'answered' });
  }

  ask(call: NativeCall, nowMs: number, questions?: readonly Question[]): PendingTool {
    const kind = questions === undefined ? 'approval' : 'question';
    const request = { kind, call, argsDigest: digestOf(call), replay: 'manual', toolAttempt: 0 } as const;
    const pending = pendingTool(this.#state, request, nowMs);
    return questions === undefined ? pending : { ...pending, questions };
  }

  /** Everything that is still open is closed by the closing rule, and the run ends. */
  end(ending: Ending, nowMs: number): readonly EventDraft[] {
    return closeRun(this.#withUsage(this.#state), ending, nowMs);
  }

  /** The open step ends, answered or not; for a turn that is followed by another in the same run. */
  endStep(nowMs: number): readonly EventDraft[] {
    return this.#leaveStep(nowMs);
  }

  #calls(): readonly CallState[] {
    return this.#state.open?.calls ?? [];
  }

  #entry(id: string): CallState | undefined {
    return this.#calls().find(({ call }) => call.id === id);
  }

  /** Of calls whose reply is not accepted yet (B2). */
  #mustWait(fact: NativeFact): boolean {
    const { open } = this.#state;
    if (open === null || open.stage.at === 'accepted' || this.#blocks === null) return false;
    if (fact.is === 'gate' || fact.is === 'question' || fact.is === 'call-running')
      return this.#blocks.hasCall(fact.call.id);
    return (fact.is === 'call-output' || fact.is === 'call-ended') && this.#blocks.hasCall(fact.id);
  }

  #note(fact: Exclude<NativeFact, { is: 'gate' | 'question' }>, nowMs: number): readonly EventDraft[] {
    switch (fact.is) {
      case 'reply-begun':
        return this.#beginReply(nowMs);
      case 'served':
        this.#served = fact.model === this.#nativeModel ? this.#state.requested.model : fact.model;
        return this.#modelSwitch();
      case 'text':
      case 'thinking':
        return this.#addText(fact.is, fact.key, { text: fact.text, nowMs });
      case 'text-whole':
      case 'thinking-whole':
        return this.#completeText(fact.is === 'text-whole' ? 'text' : 'thinking', fact.key, {
          whole: fact.text,
          nowMs,
        });
      case 'call-begun':
        return this.#withReply(nowMs, (blocks) =>
          blocks.hasCall(fact.id) ? [] : [blocks.beginCall(fact.id, fact.name)],
        );
      case 'call-input':
        return this.#withReply(nowMs, (blocks) =>
          present(blocks.hasCall(fact.id) ? blocks.addArguments(fact.id, fact.piece) : null),
        );
      case 'call-whole':
        return this.#wholeCall(fact.call, nowMs);
      case 'reply-accepted':
        return this.#accept(fact, nowMs);
      case 'reply-lost':
        return this.#lose(fact);
      case 'usage':
        return this.#addUsage(fact.usage);
      case 'call-running':
        return this.#runs(fact.call, nowMs);
      case 'call-output': {
        const entry = this.#entry(fact.id);
        if (entry?.progress.at !== 'dispatched') return [];
        const data = { id: fact.id, name: entry.progress.name, text: toWellFormed(fact.text) };
        return [{ type: 'tool-output-delta', data, ...this.#position() }];
      }
      case 'call-ended':
        return this.#endCall(fact);
      case 'todos':
        return this.#todos(fact);
      case 'compacted': {
        const data = {
          trigger: 'auto',
          method: 'summary',
          tokensBefore: fact.tokensBefore,
          tokensAfter: fact.tokensAfter,
          throughSeq: 0,
          usage: null,
        } as const;
        return [{ type: 'compacted', data, step: this.#state.step, attempt: 0 }];
      }
      case 'file':
        return [
          { type: 'file-changed', data: { kind: fact.kind, path: fact.path }, step: this.#state.step, attempt: 0 },
        ];
      case 'engine-said': {
        const content = [{ type: 'text', text: toWellFormed(fact.text) }] as const;
        const messageId = `${this.#state.runId}:${this.#state.step}:${hashText(fact.text)}`;
        const data = { messageId, content, mode: 'engine', purpose: fact.purpose } as const;
        return [{ type: 'user-message', data, step: this.#state.step, attempt: 0 }];
      }
      case 'degraded':
        this.#degraded.add(fact.what);
        return [];
      case 'gate-closed':
      case 'progress':
      case 'unknown':
      case 'ended':
        return [];
    }
  }

  #position() {
    return { step: this.#state.step, attempt: this.#state.open?.attempt ?? 0 };
  }

  #beginReply(nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    if (open !== null && open.stage.at !== 'accepted' && this.#begun)
      return this.#lose({ reason: 'incomplete', retryInMs: 0 }, true);
    const drafts = this.#openStep(nowMs);
    this.#begun = true;
    return drafts;
  }

  /** The step for what a reply says: the open one while its reply is not accepted, else a new one (B1). */
  #openStep(nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    if (open !== null && open.stage.at !== 'accepted') {
      this.#blocks ??= new ReplyBlocks({ step: this.#state.step, attempt: open.attempt });
      return [];
    }
    const left = this.#leaveStep(nowMs);
    const { step, requested } = applyDrafts(this.#state, left, nowMs);
    const degraded = [...this.#degraded];
    this.#degraded.clear();
    const data = {
      purpose: 'reply',
      model: requested,
      replyBudget: null,
      ...(degraded.length === 0 ? {} : { degraded }),
    } as const;
    this.#reset(step + 1, 1);
    const opened = [...left, { type: 'step-started', data, step: step + 1, attempt: 0 } as const];
    // Who answers may be known before the reply's first word.
    return this.#then(opened, nowMs, () => this.#modelSwitch());
  }

  #reset(step: number, attempt: number): void {
    this.#blocks = new ReplyBlocks({ step, attempt });
    this.#texts = new Map();
    this.#begun = false;
  }

  #leaveStep(nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    if (open === null) return [];
    const lost = open.calls.flatMap((entry) =>
      entry.progress.at === 'answered' ? [] : answerCall(this.#state, entry, unheard(entry)),
    );
    const closed = this.#withUsage(applyDrafts(this.#state, lost, nowMs));
    this.#lateUsage = null;
    return [...lost, ...(closed.open === null ? [] : [finishStep(closed, closed.open, nowMs)])];
  }

  #withReply(nowMs: number, make: (blocks: ReplyBlocks) => readonly EventDraft[]): readonly EventDraft[] {
    const opened = this.#openStep(nowMs);
    return [...opened, ...(this.#blocks === null ? [] : make(this.#blocks))];
  }

  #addText(
    kind: 'text' | 'thinking',
    key: string,
    { text, nowMs }: { readonly text: string; readonly nowMs: number },
  ): readonly EventDraft[] {
    if (text === '') return [];
    return this.#withReply(nowMs, (blocks) => {
      const name = `${kind}:${key}`;
      this.#texts.set(name, (this.#texts.get(name) ?? '') + text);
      return present(blocks.addText(kind, key, text));
    });
  }

  #completeText(
    kind: 'text' | 'thinking',
    key: string,
    { whole, nowMs }: { readonly whole: string; readonly nowMs: number },
  ): readonly EventDraft[] {
    const shown = this.#texts.get(`${kind}:${key}`) ?? '';
    if (whole === shown || whole.trimEnd() === shown.trimEnd()) return [];
    if (whole.startsWith(shown)) return this.#addText(kind, key, { text: whole.slice(shown.length), nowMs });
    // What was shown is not what the reply says: it is given up, and the reply is shown as it is.
    if (this.#state.open === null || this.#state.open.stage.at === 'accepted') return [];
    const { step, attempt } = this.#position();
    return [{ type: 'gap', data: { reason: 'deltas_lost', step, attempt }, step, attempt }];
  }

  #wholeCall(call: NativeCall, nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    if (open?.stage.at === 'accepted' && this.#entry(call.id) !== undefined) return [];
    return this.#withReply(nowMs, (blocks) => {
      const begun = blocks.hasCall(call.id) ? [] : [blocks.beginCall(call.id, call.name)];
      const known = blocks.calls.find(({ id }) => id === call.id);
      if (known?.whole === true) return begun;
      return [...begun, ...present(completed(blocks, call))];
    });
  }

  /** A call that no reply had, such as one that a runtime began by itself: a step of its own (B1). */
  #lateCall(call: NativeCall, nowMs: number): readonly EventDraft[] {
    if (this.#entry(call.id) !== undefined) return [];
    return this.#then(this.#wholeCall(call, nowMs), nowMs, () =>
      this.#accept({ finishReason: 'tool-use', raw: null, usage: null }, nowMs),
    );
  }

  /** The drafts, and what follows from the state after them. */
  #then(drafts: readonly EventDraft[], nowMs: number, next: () => readonly EventDraft[]): readonly EventDraft[] {
    const before = this.#state;
    this.#state = applyDrafts(before, drafts, nowMs);
    const more = next();
    this.#state = before;
    return [...drafts, ...more];
  }

  #toAccepted(nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    if (open === null || open.stage.at === 'accepted') return [];
    return this.#accept({ finishReason: 'tool-use', raw: null, usage: null }, nowMs);
  }

  #accept(
    {
      finishReason,
      raw,
      usage,
    }: { readonly finishReason: StopReason; readonly raw: string | null; readonly usage: Usage | null },
    nowMs: number,
  ): readonly EventDraft[] {
    const before = this.#state;
    if (before.open?.stage.at === 'accepted') return usage === null ? [] : this.#addUsage(usage);
    const opened = this.#openStep(nowMs);
    const state = applyDrafts(before, opened, nowMs);
    const blocks = this.#blocks ?? new ReplyBlocks({ step: state.step, attempt: 1 });
    const position = { step: state.step, attempt: state.open?.attempt ?? 1 };
    const drafts: EventDraft[] = [...opened, ...blocks.close()];
    const { parts, text, thinking } = blocks.layOut();
    const calls = blocks.calls.map(({ whole: _whole, ...call }) => call);
    if (thinking !== '') drafts.push({ type: 'thinking-complete', data: thinking, ...position });
    if (text !== '') drafts.push({ type: 'text-complete', data: text, ...position });
    // One that was named too late to be told of is not claimed.
    const answered = [state.requested.model, state.open?.served?.model].find((model) => model === this.#served);
    const served = answered === undefined ? null : { provider: state.requested.provider, model: answered };
    this.#served = null;
    const empty = text === '' && calls.length === 0;
    const turn = {
      finishReason: calls.length > 0 ? 'tool-use' : finishReason,
      rawFinishReason: raw,
      parts,
      calls,
      usage,
      usageIncomplete: usage === null,
      served,
      ...(empty ? { empty } : {}),
    } as const;
    this.#blocks = null;
    return [...drafts, { type: 'turn-complete', data: turn, ...position }];
  }

  /** @param begins  Whether the next attempt is under way. */
  #lose(
    { reason, retryInMs, error }: Omit<Extract<NativeFact, { is: 'reply-lost' }>, 'is'>,
    begins = false,
  ): readonly EventDraft[] {
    const { open, step } = this.#state;
    if (open === null || open.stage.at === 'accepted') return [];
    // Said twice: of an attempt that has not begun there is nothing to give up.
    if (open.stage.at === 'backoff' && !this.#begun && this.#blocks?.shown !== true) return [];
    const { attempt } = open;
    const shown = this.#blocks?.shown ?? false;
    const data = {
      step,
      attempt,
      nextAttempt: attempt + 1,
      reason,
      shown: shown || open.shown,
      retryInMs,
      ...(error === undefined ? {} : { error }),
    };
    for (const held of this.#held) if (held.is === 'gate' || held.is === 'question') this.#dropped.push(held);
    this.#held = [];
    this.#served = null;
    this.#reset(step, attempt + 1);
    this.#begun = begins;
    return [{ type: 'attempt-reset', step, attempt, data }];
  }

  #modelSwitch(): readonly EventDraft[] {
    const { open, requested, step } = this.#state;
    const model = this.#served;
    if (model === null || open === null || open.stage.at === 'accepted') return [];
    if (model === requested.model || open.served?.model === model || (this.#blocks?.shown ?? false)) return [];
    const data = {
      kind: 'reported',
      from: requested,
      to: { provider: requested.provider, model },
      reason: 'The reply names another model than was asked for.',
    } as const;
    return [{ type: 'model-switched', data, step, attempt: open.attempt }];
  }

  #addUsage(usage: Usage): readonly EventDraft[] {
    if (this.#state.open?.usage === null) this.#lateUsage = addUsage(this.#lateUsage, usage);
    return [];
  }

  #withUsage(state: RunState): RunState {
    const { open } = state;
    if (open === null || this.#lateUsage === null) return state;
    return { ...state, open: { ...open, usage: this.#lateUsage, usageIncomplete: false } };
  }

  #runs(call: NativeCall, nowMs: number): readonly EventDraft[] {
    return this.#then(this.#lateCall(call, nowMs), nowMs, () => this.begin(call, 'harness'));
  }

  #endCall({ id, outcome, content }: Extract<NativeFact, { is: 'call-ended' }>): readonly EventDraft[] {
    const entry = this.#entry(id);
    if (entry === undefined || entry.progress.at === 'answered' || entry.progress.at === 'returned') return [];
    const text = cutMiddle(toWellFormed(content), maxResultUnits / 2, maxResultUnits / 2);
    if (entry.progress.at === 'written' && (outcome === 'ok' || outcome === 'error')) {
      const begun = this.begin({ id, name: entry.call.name, input: parsedOrText(entry.call.arguments) }, 'harness');
      return this.#then(begun, 0, () => this.#endCall({ is: 'call-ended', id, outcome, content }));
    }
    return answerCall(this.#state, entry, {
      outcome,
      content: text,
      isError: outcome !== 'ok' && outcome !== 'answered',
    });
  }

  #todos({ todos }: Extract<NativeFact, { is: 'todos' }>): readonly EventDraft[] {
    const data = {
      todos,
      completed: todos.filter(({ status }) => status === 'completed').length,
      total: todos.length,
      inProgress: todos.find(({ status }) => status === 'in_progress')?.content ?? null,
    };
    return [{ type: 'todos-updated', data, step: this.#state.step, attempt: 0 }];
  }
}

const present = (draft: EventDraft | null): readonly EventDraft[] => (draft === null ? [] : [draft]);

function completed(blocks: ReplyBlocks, { id, input }: NativeCall): EventDraft | null {
  const streamed = blocks.calls.find((call) => call.id === id)?.arguments ?? '';
  // Streamed arguments stand, whatever the runtime makes of them.
  return streamed === '' ? blocks.completeCall(id, argumentsOf(input)) : null;
}

const argumentsOf = (input: JsonValue) => (typeof input === 'string' ? input : JSON.stringify(input));

/** A result that the runtime never gave: nothing is invented (H-026). */
function unheard({ progress }: CallState): { readonly outcome: 'unknown' | 'not-run'; readonly content: string } {
  return progress.at === 'dispatched'
    ? { outcome: 'unknown', content: '' }
    : { outcome: 'not-run', content: 'The agent did not run this call.' };
}

/** Binds a decision to the exact call (H-041). */
export function digestOf({ name, input }: NativeCall): string {
  return hash('sha256', canonicalJson({ name, input }));
}
