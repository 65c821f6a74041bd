// A session with the program, and its turns: what is said to it.
//
// C1. A turn gets exactly one `ended`, the last of its facts: by the program, or for it when the program is gone (H-100).
// C2. Nothing runs that nobody asked for: outside of a turn every call is refused.

import { beginTurn, reduce, type TurnState } from './reduce.ts';
import { createMailbox } from '../../process/mailbox.ts';
import { objectOf, textOf } from './fields.ts';
import { gateFact, withAnswers } from './gate-fact.ts';
import { ReinsError } from '../../core/errors.ts';
import { userTexts } from '../foreign/user-texts.ts';
import { uuidOf } from './uuid-of.ts';
import type { ControlPeer } from './control-peer.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { JsonObject } from '../../core/json.ts';
import type { LineProcess } from '../foreign/line-process.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { NativeMessage } from './native-message.ts';

export interface SessionParts {
  readonly line: LineProcess;
  readonly peer: ControlPeer;
  readonly options: Pick<OpenNative, 'lease' | 'logger' | 'random'>;
  readonly resumed: boolean;
}

type Gate = Extract<NativeFact, { is: 'gate' | 'question' }>;

/** Longest queue of facts that nobody has taken yet. */
const mostFacts = 1_000;

export class ClaudeCodeSession implements NativeSession {
  readonly resumed: boolean;
  readonly gone: Promise<string>;
  readonly #parts: SessionParts;
  readonly #known = new Set<string>();
  #turn: ClaudeCodeTurn | null = null;

  constructor(parts: SessionParts) {
    const { line, peer, options, resumed } = parts;
    this.#parts = parts;
    this.resumed = resumed;
    options.lease.onFact((fact) => this.#turn?.take({ from: 'relay', fact }));
    this.gone = line.gone.then(({ how, toOperator }) => {
      const why = `Claude Code ${how}.`;
      peer.close(why);
      if (this.#turn?.isOpen === true)
        options.logger.warn('Claude Code went away in a turn.', { how, said: line.diagnostics() });
      this.#turn?.fail(why);
      return toOperator;
    });
  }

  prompt({ content }: NativeInput): NativeTurn {
    const { peer, line, options } = this.#parts;
    this.#turn?.fail('Another turn was begun.');
    const turn = new ClaudeCodeTurn(beginTurn(this.#turn?.tasks), {
      peer,
      say: (texts) => {
        const uuid = uuidOf(options.random);
        const message = { role: 'user', content: texts.map((text) => ({ type: 'text', text })) };
        // As a program composed it: no `@path` in it is read, and no `/command` run.
        line.send({ type: 'user', message, uuid, parent_tool_use_id: null, session_id: '', client_composed: true });
        return uuid;
      },
      noteUnknown: (kind) => {
        if (this.#known.has(kind)) return;
        this.#known.add(kind);
        options.logger.warn('Claude Code said something that is not known here.', { kind });
      },
    });
    this.#turn = turn;
    turn.say(userTexts(content));
    return turn;
  }

  stop() {
    return this.#parts.line.stop();
  }

  /** A message of the program. */
  receive(message: JsonObject): void {
    if (this.#turn?.isOpen === true) return this.#turn.take({ from: 'program', message });
    const request = textOf(message['request_id']);
    if (request !== null && gateFact(request, objectOf(message['request'])).is !== 'unknown')
      this.#parts.peer.answer(request, { behavior: 'deny', message: 'No task is under way.' }); // C2
  }
}

interface TurnParts {
  readonly peer: ControlPeer;
  /** Gives the message's id. */
  say(texts: readonly string[]): string;
  noteUnknown(kind: string): void;
}

class ClaudeCodeTurn implements NativeTurn {
  readonly facts = createMailbox<NativeFact>(mostFacts);
  readonly #parts: TurnParts;
  readonly #gates = new Map<string, Gate>();
  readonly #unheard = new Map<string, PromiseWithResolvers<void>>();
  #state: TurnState;

  constructor(state: TurnState, parts: TurnParts) {
    this.#state = state;
    this.#parts = parts;
  }

  get isOpen(): boolean {
    return !this.#state.ended;
  }

  get tasks() {
    return this.#state.tasks;
  }

  take(native: NativeMessage): void {
    const [state, facts] = reduce(this.#state, native);
    this.#state = state;
    if (native.from === 'program' && native.message['type'] === 'command_lifecycle')
      this.#unheard.get(textOf(native.message['command_uuid']) ?? '')?.resolve();
    for (const fact of facts) {
      if (fact.is === 'gate' || fact.is === 'question') this.#gates.set(fact.request, fact);
      if (fact.is === 'unknown') this.#parts.noteUnknown(fact.kind);
      void this.facts.put(fact);
    }
    if (state.ended) this.#close();
  }

  say(texts: readonly string[]): string {
    const sent = this.#parts.say(texts);
    this.take({ from: 'us', sent });
    return sent;
  }

  /** The program cannot end it any more (C1). */
  fail(message: string): void {
    if (!this.isOpen) return;
    this.#state = { ...this.#state, ended: true };
    const error = { type: 'HarnessError', message, retryable: false } as const;
    void this.facts.put({ is: 'ended', end: { as: 'failed', error } });
    this.#close();
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

  #close(): void {
    for (const heard of this.#unheard.values()) heard.reject(new ReinsError('The turn has ended.'));
    this.facts.close();
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
