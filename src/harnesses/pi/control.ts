// A session of Pi: one prompt at a time, answers, steering, interrupts, and its end.
//
// C1. A turn ends once: by what Pi says, by a refused prompt, or by Pi being gone.
// C2. Every question is answered (H-044): those that are no gate's, and those that come while no turn is there to decide.
// C3. What is asked is text: a leading slash would make a command of it.

import { createMailbox, type Mailbox } from '../../process/mailbox.ts';
import { CommandRefused } from './commands.ts';
import { textOf } from './fields.ts';
import { gateAnswer, gateOf } from './gate.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { idle, turnBegun, type PiNative, type PiState } from './pi-state.ts';
import { reduce } from './reduce.ts';
import { ReinsError } from '../../core/errors.ts';
import { userTexts } from '../foreign/user-texts.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { NativeInput, NativeSession, NativeTurn, RelayFact } from '../foreign/runtime.ts';
import type { StartedPi } from './start.ts';

/** Facts that wait before their taker is behind. */
const roomyFacts = 1_024;

export class PiSession implements NativeSession {
  readonly #pi: StartedPi;
  readonly #logger: Logger;
  readonly gone: Promise<string>;
  #state: PiState = idle;
  #facts: Mailbox<NativeFact> | null = null;
  /** Said while no turn was there to hear it. */
  #unheard: NativeFact[] = [];

  constructor(pi: StartedPi, logger: Logger) {
    this.#pi = pi;
    this.#logger = logger;
    this.gone = pi.process.gone.then(({ how, toOperator }) => {
      this.#fail(harnessError(`Pi ${how} while it was at work.`), pi.process.diagnostics());
      return toOperator;
    });
    pi.listen((event) => this.#hear(event));
  }

  get resumed(): boolean {
    return this.#pi.resumed;
  }

  hearRelay(fact: RelayFact): void {
    this.#take({ from: 'relay', fact });
  }

  prompt({ content }: NativeInput): NativeTurn {
    const { commands, process } = this.#pi;
    const facts = createMailbox<NativeFact>(roomyFacts);
    this.#facts = facts;
    this.#state = turnBegun;
    for (const fact of this.#unheard.splice(0)) void facts.put(fact);
    this.#ask(asText(userTexts(content).join('\n'))).catch((cause: unknown) => {
      if (this.#facts === facts) this.#fail(promptError(cause), String(cause));
    });
    return {
      facts,
      answer: (request, word) => process.send(gateAnswer(request, word)),
      steer: async (text) => {
        if (this.#facts !== facts) throw new ReinsError('Pi has ended this turn already.');
        await commands.send('steer', { message: asText(text) });
      },
      interrupt: () => {
        // What is queued would go on after the abort (H-502).
        for (const type of ['clear_queue', 'abort']) commands.send(type).catch(() => undefined);
      },
    };
  }

  async stop() {
    this.#pi.process.endInput();
    return this.#pi.process.stop();
  }

  async #ask(message: string): Promise<void> {
    const { commands } = this.#pi;
    // A message that came as the last turn ended is said again by who sent it.
    await commands.send('clear_queue');
    const { disposition } = await commands.send('prompt', { message });
    if (disposition !== 'started') throw new ReinsError(`Pi took a prompt as ${textOf(disposition)}.`);
  }

  #hear(event: JsonObject): void {
    if (event['type'] === 'extension_ui_request' && (gateOf(event) === null || this.#facts === null))
      this.#decline(event);
    this.#take({ from: 'pi', event });
  }

  /** Dialogs wait for an answer; the other kinds of requests expect none (C2). */
  #decline({ id, method }: JsonObject): void {
    if (typeof id === 'string' && dialogs.has(textOf(method)))
      this.#pi.process.send({ type: 'extension_ui_response', id, cancelled: true });
  }

  #take(native: PiNative): void {
    const [state, said] = reduce(this.#state, native);
    this.#state = state;
    for (const fact of said) this.#put(fact);
  }

  #put(fact: NativeFact): void {
    const facts = this.#facts;
    if (facts === null) {
      if (fact.is === 'degraded') this.#unheard.push(fact);
      return;
    }
    void facts.put(fact);
    if (fact.is !== 'ended') return;
    this.#facts = null;
    facts.close();
  }

  #fail(error: ErrorInfo, detail: string): void {
    if (this.#facts === null) return;
    this.#logger.warn('A turn of Pi failed.', { detail });
    this.#state = idle;
    this.#put({ is: 'ended', end: { as: 'failed', error } });
  }
}

const dialogs: ReadonlySet<string> = new Set(['select', 'confirm', 'input', 'editor']);

const asText = (message: string): string => (message.startsWith('/') ? ` ${message}` : message);

function promptError(cause: unknown): ErrorInfo {
  if (cause instanceof CommandRefused && /api key/i.test(cause.message))
    return { type: 'AuthenticationError', message: 'Pi has no credential for this model.', retryable: false };
  return harnessError('Pi did not take the prompt.');
}
