// One turn of a `HarnessV1` session: parts in, facts out, words back.
//
// T1. A part is emitted at once or never: whoever emits cannot be made to wait, and is never thrown at (P-076).
// T2. The turn has ended when it said so and its promise has settled, or a while after it said so. What comes later is dropped.
// T3. A promise that settles without an end being said is a failure, and so is one that rejects; after an interrupt it is
//     the interrupt (P-077).

import { addUsage, type Usage } from '../../core/usage.ts';
import { errorOf, notHere, reducePart } from './reduce.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { mendPart } from './mend-part.ts';
import { outputOf, questionsTool } from './questions.ts';
import { readStreamPart } from '../../protocol/parts/read-stream-part.ts';
import { ReinsError } from '../../core/errors.ts';
import { sleep, type Clock } from '../../core/clock.ts';
import { StreamPartError } from '../../protocol/parts/stream-part-error.ts';
import { toJsonValue, type JsonValue } from '../../core/json.ts';
import { turnBegun, type V1Setting, type V1State } from './v1-state.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { FactOutlet } from '../foreign/fact-outlet.ts';
import type { FactQueue } from '../foreign/fact-queue.ts';
import type { GateWord, NativeTurn } from '../foreign/runtime.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeEnd, NativeFact } from '../foreign/native-fact.ts';
import type { PromptControl, PromptTurnOptions } from './harness-v1.ts';
import type { StreamPart } from '../../protocol/parts/stream-part.ts';

export interface V1TurnParts {
  readonly setting: V1Setting;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly outlet: FactOutlet;
  /** Of the session before this turn; null: not known. */
  readonly total: Usage | null;
  readonly start: (options: Pick<PromptTurnOptions, 'abortSignal' | 'emit'>) => PromiseLike<PromptControl>;
  /** What the turn can be told. */
  readonly onControl: (control: PromptControl) => void;
}

/** How long a promise may go on after its turn has said that it is over. */
const settleMs = 2_000;

export class V1Turn implements NativeTurn {
  readonly facts: FactQueue;
  /** Resolves when nothing of it goes on, as far as it says. */
  readonly settled: Promise<void>;
  readonly #o: V1TurnParts;
  readonly #abort = new AbortController();
  readonly #control = Promise.withResolvers<PromptControl>();
  readonly #saidEnd = Promise.withResolvers<void>();
  #state: V1State;
  #phase: 'running' | 'interrupted' | 'over' = 'running';
  #dropped = 0;

  constructor(parts: V1TurnParts) {
    this.#o = parts;
    this.facts = parts.outlet.open();
    this.#state = { ...turnBegun, total: parts.total };
    this.#control.promise.catch(() => undefined);
    this.settled = this.#run();
  }

  /** Of the session, after what it has said so far. */
  get total(): Usage | null {
    return this.#state.total;
  }

  hearUsage(usage: Usage): void {
    this.#state = { ...this.#state, relayed: addUsage(this.#state.relayed, usage) };
  }

  answer(request: string, word: GateWord): void {
    const call = this.#state.known.get(request);
    const isQuestion = call?.isHosted === true && call.name === questionsTool;
    this.#say((control) => {
      if (isQuestion) return control.submitToolResult({ toolCallId: request, output: outputOf(call.input, word) });
      if (control.submitToolApproval === undefined) throw new TypeError('It asks, and takes no answer.');
      const reason = 'note' in word ? { reason: word.note } : {};
      return control.submitToolApproval({ approvalId: request, approved: word.say === 'allow', ...reason });
    });
  }

  async steer(text: string): Promise<void> {
    const control = await this.#control.promise;
    if (control.submitUserMessage === undefined) throw new ReinsError(`${this.#o.setting.label} takes no message now.`);
    await control.submitUserMessage(text);
  }

  interrupt(): void {
    if (this.#phase === 'running') this.#phase = 'interrupted';
    this.#abort.abort(new DOMException('The turn was interrupted.', 'AbortError'));
  }

  async #run(): Promise<void> {
    const { start, onControl, clock } = this.#o;
    const left = new AbortController();
    try {
      const control = await start({ abortSignal: this.#abort.signal, emit: (part) => this.#emit(part) });
      this.#control.resolve(control);
      onControl(control);
      const late = this.#saidEnd.promise.then(() => sleep(clock, settleMs, left.signal));
      await Promise.race([control.done, late]);
      this.#end(null);
    } catch (cause) {
      this.#control.reject(cause);
      this.#end(cause);
    } finally {
      left.abort();
    }
  }

  /** @param cause  Null: its promise resolved. */
  #end(cause: unknown): void {
    const { label } = this.#o.setting;
    const end = this.#state.end ?? this.#endBy(cause);
    if (end.as === 'failed')
      this.#o.logger.warn('A turn of a harness failed.', {
        harness: label,
        error: end.error.message,
        cause: String(cause),
      });
    if (this.#dropped > 0)
      this.#o.logger.warn('A harness went on after its end.', { harness: label, parts: this.#dropped });
    this.#phase = 'over';
    this.#tell([{ is: 'ended', end }]);
  }

  #endBy(cause: unknown): NativeEnd {
    if (this.#phase === 'interrupted') return { as: 'interrupted' };
    if (cause !== null) return { as: 'failed', error: errorOf(cause, this.#o.setting) };
    const message = `${this.#o.setting.label} stopped without an end.`;
    return { as: 'failed', error: { type: 'IncompleteStreamError', message, retryable: true } };
  }

  #emit(given: unknown): void {
    if (this.#phase === 'over' || this.#state.end !== null) return void (this.#dropped += 1);
    try {
      const read = readStreamPart(mendPart(given));
      if (read.kind === 'part') this.#take(read.part);
      else this.#tell([{ is: 'unknown', kind: read.partType }], toJsonValue(given));
    } catch (cause) {
      const where =
        cause instanceof StreamPartError ? ` (${cause.partType ?? 'no type'}: ${cause.code} at "${cause.path}")` : '';
      const message = `${this.#o.setting.label} sent what is no part${where}.`;
      this.#fail({ type: 'AdapterProtocolError', message, retryable: false });
    }
  }

  #take(part: StreamPart): void {
    const { setting, logger } = this.#o;
    const isNew = part.type === 'tool-call' && !this.#state.known.has(part.toolCallId);
    const [state, facts] = reducePart(this.#state, part, setting);
    this.#state = state;
    this.#tell(facts);
    if (part.type === 'stream-start' && part.warnings !== undefined && part.warnings.length > 0)
      logger.warn('A harness warns of a call.', { harness: setting.label, warnings: JSON.stringify(part.warnings) });
    const call = isNew ? state.known.get(part.toolCallId) : undefined;
    if (call?.isHosted === true && facts.some(({ is }) => is === 'call-ended'))
      this.#say((control) => control.submitToolResult({ toolCallId: call.id, output: notHere(call), isError: true }));
    if (state.end !== null) this.#stopAt(state.end);
  }

  #tell(facts: readonly NativeFact[], given: JsonValue = null): void {
    if (this.#o.outlet.isAt(this.facts)) this.#o.outlet.tell(facts, given);
  }

  #fail(error: ErrorInfo): void {
    const end: NativeEnd = { as: 'failed', error };
    this.#state = { ...this.#state, end };
    this.#stopAt(end);
  }

  #stopAt(end: NativeEnd): void {
    if (end.as === 'failed') this.#abort.abort();
    this.#saidEnd.resolve();
  }

  /** A word that does not get through leaves the runtime waiting for ever: the turn has failed (H-045). */
  #say(say: (control: PromptControl) => PromiseLike<void>): void {
    this.#control.promise.then(say).catch((cause: unknown) => {
      if (this.#phase !== 'running' || this.#state.end !== null) return;
      this.#o.logger.warn('A harness took no answer.', { harness: this.#o.setting.label, cause: String(cause) });
      this.#fail(harnessError(`${this.#o.setting.label} took no answer to what it had asked.`));
    });
  }
}
