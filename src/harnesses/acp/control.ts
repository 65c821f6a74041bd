// A session of an agent that speaks ACP: prompts, permissions, steering, interrupts, and its end.
//
// C1. A turn ends once: by what the agent answers, or by the agent being gone.
// C2. Every permission is answered: also one that comes while no turn is there to decide (H-044).
// C3. Before the agent is interrupted, what it waits for is answered; some go on waiting otherwise (H-604).
// C4. What is asked is text: a leading slash would make a command of it.

import { FactOutlet } from '../foreign/fact-outlet.ts';
import { idle, turnBegun, type AcpNative, type AcpState } from './acp-state.ts';
import { objectOf, objectsOf, textOf } from '../foreign/fields.ts';
import { reduce } from './reduce.ts';
import { ReinsError } from '../../core/errors.ts';
import { RpcError, type RpcRequest } from '../foreign/rpc-peer.ts';
import { userTexts } from '../foreign/user-texts.ts';
import type { AcpDialect } from './acp-profile.ts';
import type { GateWord, NativeInput, NativeSession, NativeTurn, OpenNative, RelayFact } from '../foreign/runtime.ts';
import type { FactQueue } from '../foreign/fact-queue.ts';
import type { JsonObject } from '../../core/json.ts';
import type { StartedAcp } from './start.ts';

export interface AcpSessionOptions {
  readonly dialect: AcpDialect;
  /** False: the agent takes no second prompt. */
  readonly canSteer: boolean;
  readonly options: Pick<OpenNative, 'clock' | 'logger'>;
}

export class AcpSession implements NativeSession {
  readonly gone: Promise<string>;
  readonly resumed: boolean;
  readonly #acp: StartedAcp;
  readonly #o: AcpSessionOptions;
  readonly #outlet: FactOutlet;
  readonly #permissions = new Map<string, { readonly id: RpcRequest['id']; readonly options: readonly JsonObject[] }>();
  #foreword: string | null;
  #state: AcpState = idle;

  constructor(acp: StartedAcp, session: AcpSessionOptions) {
    const { label } = session.dialect;
    const { clock, logger } = session.options;
    this.#acp = acp;
    this.#o = session;
    this.#foreword = acp.resumed ? null : acp.foreword;
    this.resumed = acp.resumed;
    const { version } = acp;
    this.#outlet = new FactOutlet({ label, version, clock, logger, onOverflow: () => void this.stop() });
    this.#outlet.tell(acp.missingServers.map((name) => ({ is: 'degraded', what: `mcp:${name}` })));
    this.gone = this.#outlet.follow(acp.process);
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
    const facts = this.#outlet.open();
    this.#state = turnBegun;
    const texts = userTexts(content);
    this.#ask(this.#foreword === null ? texts : [this.#foreword, ...texts], facts);
    this.#foreword = null;
    const steer = (text: string) => {
      if (!this.#outlet.isAt(facts)) throw new ReinsError(`${this.#o.dialect.label} has ended this turn already.`);
      this.#ask([text], facts);
    };
    return {
      facts,
      answer: (request, word) => this.#answer(request, word),
      ...(this.#o.canSteer ? { steer: async (text) => steer(text) } : {}),
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

  #ask(texts: readonly string[], facts: FactQueue): void {
    const { peer, nativeId } = this.#acp;
    const prompt = asTexts(texts).map((text) => ({ type: 'text', text }));
    this.#take({ from: 'prompted' });
    const hear = (native: AcpNative) => {
      if (this.#outlet.isAt(facts)) this.#take(native);
    };
    peer.request('session/prompt', { sessionId: nativeId, prompt }).then(
      (result) => hear({ from: 'answer', result: objectOf(result) }),
      (cause: unknown) => {
        // Where the agent is gone, that says why.
        if (!(cause instanceof RpcError)) return;
        this.#o.options.logger.warn('An agent refused a prompt.', {
          label: this.#o.dialect.label,
          detail: cause.message,
        });
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
    const [state, said] = reduce(this.#state, native, this.#o.dialect);
    this.#state = state;
    this.#outlet.tell(said, native.from === 'update' ? native.update : null);
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
