// Native facts become run events here, by the ordering laws E-120 to E-135 and for all runtimes alike. Pure: no clock, no I/O;
// what it says depends on the state of the log and on the facts so far. Replies are in `reply-book.ts`, calls in `turn-calls.ts`.
//
// B1. What a runtime says of calls before it has taken their reply for whole is held until it has (H-022).
// B2. A call that was approved while its runtime was gone has to be made again: where it is not, the run says so (H-042).

import { applyDrafts, closeRun, type Ending } from '../../core/closing.ts';
import { addOutput, askAbout, beginCall, endCall, refuseCall } from './turn-calls.ts';
import { asideDraft } from './aside-drafts.ts';
import { ReplyBook, unmarked } from './reply-book.ts';
import type { EventDraft, PendingTool } from '../../core/run-event.ts';
import type { NativeCall, NativeFact } from './native-fact.ts';
import type { Question } from '../../core/questions.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Usage } from '../../core/usage.ts';

/** What the driver has to see to before the book goes on. */
export type GateRequest = Extract<NativeFact, { is: 'gate' | 'question' }>;

export interface Taken {
  readonly drafts: readonly EventDraft[];
  /** To be answered now. */
  readonly gates: readonly GateRequest[];
}

export class TurnBook {
  #state: RunState;
  readonly #replies: ReplyBook;
  #held: NativeFact[] = [];
  #dropped: GateRequest[] = [];
  /** Tools by the authority that their next call has already. */
  readonly #approved = new Map<string, string>();

  /** @param nativeModel  The provider's own name of the model that was asked for: no other one answered (UD-84). */
  constructor(state: RunState, nativeModel = state.requested.model) {
    this.#state = state;
    this.#replies = new ReplyBook(nativeModel);
  }

  /** The log has taken this in. */
  fold(state: RunState): void {
    this.#state = state;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Whether facts wait for their reply to be accepted (B1). */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Whether a call of the open step runs now. */
  get isRunningCall(): boolean {
    return this.#state.open?.calls.some(({ progress }) => progress.at === 'dispatched') === true;
  }

  /** Goes into the next step's beginning. */
  degrade(what: string): void {
    this.#replies.degrade(what);
  }

  /** A call that has to be made again, by the approval that it has (B2). */
  expect(tool: string, approvalId: string): void {
    this.#approved.set(`approval:${approvalId}`, tool);
  }

  /** Facts in, drafts out. Drafts are folded with `applyDrafts` as they are made. */
  take(facts: readonly NativeFact[], nowMs: number): Taken {
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
          write(this.#replies.lateCall(this.#state, fact.call, nowMs));
        }
        gates.push(fact);
        continue;
      }
      const said = this.#note(fact, nowMs);
      write(said);
      if (said.some(({ type }) => type === 'attempt-reset')) this.#dropHeld();
      if (fact.is === 'reply-accepted') queue.unshift(...this.#held.splice(0));
    }
    return { drafts, gates };
  }

  /** Gates of replies that were given up since the last call: nobody answers them. */
  dropped(): readonly GateRequest[] {
    return this.#dropped.splice(0);
  }

  /** The mark did not come in time: what is known counts (H-022). */
  acceptAsKnown(nowMs: number): Taken {
    return this.take([{ is: 'reply-accepted', ...unmarked }], nowMs);
  }

  begin(call: NativeCall, authority: string): readonly EventDraft[] {
    this.#approved.delete(authority);
    return beginCall(this.#state, call, authority);
  }

  refuse(call: NativeCall, answer: Parameters<typeof refuseCall>[2]): readonly EventDraft[] {
    return refuseCall(this.#state, call, answer);
  }

  ask(call: NativeCall, nowMs: number, questions?: readonly Question[]): PendingTool {
    return askAbout(this.#state, call, { nowMs, questions });
  }

  /** Everything that is still open is closed by the closing rule, and the run ends. */
  end(ending: Ending, nowMs: number): readonly EventDraft[] {
    const unmade = [...this.#approved.values()].map((tool) => asideDraft(this.#state, notMade(tool)));
    this.#approved.clear();
    const told = [...unmade, ...this.#replies.placeUnowned(applyDrafts(this.#state, unmade, nowMs), nowMs)];
    const state = this.#replies.withUsage(applyDrafts(this.#state, told, nowMs));
    return [...told, ...closeRun(state, ending, nowMs)];
  }

  /** Before an end: asks what was used beyond what the log knows. */
  settleUsage(beyond: (known: Usage | null) => Usage | null): void {
    this.#replies.settleUsage(this.#state, beyond);
  }

  /** The open step ends, answered or not; for a turn that is followed by another in the same run. */
  endStep(nowMs: number): readonly EventDraft[] {
    return this.#replies.leaveStep(this.#state, nowMs);
  }

  /** B1. */
  #mustWait(fact: NativeFact): boolean {
    if (fact.is === 'call-output' || fact.is === 'call-ended') return this.#replies.isWriting(this.#state, fact.id);
    const isOfCall = fact.is === 'gate' || fact.is === 'question' || fact.is === 'call-running';
    return isOfCall && this.#replies.isWriting(this.#state, fact.call.id);
  }

  #dropHeld(): void {
    for (const held of this.#held.splice(0)) if (held.is === 'gate' || held.is === 'question') this.#dropped.push(held);
  }

  #note(fact: Exclude<NativeFact, GateRequest>, nowMs: number): readonly EventDraft[] {
    const state = this.#state;
    switch (fact.is) {
      case 'call-running': {
        const late = this.#replies.lateCall(state, fact.call, nowMs);
        return [...late, ...beginCall(applyDrafts(state, late, nowMs), fact.call, 'harness')];
      }
      case 'call-output':
        return addOutput(state, fact);
      case 'call-ended':
        return endCall(state, fact);
      case 'todos':
      case 'compacted':
      case 'file':
      case 'engine-said':
        return [asideDraft(state, fact)];
      case 'degraded':
        this.#replies.degrade(fact.what);
        return [];
      case 'gate-closed':
      case 'progress':
      case 'alive':
      case 'unknown':
      case 'ended':
        return [];
      case 'reply-begun':
      case 'served':
      case 'text':
      case 'thinking':
      case 'text-whole':
      case 'thinking-whole':
      case 'call-begun':
      case 'call-input':
      case 'call-whole':
      case 'reply-accepted':
      case 'reply-lost':
      case 'usage':
        return this.#replies.note(state, fact, nowMs);
    }
  }

  #toAccepted(nowMs: number): readonly EventDraft[] {
    const { open } = this.#state;
    return open === null || open.stage.at === 'accepted' ? [] : this.#replies.accept(this.#state, unmarked, nowMs);
  }
}

function notMade(tool: string) {
  const text = `The call of ${tool} that was approved was not made again, so it did not run.`;
  return { is: 'engine-said', text, purpose: 'approval-unused' } as const;
}
