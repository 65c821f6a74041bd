// A session of a `HarnessV1` adapter. It lives in this process: what it starts through its sandbox can be ended, and what it
// does otherwise can only be asked to end (H-701).

import { FactOutlet } from '../foreign/fact-outlet.ts';
import { keptState } from './resume-state.ts';
import { stopTree, type StoppedTree } from '../../process/stop-tree.ts';
import { userTexts } from '../foreign/user-texts.ts';
import { V1Turn } from './v1-turn.ts';
import { within } from '../../core/within.ts';
import { nothingUsed } from './usage-of.ts';
import type { NativeInput, NativeSession, OpenNative, RelayFact } from '../foreign/runtime.ts';
import type { PromptControl, PromptTurnOptions, V1Session } from './harness-v1.ts';
import type { V1Setting } from './v1-state.ts';

export interface V1SessionParts {
  readonly session: V1Session;
  readonly options: OpenNative;
  readonly setting: V1Setting;
  readonly settings: Pick<PromptTurnOptions, 'model' | 'skills' | 'instructions' | 'tools'>;
  readonly onControl: (control: PromptControl) => void;
}

const settleMs = 2_000;
const stopMs = 3_000;
const graceMs = 1_000;

export class V1NativeSession implements NativeSession {
  readonly resumed: boolean;
  readonly gone: Promise<string>;
  readonly #o: V1SessionParts;
  readonly #outlet: FactOutlet;
  readonly #gone = Promise.withResolvers<string>();
  #turn: V1Turn | null = null;
  #stopped: Promise<StoppedTree> | null = null;

  constructor(parts: V1SessionParts) {
    this.#o = parts;
    this.resumed = parts.session.isResume;
    this.gone = this.#gone.promise;
    const { clock, logger } = parts.options;
    const { label } = parts.setting;
    this.#outlet = new FactOutlet({ label, version: null, clock, logger, onOverflow: () => this.#turn?.interrupt() });
  }

  hearRelay(fact: RelayFact): void {
    if (fact.at === 'usage') this.#turn?.hearUsage(fact.usage);
  }

  prompt({ content }: NativeInput): V1Turn {
    const { session, settings, setting, options, onControl } = this.#o;
    const last = this.#turn;
    const turn = new V1Turn({
      setting,
      clock: options.clock,
      logger: options.logger,
      outlet: this.#outlet,
      total: last === null ? (this.resumed ? null : nothingUsed) : last.total,
      onControl,
      async start(each) {
        await last?.settled;
        return session.doPromptTurn({ ...settings, ...each, prompt: userTexts(content).join('\n\n') });
      },
    });
    this.#turn = turn;
    return turn;
  }

  stop(): Promise<StoppedTree> {
    this.#stopped ??= this.#stop().catch((cause: unknown) => {
      this.#stopped = null; // whoever asks again has another try
      throw cause;
    });
    return this.#stopped;
  }

  async #stop(): Promise<StoppedTree> {
    const { clock, marker } = this.#o.options;
    const turn = this.#turn;
    turn?.interrupt();
    let isQuiet = turn === null;
    const settled = turn?.settled.then(() => void (isQuiet = true));
    if (settled !== undefined) await within(settled, { clock, ms: settleMs });
    await this.#close();
    const { found, unstopped } = await stopTree({ marker, root: null }, { clock, graceMs });
    this.#gone.resolve(`${this.#o.setting.label} was stopped.`);
    const label = this.#o.setting.label;
    return {
      found,
      unstopped: isQuiet ? unstopped : [...unstopped, `${label} has not ended its turn; it runs in this process.`],
    };
  }

  /** Keeps what it can be resumed from, if it says so in time. */
  async #close(): Promise<void> {
    const { session, options, setting } = this.#o;
    const { clock, logger, sessionId } = options;
    const stopping = Promise.resolve(session.doStop()).then(async (given) => {
      const data = keptState(given);
      if (data !== null) await options.remember({ nativeId: sessionId, version: null, data });
      return true;
    });
    const stopped = stopping.catch((cause: unknown) => {
      logger.warn('A harness could not be stopped with its state kept.', {
        harness: setting.label,
        cause: String(cause),
      });
      return Promise.resolve(session.doDestroy()).then(
        () => true,
        () => false,
      );
    });
    await within(stopped, { clock, ms: stopMs });
  }
}
