// The shared checker of the ordering laws (E-941): one walk over a log, in its order. A log that still grows is checked as
// far as it goes. What sub-agents did, and what they ask of people, is theirs: only numbering and endings look at it.

import type { ModelRef } from './outcome.ts';
import type { PendingTool, ReplyPart, RunEvent, RunEventOf, TurnComplete } from './run-event.ts';

/** Breaches of L1 to L14 (E-120 to E-133), each as one line; empty for a valid log. */
export function checkLog(events: readonly RunEvent[]): readonly string[] {
  const checker = new LogChecker();
  for (const event of events) checker.check(event);
  return checker.breaches;
}

interface CallRecord {
  readonly willRun: boolean;
  at: 'started' | 'dispatched' | 'returned' | 'answered';
}

interface StepRecord {
  readonly number: number;
  readonly model: ModelRef;
  attempt: number;
  /** Joined deltas of the attempt by kind and block, and by call id. */
  readonly joined: Map<string, string>;
  live: boolean;
  lost: boolean;
  thinking: string | null;
  text: string | null;
  turn: TurnComplete | null;
  readonly calls: Map<string, CallRecord>;
  todos: boolean;
}

type CallEvent = RunEventOf<
  'tool-call-start' | 'tool-dispatched' | 'tool-output-delta' | 'tool-call-complete' | 'tool-result'
>;

class LogChecker {
  readonly breaches: string[] = [];
  #seq = 0;
  #leg = 0;
  #legOpen = false;
  #final = false;
  #steps = 0;
  #step: StepRecord | null = null;
  #previous: RunEvent | null = null;
  #switched: ModelRef | null = null;
  #requested: ModelRef | null = null;
  readonly #asked = new Map<string, PendingTool & { decided: boolean }>();
  /** A decision does not say in whose name the question came. */
  readonly #askedBySubAgents = new Set<string>();

  check(event: RunEvent): void {
    this.#checkNumbering(event);
    if (event.agentPath === undefined || event.agentPath.length === 0) this.#checkEvent(event);
    else if (isRequest(event)) this.#askedBySubAgents.add(event.data.approvalId);
    this.#previous = event;
  }

  #breach(law: string, what: string): void {
    this.breaches.push(`${law} at ${this.#seq}: ${what}`);
  }

  #expect(holds: boolean, law: string, what: string): void {
    if (!holds) this.#breach(law, what);
  }

  #checkNumbering(event: RunEvent): void {
    const expected = this.#seq + 1;
    this.#seq = event.seq;
    this.#expect(event.seq === expected, 'L1', `${expected} was due`);
    this.#expect(!this.#final, 'L3', `${event.type} after the final result`);
    const between = event.type === 'user-message' || event.type === 'approval-decided' || event.type === 'run-started';
    if (!this.#legOpen && !this.#final) this.#expect(between, 'L2', `${event.type} outside of a leg`);
  }

  #checkEvent(event: RunEvent): void {
    switch (event.type) {
      case 'run-started':
        return this.#startLeg(event);
      case 'step-started':
        return this.#startStep(event);
      case 'text-delta':
      case 'thinking-delta':
        return this.#delta(event, `${event.type}:${event.block ?? 0}`, event.data);
      case 'tool-call-delta':
        return this.#delta(event, `call:${event.data.id}`, event.data.partialJson);
      case 'thinking-complete':
      case 'text-complete':
      case 'turn-complete':
        return this.#complete(event);
      case 'attempt-reset':
        return this.#reset(event);
      case 'tool-call-start':
      case 'tool-dispatched':
      case 'tool-output-delta':
      case 'tool-call-complete':
      case 'tool-result':
        return this.#call(event);
      case 'todos-updated':
        return this.#todos();
      case 'step-finished':
        return this.#finishStep();
      case 'approval-required':
      case 'recovery-required':
        return this.#ask(event);
      case 'approval-decided':
        return this.#decide(event);
      case 'waiting':
        return this.#wait(event);
      case 'model-switched':
        this.#expect(this.#step === null || !this.#step.live, 'L14', 'model-switched after a delta of its attempt');
        this.#switched = event.data.to;
        return;
      case 'gap':
        if (this.#step !== null && event.data.reason === 'deltas_lost') this.#step.lost = true;
        return;
      case 'run-result':
        return this.#end(event);
      case 'user-message':
      case 'file-changed':
      case 'compacted':
      case 'budget-reached':
      case 'error':
        return;
      default:
        event satisfies never;
    }
  }

  #startLeg({ data }: RunEventOf<'run-started'>): void {
    this.#expect(data.leg === this.#leg + 1, 'L2', `leg ${data.leg} follows ${this.#leg}`);
    if (this.#legOpen) this.#expect(data.cause === 'recovery', 'L2', 'a leg was cut, yet the next is no recovery');
    this.#leg = data.leg;
    this.#legOpen = true;
    this.#requested = data.model;
  }

  #startStep(event: RunEventOf<'step-started'>): void {
    this.#expect(this.#step === null, 'L8', 'the step before is not finished');
    this.#expect(event.step === this.#steps + 1, 'L11', `step ${event.step} follows ${this.#steps}`);
    this.#steps = event.step;
    this.#step = {
      number: event.step,
      model: event.data.model,
      attempt: 1,
      joined: new Map(),
      live: false,
      lost: false,
      thinking: null,
      text: null,
      turn: null,
      calls: new Map(),
      todos: false,
    };
  }

  /** The open step, if the event belongs to its newest attempt. */
  #attemptOf(event: RunEvent): StepRecord | null {
    const step = this.#step;
    if (step === null || event.step !== step.number || event.attempt !== step.attempt) {
      this.#breach('L4', `${event.type} of step ${event.step}, attempt ${event.attempt}, which is not open`);
      return null;
    }
    return step;
  }

  #delta(event: RunEvent, key: string, text: string): void {
    const step = this.#attemptOf(event);
    if (step === null) return;
    const replied = step.thinking !== null || step.text !== null || step.turn !== null;
    this.#expect(!replied, 'L5', `${event.type} after the reply was complete`);
    step.live = true;
    step.joined.set(key, (step.joined.get(key) ?? '') + text);
  }

  #complete(event: RunEventOf<'thinking-complete' | 'text-complete' | 'turn-complete'>): void {
    const step = this.#attemptOf(event);
    if (step === null) return;
    this.#expect(step.turn === null, 'L5', `${event.type} after turn-complete`);
    if (event.type === 'turn-complete') {
      step.turn = event.data;
      return this.#checkReply(step, event.data);
    }
    if (event.type === 'text-complete') {
      this.#expect(step.text === null, 'L5', 'a second text-complete');
      step.text = event.data;
    } else {
      this.#expect(step.thinking === null && step.text === null, 'L5', 'thinking-complete is not the first complete');
      step.thinking = event.data;
    }
  }

  #checkReply(step: StepRecord, turn: TurnComplete): void {
    const { served } = turn;
    const answering = [this.#switched, step.model, this.#requested];
    const known = served === null || answering.some((ref) => ref?.model === served.model);
    this.#expect(known, 'L14', `served by ${served?.model ?? ''}, which was neither asked for nor switched to`);
    // A log without any live event of the attempt was pruned: its completes stand alone (E-125).
    if (step.lost || !step.live || turn.empty === true) return;
    for (const part of turn.parts) {
      const [key, whole] = wholeOf(part, step, turn);
      this.#expect((step.joined.get(key) ?? '') === whole, 'L6', `the deltas of ${key} differ from its whole`);
    }
    const kept = new Set(turn.parts.map((part) => wholeOf(part, step, turn)[0]));
    for (const [key, text] of step.joined) {
      this.#expect(kept.has(key) || text === '', 'L6', `${key} was shown and is no part of the reply`);
    }
  }

  #reset(event: RunEventOf<'attempt-reset'>): void {
    const step = this.#attemptOf(event);
    if (step === null) return;
    this.#expect(step.turn === null, 'L4', 'attempt-reset of an accepted reply');
    this.#expect(event.data.attempt === step.attempt, 'L4', 'attempt-reset of another attempt');
    this.#expect(event.data.nextAttempt === step.attempt + 1, 'L11', `attempt ${event.data.nextAttempt} comes next`);
    step.attempt = event.data.nextAttempt;
    step.joined.clear();
    step.live = false;
    step.lost = false;
  }

  #call(event: CallEvent): void {
    const step = this.#attemptOf(event);
    if (step === null) return;
    const id = event.type === 'tool-result' ? event.data.toolCallId : event.data.id;
    const call = step.calls.get(id);
    if (event.type === 'tool-call-start') {
      this.#expect(step.turn !== null, 'L5', 'tool-call-start before turn-complete');
      this.#expect(call === undefined, 'L7', `${id} starts twice`);
      this.#expect(!this.#undecided(event.data.executionKey, 'approval'), 'L9', `${id} starts undecided`);
      step.calls.set(id, { willRun: event.data.willRun, at: 'started' });
      return;
    }
    if (call === undefined) return this.#breach('L7', `${event.type} of ${id}, which has not started`);
    switch (event.type) {
      case 'tool-dispatched':
        this.#expect(call.willRun, 'L7', `${id} is dispatched and will not run`);
        this.#expect(call.at === 'started' || call.at === 'dispatched', 'L7', `${id} is dispatched late`);
        call.at = 'dispatched';
        return;
      case 'tool-output-delta':
        this.#expect(call.at === 'dispatched', 'L7', `${id} shows output while it does not run`);
        return;
      case 'tool-call-complete':
        this.#expect(call.at === 'started' || call.at === 'dispatched', 'L7', `${id} completes twice`);
        this.#expect(!this.#undecided(event.data.executionKey, 'recovery'), 'L9', `${id} completes undecided`);
        call.at = 'returned';
        return;
      case 'tool-result':
        this.#expect(call.at === 'returned', 'L7', `${id} is answered out of order`);
        this.#expect(!step.todos, 'L10', 'a tool-result after todos-updated');
        call.at = 'answered';
        return;
    }
  }

  #todos(): void {
    const step = this.#step;
    this.#expect(step !== null && !step.todos, 'L10', 'todos-updated outside of a batch, or twice in it');
    if (step !== null) step.todos = true;
  }

  #finishStep(): void {
    const step = this.#step;
    if (step === null) return this.#breach('L8', 'step-finished without an open step');
    for (const { id } of step.turn?.calls ?? []) {
      this.#expect(step.calls.get(id)?.at === 'answered', 'L8', `${id} has no result`);
    }
    this.#step = null;
  }

  #ask({ data }: RunEventOf<'approval-required' | 'recovery-required'>): void {
    this.#expect(!this.#asked.has(data.approvalId), 'L9', `${data.approvalId} is asked for twice`);
    this.#asked.set(data.approvalId, { ...data, decided: false });
  }

  #decide({ data }: RunEventOf<'approval-decided'>): void {
    if (this.#askedBySubAgents.has(data.approvalId)) return;
    const asked = this.#asked.get(data.approvalId);
    this.#expect(asked?.decided === false, 'L9', `${data.approvalId} is decided without being open`);
    if (asked !== undefined) asked.decided = true;
  }

  #undecided(executionKey: string, kind: 'approval' | 'recovery'): boolean {
    const open = [...this.#asked.values()].filter((asked) => asked.executionKey === executionKey && !asked.decided);
    return open.some((asked) => (asked.kind === 'recovery') === (kind === 'recovery'));
  }

  #wait({ data }: RunEventOf<'waiting'>): void {
    const before = this.#previous;
    if (before?.type !== 'waiting' || before.data.on !== data.on || before.data.name !== data.name) return;
    this.#expect(data.seconds > before.data.seconds, 'L13', `waiting ${data.seconds} s after ${before.data.seconds} s`);
  }

  #end({ data }: RunEventOf<'run-result'>): void {
    this.#legOpen = false;
    if (data.status === 'paused' || data.status === 'awaiting-input' || data.status === 'running') return;
    this.#final = true;
    const before = this.#previous?.type;
    this.#expect(this.#step === null, 'L8', 'a final result while a step is open');
    if (data.status === 'failed') this.#expect(before === 'error', 'L12', 'a failed run without its error');
    else this.#expect(before !== 'error', 'L12', `an error before a ${data.status} result`);
  }
}

function isRequest(event: RunEvent): event is RunEventOf<'approval-required' | 'recovery-required'> {
  return event.type === 'approval-required' || event.type === 'recovery-required';
}

/** Key of a block's deltas, and its whole content by the reply. */
function wholeOf(part: ReplyPart, step: StepRecord, turn: TurnComplete): [key: string, whole: string] {
  if (part.kind === 'tool-call') {
    return [`call:${part.id}`, turn.calls.find(({ id }) => id === part.id)?.arguments ?? ''];
  }
  const whole = part.kind === 'text' ? step.text : step.thinking;
  return [`${part.kind}-delta:${part.block}`, (whole ?? '').slice(part.start, part.end)];
}
