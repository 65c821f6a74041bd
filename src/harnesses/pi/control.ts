// A session of Pi: one prompt at a time, answers, steering, interrupts, and its end.
//
// C1. A turn ends once: by what Pi says, by a refused prompt, or by Pi being gone.
// C2. Every question is answered (H-044): those that are no gate's, and those that come while no turn is there to decide.
// C3. What is asked is text: a leading slash would make a command of it.

import { CommandRefused } from './commands.ts';
import { FactOutlet } from '../foreign/fact-outlet.ts';
import { textOf } from '../foreign/fields.ts';
import { gateAnswer, gateOf } from './gate.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { idle, turnBegun, type PiNative, type PiState } from './pi-state.ts';
import { reduce } from './reduce.ts';
import { ReinsError } from '../../core/errors.ts';
import { userTexts } from '../foreign/user-texts.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeInput, NativeSession, NativeTurn, OpenNative, RelayFact } from '../foreign/runtime.ts';
import type { StartedPi } from './start.ts';

export class PiSession implements NativeSession {
  readonly #pi: StartedPi;
  readonly #logger: Logger;
  readonly #outlet: FactOutlet;
  readonly gone: Promise<string>;
  #state: PiState = idle;

  constructor(pi: StartedPi, { clock, logger }: Pick<OpenNative, 'clock' | 'logger'>) {
    this.#pi = pi;
    this.#logger = logger;
    const { version } = pi;
    this.#outlet = new FactOutlet({ label: 'Pi', version, clock, logger, onOverflow: () => void this.stop() });
    this.gone = this.#outlet.follow(pi.process);
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
    const facts = this.#outlet.open();
    this.#state = turnBegun;
    this.#ask(asText(userTexts(content).join('\n'))).catch((cause: unknown) => {
      this.#logger.warn('Pi took no prompt.', { detail: String(cause) });
      if (this.#outlet.isAt(facts)) this.#outlet.fail(promptError(cause));
    });
    return {
      facts,
      answer: (request, word) => process.send(gateAnswer(request, word)),
      steer: async (text) => {
        if (!this.#outlet.isAt(facts)) throw new ReinsError('Pi has ended this turn already.');
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
    if (event['type'] === 'extension_ui_request' && (gateOf(event) === null || !this.#outlet.isOpen))
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
    this.#outlet.tell(said, native.from === 'pi' ? native.event : null);
  }
}

const dialogs: ReadonlySet<string> = new Set(['select', 'confirm', 'input', 'editor']);

const asText = (message: string): string => (message.startsWith('/') ? ` ${message}` : message);

function promptError(cause: unknown): ErrorInfo {
  if (cause instanceof CommandRefused && /api key/i.test(cause.message))
    return { type: 'AuthenticationError', message: 'Pi has no credential for this model.', retryable: false };
  return harnessError('Pi did not take the prompt.');
}
