// A reader of events as a display is one: it shows text per step, and ends with the answer that the result holds (E-135,
// E-942). It folds nothing that the engine folds, so it can check what the engine says.
//
// C1. Of a step only the highest attempt that was seen is shown; what comes of a lower one is dropped, whether or not its
//     reset was seen.
// C2. What was seen is not taken again: the cursor is the `seq` of the newest event.
// C3. A whole text stands for its pieces where these are gone; where both are there, they are equal (E-125).
// C4. What a sub-agent says is not shown (E-114).

import type { RunEvent, RunEventOf } from '../core/run-event.ts';

interface ShownStep {
  readonly number: number;
  readonly continues: boolean;
  attempt: number;
  /** By block. */
  pieces: Map<number, string>;
  whole: string | null;
  /** Calls of the accepted reply; null: none is accepted. */
  calls: number | null;
  ran: boolean;
  /** Pieces of it may be missing. */
  holes: boolean;
}

export class ClientModel {
  /** Laws that what was delivered breaks, each as one line. */
  readonly breaches: string[] = [];
  readonly #steps: ShownStep[] = [];
  readonly #sights = new Set<string>();
  #cursor = 0;
  /** Up to here pieces may be missing. */
  #holesTo = 0;
  /** Text in front of the answer: what was said before a reminder of an open task list (E-408). */
  #before = '';

  /** Where it goes on after a lost connection. */
  get cursor(): number {
    return this.#cursor;
  }

  /** The answer so far: the last reply whose calls were not run, and the pieces that it continues (E-061). */
  get output(): string {
    let text = '';
    for (const [at, step] of [...this.#steps].toReversed().entries()) {
      const answers = step.calls === 0 || (step.calls !== null && !step.ran);
      if (answers || at > 0) text = textIn(step) + text;
      if (!step.continues) break;
    }
    return [this.#before, text].filter((each) => each !== '').join('\n\n');
  }

  /** What it shows of a step. */
  textOf(number: number): string {
    const step = this.#steps.find((each) => each.number === number);
    return step === undefined ? '' : textIn(step);
  }

  /** Takes an event as it was delivered: once or again, with holes that a `gap` names. */
  push(event: RunEvent): void {
    if (event.agentPath?.length) return;
    if (event.type === 'gap') return this.#lose(event);
    if (event.seq <= this.#cursor) return;
    this.#cursor = event.seq;
    this.#take(event);
  }

  #take(event: RunEvent): void {
    if (event.type === 'step-started') this.#open(event);
    else if (event.type === 'text-delta' || event.type === 'text-complete') this.#show(event);
    else if (event.type === 'turn-complete') this.#accept(event);
    else if (event.type === 'attempt-reset') this.#reset(event);
    else if (event.type === 'tool-call-start' || event.type === 'tool-result') this.#see(event);
    else if (event.type === 'tool-dispatched') for (const step of this.#steps.slice(-1)) step.ran = true;
    else if (event.type === 'user-message' && event.data.purpose === 'todo-reminder') this.#before = this.output;
    else if (event.type === 'run-result') this.#check(event);
  }

  #open({ step: number, data }: RunEventOf<'step-started'>): void {
    const continues = data.purpose === 'continuation';
    const nothing = { pieces: new Map<number, string>(), whole: null, calls: null, ran: false };
    this.#steps.push({ number, continues, attempt: 1, ...nothing, holes: this.#inHoles });
  }

  /** The step of an event that is to be shown; null: something newer is (C1). */
  #attemptOf({ step: number, attempt }: Pick<RunEvent, 'step' | 'attempt'>): ShownStep | null {
    const step = this.#steps.at(-1);
    if (step === undefined || step.number !== number || attempt < step.attempt) return null;
    if (attempt > step.attempt) Object.assign(step, { attempt, pieces: new Map(), whole: null, holes: this.#inHoles });
    return step;
  }

  #show(event: RunEventOf<'text-delta' | 'text-complete'>): void {
    const step = this.#attemptOf(event);
    if (step === null) return;
    const { block = 0 } = event;
    if (event.type === 'text-delta') return void step.pieces.set(block, (step.pieces.get(block) ?? '') + event.data);
    const shown = textIn(step);
    if (!step.holes && shown !== '' && shown !== event.data) this.#breach('E-125', 'the pieces differ from the whole');
    step.whole = event.data;
  }

  #accept(event: RunEventOf<'turn-complete'>): void {
    const step = this.#attemptOf(event);
    if (step !== null) step.calls = event.data.calls.length;
  }

  #reset({ data: { step, nextAttempt } }: RunEventOf<'attempt-reset'>): void {
    this.#attemptOf({ step, attempt: nextAttempt });
  }

  #see(event: RunEventOf<'tool-call-start' | 'tool-result'>): void {
    const id = event.type === 'tool-result' ? event.data.toolCallId : event.data.id;
    const sight = `${event.step}:${id}:${event.type}`;
    if (this.#sights.has(sight)) this.#breach('E-126', `${event.type} of ${id} twice`);
    this.#sights.add(sight);
  }

  get #inHoles(): boolean {
    return this.#cursor <= this.#holesTo;
  }

  /** What comes behind a gap are facts alone, as far as it reaches (E-151). */
  #lose({ data }: RunEventOf<'gap'>): void {
    this.#holesTo = Math.max(this.#holesTo, data.to ?? 0);
    for (const step of this.#steps.slice(-1)) step.holes = true;
  }

  /** L16: what is shown at the end is what the result says (E-135). */
  #check({ data }: RunEventOf<'run-result'>): void {
    if (data.status !== 'completed' && data.status !== 'failed' && data.status !== 'cancelled') return;
    const { output } = this;
    if (output !== data.output)
      this.#breach('L16', `shows ${JSON.stringify(output)}, not ${JSON.stringify(data.output)}`);
    const last = this.#steps.at(-1);
    if (last === undefined || last.holes || (data.status === 'completed' && output !== '')) return;
    const partial = last.calls === null || output === '' ? textIn(last) : '';
    if (partial !== (data.partialOutput ?? ''))
      this.#breach('L16', `was left with ${JSON.stringify(partial)}, not ${JSON.stringify(data.partialOutput)}`);
  }

  #breach(law: string, what: string): void {
    this.breaches.push(`${law} at ${this.#cursor}: ${what}`);
  }
}

export function createClientModel(): ClientModel {
  return new ClientModel();
}

function textIn({ whole, pieces }: ShownStep): string {
  const inOrder = [...pieces].toSorted(([one], [other]) => one - other);
  return whole ?? inOrder.map(([, text]) => text).join('');
}
