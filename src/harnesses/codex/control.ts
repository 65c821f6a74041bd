// One session of Codex: a process, a thread, and one turn at a time.
//
// S1. A turn's facts end with `ended`, once, also when Codex is gone or refuses to begin.
// S2. Every request of Codex is answered: by who decides, by the turn's end, or refused at once where nobody is to be asked.
// S3. A tool that is disabled is refused here, whatever the permissions say (H-080).

import { answerTo, kindOf, type RequestKind } from './requests.ts';
import { asObject, startCodex, type CodexConnection, type StartOptions } from './start.ts';
import { createCodexState, type CodexState } from './replies.ts';
import { createMailbox, type Mailbox } from '../../process/mailbox.ts';
import { inputOf } from './turn-input.ts';
import { objectIn, textIn } from './fields.ts';
import { reduceCodex, type CodexNative } from './reduce.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { Gone } from '../foreign/line-process.ts';
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
  readonly #requests = new Map<string, OpenRequest>();
  #state: CodexState;
  /** Of the turn that runs; null: none does. */
  #facts: Mailbox<NativeFact> | null = null;
  /** Said before the first turn. */
  #early: NativeFact[] = [];
  #end: ErrorInfo | null = null;
  #isStopped = false;

  constructor(open: OpenNative, connection: CodexConnection) {
    this.#open = open;
    this.#connection = connection;
    this.#disabled = new Set(open.config.disabledTools);
    this.resumed = connection.resumed;
    this.#state = createCodexState(connection.threadId, open.workspace);
    this.gone = connection.process.gone.then((gone) => this.#leave(gone));
    open.lease.onFact((fact) => this.#take({ from: 'relay', fact }));
    connection.listen({
      onRequest: (request) => this.#ask(request),
      onNotification: (method, params) => this.#take({ from: 'codex', method, params }),
    });
  }

  prompt(input: NativeInput): NativeTurn {
    const facts = createMailbox<NativeFact>(1_024);
    this.#facts = facts;
    for (const fact of this.#early.splice(0)) void facts.put(fact);
    const turnId = this.#begin(input);
    turnId.catch((cause: unknown) => {
      this.#open.logger.warn('Codex began no turn.', { cause: String(cause) });
      const error = { type: 'HarnessError', message: 'Codex did not begin the turn.', retryable: false } as const;
      if (this.#facts === facts) this.#tell({ is: 'ended', end: { as: 'failed', error: this.#end ?? error } });
    });
    return {
      facts,
      answer: (request, word) => this.#answer(request, word),
      steer: async (text) => this.#steer(await turnId, text),
      interrupt: () => this.#interrupt(turnId),
    };
  }

  stop(): Promise<StoppedTree> {
    this.#isStopped = true;
    this.#connection.process.endInput();
    return this.#connection.process.stop();
  }

  async #begin(input: NativeInput): Promise<string> {
    const { config, workspace } = this.#open;
    const outputSchema = config.outputSchema === undefined ? {} : { outputSchema: config.outputSchema };
    const params = { threadId: this.#state.thread, input: inputOf(input.content, workspace), ...outputSchema };
    const answer = asObject(await this.#connection.peer.request('turn/start', params));
    return textIn(objectIn(answer, 'turn'), 'id') ?? '';
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
      this.#tell(...facts.filter((fact) => fact !== gate));
      this.#connection.peer.answer(id, answerTo(kind, { say: 'deny', note: '' }));
      return true;
    }
    this.#requests.set(request, { id, kind, tool: gate.call.name });
    this.#tell(...facts);
    return true;
  }

  #take(native: CodexNative): void {
    this.#tell(...this.#reduce(native));
  }

  #reduce(native: CodexNative): readonly NativeFact[] {
    const [state, facts] = reduceCodex(this.#state, native);
    this.#state = state;
    return facts;
  }

  #tell(...facts: readonly NativeFact[]): void {
    for (const fact of facts) {
      if (fact.is === 'gate-closed') this.#requests.delete(fact.request);
      if (fact.is === 'degraded' && this.#facts === null) this.#early.push(fact);
      void this.#facts?.put(fact);
      if (fact.is !== 'ended') continue;
      this.#facts?.close();
      this.#facts = null;
      this.#requests.clear();
    }
  }

  #leave({ how, toOperator }: Gone): string {
    const message = `Codex ${how} in the middle of a turn.`;
    this.#end = { type: 'HarnessError', message, retryable: false };
    if (!this.#isStopped) this.#open.logger.error('Codex is gone.', { toOperator });
    this.#tell({ is: 'ended', end: this.#isStopped ? { as: 'interrupted' } : { as: 'failed', error: this.#end } });
    return toOperator;
  }
}
