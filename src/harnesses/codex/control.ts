// One session of Codex: a process, a thread, and one turn at a time.
//
// S1. A turn's facts end with `ended`, once, also when Codex is gone or refuses to begin.
// S2. Every request of Codex is answered: by who decides, by the turn's end, or refused at once where nobody is to be asked.
// S3. A tool that is disabled is refused here, whatever the permissions say (H-080).

import { answerTo, kindOf, type RequestKind } from './requests.ts';
import { startCodex, type CodexConnection, type StartOptions } from './start.ts';
import { createCodexState, type CodexState } from './replies.ts';
import { FactOutlet } from '../foreign/fact-outlet.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { inputOf } from './turn-input.ts';
import { objectOf, textOf } from '../foreign/fields.ts';
import { reduceCodex, type CodexNative } from './reduce.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { RpcRequest } from '../foreign/rpc-peer.ts';
import type { StoppedTree } from '../../process/stop-tree.ts';

/** @throws RuntimeFault */
export async function openCodex(options: StartOptions): Promise<NativeSession> {
  const connection = await startCodex(options);
  return new CodexSession(options.open, connection);
}

interface OpenRequest {
  readonly id: RpcRequest['id'];
  readonly kind: RequestKind;
  readonly tool: string;
}

class CodexSession implements NativeSession {
  readonly resumed: boolean;
  readonly gone: Promise<string>;
  readonly #open: OpenNative;
  readonly #connection: CodexConnection;
  readonly #disabled: ReadonlySet<string>;
  readonly #outlet: FactOutlet;
  readonly #requests = new Map<string, OpenRequest>();
  #state: CodexState;

  constructor(open: OpenNative, connection: CodexConnection) {
    this.#open = open;
    this.#connection = connection;
    this.#disabled = new Set(open.config.disabledTools);
    this.resumed = connection.resumed;
    this.#state = createCodexState(connection.threadId, open.workspace);
    const { clock, logger } = open;
    const onOverflow = () => void this.stop();
    this.#outlet = new FactOutlet({ label: 'Codex', version: connection.version, clock, logger, onOverflow });
    this.gone = this.#outlet.follow(connection.process);
    open.lease.onFact((fact) => this.#take({ from: 'relay', fact }));
    connection.listen({
      onRequest: (request) => this.#ask(request),
      onNotification: (method, params) => this.#take({ from: 'codex', method, params }),
    });
  }

  prompt(input: NativeInput): NativeTurn {
    const facts = this.#outlet.open();
    const turnId = this.#begin(input);
    turnId.catch((cause: unknown) => {
      this.#open.logger.warn('Codex began no turn.', { cause: String(cause) });
      if (this.#outlet.isAt(facts)) this.#outlet.fail(harnessError('Codex did not begin the turn.'));
    });
    return {
      facts,
      answer: (request, word) => this.#answer(request, word),
      steer: async (text) => this.#steer(await turnId, text),
      interrupt: () => this.#interrupt(turnId),
    };
  }

  stop(): Promise<StoppedTree> {
    this.#connection.process.endInput();
    return this.#connection.process.stop();
  }

  async #begin(input: NativeInput): Promise<string> {
    const { config, workspace } = this.#open;
    const outputSchema = config.outputSchema === undefined ? {} : { outputSchema: config.outputSchema };
    const params = { threadId: this.#state.thread, input: inputOf(input.content, workspace), ...outputSchema };
    const answer = objectOf(await this.#connection.peer.request('turn/start', params));
    return textOf(objectOf(answer['turn'])['id']);
  }

  async #steer(turnId: string, text: string): Promise<void> {
    await this.#connection.peer.request('turn/steer', {
      threadId: this.#state.thread,
      expectedTurnId: turnId,
      input: inputOf([{ type: 'text', text }], this.#open.workspace),
    });
  }

  #interrupt(turnId: Promise<string>): void {
    const { peer } = this.#connection;
    const threadId = this.#state.thread;
    const interrupted = async () => {
      await peer.request('turn/interrupt', { threadId, turnId: await turnId });
      // An interrupt leaves the command alive that it interrupts (H-402).
      await peer.request('thread/backgroundTerminals/clean', { threadId });
    };
    interrupted().catch((cause: unknown) =>
      this.#open.logger.info('Codex had no turn to end.', { cause: String(cause) }),
    );
  }

  #answer(request: string, word: GateWord): void {
    const open = this.#requests.get(request);
    if (open === undefined) return;
    this.#requests.delete(request);
    const answer = () => this.#connection.peer.answer(open.id, answerTo(open.kind, word));
    const { turn } = this.#state;
    if (word.say !== 'deny' || turn === null) return answer();
    // A refusal has no place for words; a message that is taken before it is read right after it (H-043).
    const note = `About the call of ${open.tool} that was refused: ${word.note}`;
    this.#steer(turn, note).then(answer, answer);
  }

  #ask({ id, method, params }: RpcRequest): boolean {
    const kind = kindOf(method, params);
    if (kind === null) return false;
    const request = JSON.stringify(id);
    const facts = this.#reduce({ from: 'request', id: request, method, params });
    const gate = facts.find((fact) => fact.is === 'gate' || fact.is === 'question');
    if (gate === undefined || this.#disabled.has(gate.call.name)) {
      this.#tell(facts.filter((fact) => fact !== gate));
      this.#connection.peer.answer(id, answerTo(kind, { say: 'deny', note: '' }));
      return true;
    }
    this.#requests.set(request, { id, kind, tool: gate.call.name });
    this.#tell(facts);
    return true;
  }

  #take(native: CodexNative): void {
    this.#tell(this.#reduce(native), native.from === 'relay' ? null : { ...native });
  }

  #reduce(native: CodexNative): readonly NativeFact[] {
    const [state, facts] = reduceCodex(this.#state, native);
    this.#state = state;
    return facts;
  }

  #tell(facts: readonly NativeFact[], native: JsonObject | null = null): void {
    for (const fact of facts) if (fact.is === 'gate-closed') this.#requests.delete(fact.request);
    this.#outlet.tell(facts, native);
    if (!this.#outlet.isOpen) this.#requests.clear();
  }
}
