// A session of an agent that speaks ACP: prompts, permissions, steering, interrupts, and its end.
//
// C1. A turn ends once: by what the agent answers, or by the agent being gone.
// C2. Every permission is answered: also one that comes while no turn is there to decide (H-044).
// C3. Before the agent is interrupted, what it waits for is answered; some go on waiting otherwise (H-604).
// C4. What is asked is text: a leading slash would make a command of it.

import { createMailbox, type Mailbox } from '../../process/mailbox.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { idle, turnBegun, type AcpNative, type AcpState } from './acp-state.ts';
import { objectOf, objectsOf, textOf } from './fields.ts';
import { reduce } from './reduce.ts';
import { ReinsError } from '../../core/errors.ts';
import { RpcError, type RpcRequest } from '../foreign/rpc-peer.ts';
import { userTexts } from '../foreign/user-texts.ts';
import type { AcpDialect } from './acp-profile.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, RelayFact } from '../foreign/runtime.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { StartedAcp } from './start.ts';

/** Facts that wait before their taker is behind. */
const roomyFacts = 1_024;

export class AcpSession implements NativeSession {
  readonly gone: Promise<string>;
  readonly resumed: boolean;
  /** Absent: the agent takes no second prompt. */
  readonly #canSteer: boolean;
  readonly #acp: StartedAcp;
  readonly #dialect: AcpDialect;
  readonly #logger: Logger;
  readonly #permissions = new Map<string, { readonly id: RpcRequest['id']; readonly options: readonly JsonObject[] }>();
  #foreword: string | null;
  #state: AcpState = idle;
  #facts: Mailbox<NativeFact> | null = null;
  /** To be said in the first turn. */
  #unsaid: readonly NativeFact[];

  constructor(
    acp: StartedAcp,
    {
      dialect,
      canSteer,
      logger,
    }: { readonly dialect: AcpDialect; readonly canSteer: boolean; readonly logger: Logger },
  ) {
    this.#acp = acp;
    this.#dialect = dialect;
    this.#canSteer = canSteer;
    this.#logger = logger;
    this.#foreword = acp.resumed ? null : acp.foreword;
    this.#unsaid = acp.missingServers.map((name) => ({ is: 'degraded', what: `mcp:${name}` }));
    this.resumed = acp.resumed;
    this.gone = acp.process.gone.then(({ how, toOperator }) => {
      this.#end(`${dialect.label} ${how} while it was at work.`, acp.process.diagnostics());
      return toOperator;
    });
    acp.listen({
      onRequest: (request) => this.#onRequest(request),
      onNotification: (method, params) => {
        if (method === 'session/update' && params['sessionId'] === acp.nativeId)
          this.#take({ from: 'update', update: objectOf(params['update']) });
      },
    });
  }

  hearRelay(fact: RelayFact): void {
    this.#take({ from: 'relay', fact });
  }

  prompt({ content }: NativeInput): NativeTurn {
    const facts = createMailbox<NativeFact>(roomyFacts);
    this.#facts = facts;
    this.#state = turnBegun;
    for (const fact of this.#unsaid) void facts.put(fact);
    this.#unsaid = [];
    const texts = userTexts(content);
    this.#ask(this.#foreword === null ? texts : [this.#foreword, ...texts], facts);
    this.#foreword = null;
    const steer = (text: string) => {
      if (this.#facts !== facts) throw new ReinsError(`${this.#dialect.label} has ended this turn already.`);
      this.#ask([text], facts);
    };
    return {
      facts,
      answer: (request, word) => this.#answer(request, word),
      ...(this.#canSteer ? { steer: async (text) => steer(text) } : {}),
      interrupt: () => {
        this.#take({ from: 'interrupt' });
        for (const request of this.#permissions.keys()) this.#answer(request, { say: 'cancelled' });
        this.#acp.peer.notify('session/cancel', { sessionId: this.#acp.nativeId });
      },
    };
  }

  async stop() {
    this.#acp.process.endInput();
    return this.#acp.process.stop();
  }

  #ask(texts: readonly string[], facts: Mailbox<NativeFact>): void {
    const { peer, nativeId } = this.#acp;
    const prompt = asTexts(texts).map((text) => ({ type: 'text', text }));
    this.#take({ from: 'prompted' });
    const hear = (native: AcpNative) => {
      if (this.#facts === facts) this.#take(native);
    };
    peer.request('session/prompt', { sessionId: nativeId, prompt }).then(
      (result) => hear({ from: 'answer', result: objectOf(result) }),
      (cause: unknown) => {
        // Where the agent is gone, that says why.
        if (!(cause instanceof RpcError)) return;
        this.#logger.warn('An agent refused a prompt.', { agent: this.#dialect.label, detail: cause.message });
        hear({ from: 'fault', code: cause.code, message: cause.message });
      },
    );
  }

  #onRequest({ id, method, params }: RpcRequest): boolean {
    if (method !== 'session/request_permission') return false;
    const request = String(id);
    this.#permissions.set(request, { id, options: objectsOf(params['options']) });
    if (this.#state.isOver || this.#state.isInterrupted) {
      this.#answer(request, { say: 'cancelled' });
      return true;
    }
    const bySubAgent = params['sessionId'] !== this.#acp.nativeId;
    this.#take({ from: 'permission', request, call: objectOf(params['toolCall']), bySubAgent });
    return true;
  }

  #answer(request: string, { say }: GateWord): void {
    const asked = this.#permissions.get(request);
    if (asked === undefined) return;
    this.#permissions.delete(request);
    // Never for good: what is allowed is decided here, call by call (H-040).
    const option = say === 'allow' ? optionOf(asked.options, 'allow_once') : optionOf(asked.options, 'reject_once');
    const optionId = say === 'cancelled' ? undefined : option;
    if (say !== 'allow') this.#take({ from: 'refusal' });
    this.#acp.peer.answer(asked.id, {
      outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
    });
  }

  #take(native: AcpNative): void {
    const [state, said] = reduce(this.#state, native, this.#dialect);
    this.#state = state;
    for (const fact of said) this.#put(fact);
  }

  #put(fact: NativeFact): void {
    const facts = this.#facts;
    void facts?.put(fact);
    if (fact.is !== 'ended') return;
    this.#facts = null;
    facts?.close();
  }

  #end(message: string, detail: string): void {
    if (this.#facts === null) return;
    this.#logger.warn('A turn of an agent failed.', { agent: this.#dialect.label, detail });
    this.#state = idle;
    this.#put({ is: 'ended', end: { as: 'failed', error: harnessError(message) } });
  }
}

function optionOf(options: readonly JsonObject[], kind: string): string | undefined {
  const option = options.find((each) => each['kind'] === kind);
  return option === undefined ? undefined : textOf(option['optionId']);
}

/** A sign that nobody sees stands before what would be a command; blanks alone are cut off by some. */
function asTexts(texts: readonly string[]): readonly string[] {
  return texts.map((text, index) => (index === 0 && /^\s*[/$]/.test(text) ? `\u2060${text}` : text));
}
