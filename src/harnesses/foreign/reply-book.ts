// The replies of a turn and the steps that they make, from their first sign to the end of the step. What becomes of their calls
// is in `turn-calls.ts`; in what order all of it is taken, in `turn-book.ts`. Pure but for what it knows of the open reply.
//
// Y1. A step is one model reply with the calls it makes. It opens with the reply's first sign, and ends when the next one
//     opens, or the turn does (H-021).
// Y2. Shown text is never withdrawn but by `attempt-reset`; a whole that differs from its pieces wins, and the gap is said
//     (H-023).

import { addUsage, type Usage } from '../../core/usage.ts';
import { applyDrafts, finishStep } from '../../core/closing.ts';
import { callIn, giveUpCalls } from './turn-calls.ts';
import { ReplyBlocks } from '../../core/reply-blocks.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { NativeCall, NativeFact } from './native-fact.ts';
import type { RunState } from '../../core/run-state.ts';

export type ReplyFact = Extract<
  NativeFact,
  {
    is:
      | 'reply-begun'
      | 'served'
      | 'text'
      | 'thinking'
      | 'text-whole'
      | 'thinking-whole'
      | 'call-begun'
      | 'call-input'
      | 'call-whole'
      | 'reply-accepted'
      | 'reply-lost'
      | 'usage';
  }
>;

type Accepted = Omit<Extract<NativeFact, { is: 'reply-accepted' }>, 'is'>;

/** Taken for whole by what follows it, and not by its own mark. */
export const unmarked: Accepted = { finishReason: 'tool-use', raw: null, usage: null };

export class ReplyBook {
  readonly #nativeModel: string;
  #blocks: ReplyBlocks | null = null;
  #texts = new Map<string, string>();
  #served: string | null = null;
  #begun = false;
  /** Of the open step's reply, told after it (H-031). */
  #lateUsage: Usage | null = null;
  /** Of model calls that no step owns, to be told with the open one (H-206). */
  #unowned: Usage | null = null;
  readonly #degraded = new Set<string>();

  /** @param nativeModel  The provider's own name of the model that was asked for: no other one answered (UD-84). */
  constructor(nativeModel: string) {
    this.#nativeModel = nativeModel;
  }

  /** Goes into the next step's beginning. */
  degrade(what: string): void {
    this.#degraded.add(what);
  }

  /** Whether the reply that is being written has that call. */
  isWriting({ open }: RunState, callId: string): boolean {
    return open !== null && open.stage.at !== 'accepted' && this.#blocks?.hasCall(callId) === true;
  }

  note(state: RunState, fact: ReplyFact, nowMs: number): readonly EventDraft[] {
    switch (fact.is) {
      case 'reply-begun':
        return this.#begin(state, nowMs);
      case 'served':
        this.#served = fact.model === this.#nativeModel ? state.requested.model : fact.model;
        return this.#modelSwitch(state);
      case 'text':
      case 'thinking':
        return this.#addText(state, { kind: fact.is, key: fact.key, text: fact.text, nowMs });
      case 'text-whole':
        return this.#completeText(state, { kind: 'text', key: fact.key, text: fact.text, nowMs });
      case 'thinking-whole':
        return this.#completeText(state, { kind: 'thinking', key: fact.key, text: fact.text, nowMs });
      case 'call-begun':
        return this.#write(state, nowMs, (blocks) =>
          blocks.hasCall(fact.id) ? [] : [blocks.beginCall(fact.id, fact.name)],
        );
      case 'call-input':
        return this.#write(state, nowMs, (blocks) =>
          present(blocks.hasCall(fact.id) ? blocks.addArguments(fact.id, fact.piece) : null),
        );
      case 'call-whole':
        return this.#completeCall(state, fact.call, nowMs);
      case 'reply-accepted':
        return this.accept(state, fact, nowMs);
      case 'reply-lost':
        return this.#lose(state, fact);
      case 'usage':
        if (state.open?.usage === null) this.#lateUsage = addUsage(this.#lateUsage, fact.usage);
        return [];
    }
  }

  accept(state: RunState, { finishReason, raw, usage }: Accepted, nowMs: number): readonly EventDraft[] {
    if (state.open?.stage.at === 'accepted')
      return usage === null ? [] : this.note(state, { is: 'usage', usage }, nowMs);
    const opened = this.openStep(state, nowMs);
    const { step, open, requested } = applyDrafts(state, opened, nowMs);
    const blocks = this.#blocks ?? new ReplyBlocks({ step, attempt: 1 });
    const position = { step, attempt: open?.attempt ?? 1 };
    const drafts: EventDraft[] = [...opened, ...blocks.close()];
    const { parts, text, thinking } = blocks.layOut();
    const calls = blocks.calls.map(({ whole: _whole, ...call }) => call);
    if (thinking !== '') drafts.push({ type: 'thinking-complete', data: thinking, ...position });
    if (text !== '') drafts.push({ type: 'text-complete', data: text, ...position });
    // One that was named too late to be told of is not claimed.
    const answered = [requested.model, open?.served?.model].find((model) => model === this.#served);
    const turn = {
      finishReason: calls.length > 0 ? 'tool-use' : finishReason,
      rawFinishReason: raw,
      parts,
      calls,
      usage,
      usageIncomplete: usage === null,
      served: answered === undefined ? null : { provider: requested.provider, model: answered },
      ...(text === '' && calls.length === 0 ? { empty: true } : {}),
    } as const;
    this.#served = null;
    this.#blocks = null;
    return [...drafts, { type: 'turn-complete', data: turn, ...position }];
  }

  /** A call that no reply had, such as one that a runtime began by itself: a step of its own (Y1). */
  lateCall(state: RunState, call: NativeCall, nowMs: number): readonly EventDraft[] {
    if (callIn(state, call.id) !== undefined) return [];
    const written = this.#completeCall(state, call, nowMs);
    return [...written, ...this.accept(applyDrafts(state, written, nowMs), unmarked, nowMs)];
  }

  /** The step for what a reply says: the open one while its reply is not accepted, else a new one (Y1). */
  openStep(state: RunState, nowMs: number): readonly EventDraft[] {
    const { open } = state;
    if (open !== null && open.stage.at !== 'accepted') {
      this.#blocks ??= new ReplyBlocks({ step: state.step, attempt: open.attempt });
      return [];
    }
    const left = this.leaveStep(state, nowMs);
    const { step: before, requested: model } = applyDrafts(state, left, nowMs);
    const step = before + 1;
    const degraded = [...this.#degraded];
    this.#degraded.clear();
    const more = degraded.length === 0 ? {} : { degraded };
    const data = { purpose: 'reply', model, replyBudget: null, ...more } as const;
    this.#reset(step, 1);
    const opened = [...left, { type: 'step-started', data, step, attempt: 0 } as const];
    // Who answers may be known before the reply's first word.
    return [...opened, ...this.#modelSwitch(applyDrafts(state, opened, nowMs))];
  }

  leaveStep(state: RunState, nowMs: number): readonly EventDraft[] {
    if (state.open === null) return [];
    const lost = giveUpCalls(state);
    const closed = this.withUsage(applyDrafts(state, lost, nowMs));
    this.#lateUsage = null;
    this.#unowned = null;
    return [...lost, ...(closed.open === null ? [] : [finishStep(closed, closed.open, nowMs)])];
  }

  /** The step that what was used by nobody's step is told with, where none is open. */
  placeUnowned(state: RunState, nowMs: number): readonly EventDraft[] {
    return this.#unowned === null || state.open !== null ? [] : this.openStep(state, nowMs);
  }

  /** Before an end: asks what was used beyond what the log knows. */
  settleUsage(state: RunState, beyond: (known: Usage | null) => Usage | null): void {
    this.#unowned = null;
    const { usage, open } = this.withUsage(state);
    this.#unowned = beyond(addUsage(usage, open?.usage ?? null));
  }

  /** With what was told of the open step's usage after its reply. */
  withUsage(state: RunState): RunState {
    const { open } = state;
    if (open === null) return state;
    const told = this.#lateUsage === null ? open : { ...open, usage: this.#lateUsage, usageIncomplete: false };
    return { ...state, open: { ...told, usage: addUsage(told.usage, this.#unowned) } };
  }

  #begin(state: RunState, nowMs: number): readonly EventDraft[] {
    const isOther = state.open !== null && state.open.stage.at !== 'accepted' && this.#begun;
    const drafts = isOther ? this.#lose(state, { reason: 'incomplete', retryInMs: 0 }) : this.openStep(state, nowMs);
    this.#begun = true;
    return drafts;
  }

  #reset(step: number, attempt: number): void {
    this.#blocks = new ReplyBlocks({ step, attempt });
    this.#texts = new Map();
    this.#begun = false;
  }

  #write(state: RunState, nowMs: number, make: (blocks: ReplyBlocks) => readonly EventDraft[]): readonly EventDraft[] {
    const opened = this.openStep(state, nowMs);
    return [...opened, ...(this.#blocks === null ? [] : make(this.#blocks))];
  }

  #addText(state: RunState, { kind, key, text, nowMs }: BlockText): readonly EventDraft[] {
    if (text === '') return [];
    return this.#write(state, nowMs, (blocks) => {
      const name = `${kind}:${key}`;
      this.#texts.set(name, (this.#texts.get(name) ?? '') + text);
      return present(blocks.addText(kind, key, text));
    });
  }

  #completeText(state: RunState, { text: whole, ...block }: BlockText): readonly EventDraft[] {
    const { kind, key } = block;
    const shown = this.#texts.get(`${kind}:${key}`) ?? '';
    if (whole === shown || whole.trimEnd() === shown.trimEnd()) return [];
    if (whole.startsWith(shown)) return this.#addText(state, { ...block, text: whole.slice(shown.length) });
    const { open, step } = state;
    if (open === null || open.stage.at === 'accepted' || this.#blocks === null) return [];
    // What was shown is not what the reply says (Y2).
    this.#texts.set(`${kind}:${key}`, whole);
    this.#blocks.replaceText(kind, key, whole);
    const { attempt } = open;
    return [{ type: 'gap', data: { reason: 'deltas_lost', step, attempt }, step, attempt }];
  }

  #completeCall(state: RunState, { id, name, input }: NativeCall, nowMs: number): readonly EventDraft[] {
    if (state.open?.stage.at === 'accepted' && callIn(state, id) !== undefined) return [];
    return this.#write(state, nowMs, (blocks) => {
      const begun = blocks.hasCall(id) ? [] : [blocks.beginCall(id, name)];
      const known = blocks.calls.find((call) => call.id === id);
      // Streamed arguments stand, whatever the runtime makes of them.
      if (known === undefined || known.whole || known.arguments !== '') return begun;
      const whole = typeof input === 'string' ? input : JSON.stringify(input);
      return [...begun, ...present(blocks.completeCall(id, whole))];
    });
  }

  #lose(
    { open, step }: RunState,
    { reason, retryInMs, error }: Omit<Extract<NativeFact, { is: 'reply-lost' }>, 'is'>,
  ): readonly EventDraft[] {
    if (open === null || open.stage.at === 'accepted') return [];
    // Said twice: of an attempt that has not begun there is nothing to give up.
    const isShown = this.#blocks?.shown === true;
    if (open.stage.at === 'backoff' && !this.#begun && !isShown) return [];
    const { attempt } = open;
    const nextAttempt = attempt + 1;
    const why = { reason, shown: isShown || open.shown, retryInMs, ...(error === undefined ? {} : { error }) };
    this.#served = null;
    this.#reset(step, nextAttempt);
    return [{ type: 'attempt-reset', step, attempt, data: { step, attempt, nextAttempt, ...why } }];
  }

  #modelSwitch({ open, requested, step }: RunState): readonly EventDraft[] {
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
}

interface BlockText {
  readonly kind: 'text' | 'thinking';
  readonly key: string;
  readonly text: string;
  readonly nowMs: number;
}

const present = (draft: EventDraft | null): readonly EventDraft[] => (draft === null ? [] : [draft]);
