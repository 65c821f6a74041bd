// A session with the program, and its turns: what is said to it.
//
// C1. A turn gets exactly one `ended`, the last of its facts: by the program, or for it when the program is gone (H-100).
// C2. Nothing runs that nobody asked for: outside of a turn every call is refused.

import { beginTurn, reduce, type TurnState } from './reduce.ts';
import { FactOutlet } from '../foreign/fact-outlet.ts';
import { objectOf, textOf, wordOf } from '../foreign/fields.ts';
import { gateFact, withAnswers } from './gate-fact.ts';
import { ReinsError } from '../../core/errors.ts';
import { userTexts } from '../foreign/user-texts.ts';
import { uuidOf } from './uuid-of.ts';
import type { ControlPeer } from './control-peer.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { FactQueue } from '../foreign/fact-queue.ts';
import type { JsonObject } from '../../core/json.ts';
import type { LineProcess } from '../foreign/line-process.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { NativeMessage } from './native-message.ts';

export interface SessionParts {
  readonly process: LineProcess;
  readonly peer: ControlPeer;
  readonly options: Pick<OpenNative, 'clock' | 'lease' | 'logger' | 'random'>;
  readonly version: string | null;
  readonly resumed: boolean;
}

type Gate = Extract<NativeFact, { is: 'gate' | 'question' }>;

export class ClaudeCodeSession implements NativeSession {
  readonly resumed: boolean;
  readonly gone: Promise<string>;
  readonly #parts: SessionParts;
  readonly #outlet: FactOutlet;
  #turn: ClaudeCodeTurn | null = null;

  constructor(parts: SessionParts) {
    const { process, options, resumed, version } = parts;
    const { clock, logger } = options;
    this.#parts = parts;
    this.resumed = resumed;
    this.#outlet = new FactOutlet({ label: 'Claude Code', version, clock, logger, onOverflow: () => void this.stop() });
    options.lease.onFact((fact) => this.#turn?.take({ from: 'relay', fact }));
    this.gone = this.#outlet.follow(process).finally(() => this.#turn?.leave());
  }

  prompt({ content }: NativeInput): NativeTurn {
    const { peer, process, options } = this.#parts;
    const turn = new ClaudeCodeTurn(beginTurn(this.#turn?.tasks), {
      peer,
      outlet: this.#outlet,
      say: (texts) => {
        const uuid = uuidOf(options.random);
        const message = { role: 'user', content: texts.map((text) => ({ type: 'text', text })) };
        // As a program composed it: no `@path` in it is read, and no `/command` run.
        process.send({ type: 'user', message, uuid, parent_tool_use_id: null, session_id: '', client_composed: true });
        return uuid;
      },
    });
    this.#turn = turn;
    turn.say(userTexts(content));
    return turn;
  }

  stop() {
    return this.#parts.process.stop();
  }

  /** A message of the program. */
  receive(message: JsonObject): void {
    if (this.#turn?.isOpen === true) return this.#turn.take({ from: 'program', message });
    const request = wordOf(message['request_id']);
    if (request !== null && gateFact(request, objectOf(message['request'])).is !== 'unknown')
      this.#parts.peer.answer(request, { behavior: 'deny', message: 'No task is under way.' }); // C2
  }
}

interface TurnParts {
  readonly peer: ControlPeer;
  readonly outlet: FactOutlet;
  /** Gives the message's id. */
  say(texts: readonly string[]): string;
}

class ClaudeCodeTurn implements NativeTurn {
  readonly facts: FactQueue;
  readonly #parts: TurnParts;
  readonly #gates = new Map<string, Gate>();
  readonly #unheard = new Map<string, PromiseWithResolvers<void>>();
  #state: TurnState;

  constructor(state: TurnState, parts: TurnParts) {
    this.#state = state;
    this.#parts = parts;
    this.facts = parts.outlet.open();
  }

  get isOpen(): boolean {
    return this.#parts.outlet.isAt(this.facts);
  }

  get tasks() {
    return this.#state.tasks;
  }

  take(native: NativeMessage): void {
    if (!this.isOpen) return;
    const [state, facts] = reduce(this.#state, native);
    this.#state = state;
    if (native.from === 'program' && native.message['type'] === 'command_lifecycle')
      this.#unheard.get(textOf(native.message['command_uuid']))?.resolve();
    for (const fact of facts) if (fact.is === 'gate' || fact.is === 'question') this.#gates.set(fact.request, fact);
    this.#parts.outlet.tell(facts, native.from === 'program' ? native.message : null);
    if (!this.isOpen) this.leave();
  }

  say(texts: readonly string[]): string {
    const sent = this.#parts.say(texts);
    this.take({ from: 'us', sent });
    return sent;
  }

  answer(request: string, word: GateWord): void {
    const gate = this.#gates.get(request);
    this.#gates.delete(request);
    if (gate !== undefined) this.#parts.peer.answer(request, responseOf(gate, word));
  }

  async steer(text: string): Promise<void> {
    if (!this.isOpen) throw new ReinsError('The turn has ended.');
    const heard = Promise.withResolvers<void>();
    this.#unheard.set(this.say([text]), heard);
    return heard.promise;
  }

  interrupt(): void {
    // Its end tells what became of it.
    this.#parts.peer.request({ subtype: 'interrupt' }).catch(() => undefined);
  }

  /** Nothing is read any more that was not read before. */
  leave(): void {
    for (const heard of this.#unheard.values()) heard.reject(new ReinsError('The turn has ended.'));
  }
}

function responseOf({ call }: Gate, word: GateWord): JsonObject {
  const allow = (updatedInput: JsonObject) => ({ behavior: 'allow', updatedInput, toolUseID: call.id });
  const deny = (message: string) => ({ behavior: 'deny', message, toolUseID: call.id });
  switch (word.say) {
    case 'allow':
      return allow(objectOf(call.input));
    case 'deny':
      return deny(word.note);
    case 'answers':
      return word.answers === null ? deny('The user declined to answer.') : allow(withAnswers(call, word.answers));
    case 'cancelled':
      return { ...deny('Cancelled.'), interrupt: true };
  }
}
