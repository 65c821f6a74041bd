// A foreign runtime whose turns are what the test says: everything of a harness but the program.

import { createForeignAdapter, type ForeignAdapter } from '../../src/harnesses/foreign/foreign-adapter.ts';
import { leastCapabilities } from '../../src/harnesses/foreign/least-capabilities.ts';
import { createProcessPool, type PoolBounds } from '../../src/harnesses/foreign/process-pool.ts';
import { createHomes } from '../../src/harnesses/foreign/homes.ts';
import { createFactQueue } from '../../src/harnesses/foreign/fact-queue.ts';
import { join } from 'node:path';
import { judgeCall, noExtras } from '../../src/open-foreign.ts';
import { sleep, type Clock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { systemClock, systemRandom } from '../../src/system.ts';
import { userText } from '../../src/core/user-text.ts';
import type { ForeignRuntime, GateWord, NativeTurn, OpenNative } from '../../src/harnesses/foreign/runtime.ts';
import type { LeaseBudget } from '../../src/harnesses/relay/run-meter.ts';
import type { Relay } from '../../src/harnesses/relay/relay.ts';
import type { NativeCall, NativeFact, UseKind } from '../../src/harnesses/foreign/native-fact.ts';

export interface ScriptedTurn {
  readonly input: string;
  /** Prompts that this process has got, this one included. */
  readonly turns: number;
  readonly opened: OpenNative;
  say(...facts: NativeFact[]): void;
  ask(call: NativeCall, useKind?: UseKind): Promise<GateWord>;
  question(fact: Omit<Extract<NativeFact, { is: 'question' }>, 'is' | 'request'>): Promise<GateWord>;
  /** Resolves with the next message. */
  steered(): Promise<string>;
  readonly interrupted: Promise<void>;
  /** The process goes away. */
  die(): void;
}

export interface ScriptedRuntime {
  readonly adapter: ForeignAdapter;
  /** Processes that were started. */
  readonly opened: OpenNative[];
  /** Of them, those that have been ended. */
  readonly stopped: number;
}

export const done: NativeFact = { is: 'ended', end: { as: 'completed' } };
export const accepted = (finishReason: 'end-turn' | 'tool-use' = 'end-turn'): NativeFact => ({
  is: 'reply-accepted',
  finishReason,
  raw: null,
  usage: {
    inputTokens: 11,
    outputTokens: 7,
    cacheReadInputTokens: null,
    cacheCreationInputTokens: null,
    thinkingTokens: null,
  },
});

const noRelay: Pick<Relay, 'url' | 'lease'> = {
  url: 'http://127.0.0.1:9',
  lease: () => ({ token: 'lease', close() {}, revoke() {}, open: 0, [Symbol.dispose]() {} }),
};

const plenty: PoolBounds = { max: 100, maxIdle: 4, maxParked: 4, maxWaiting: 4, waitSeconds: 60 };

/** Settings that make it the harness of every task. */
export const scriptedSettings = { harnesses: { preferred: 'scripted' } };

export function scriptedRuntime(
  data: string,
  script: (turn: ScriptedTurn) => Promise<void>,
  {
    clock = systemClock,
    parkSeconds = 60,
    relay = noRelay,
    leaseBudget,
    pool = {},
    stopMs = 20,
  }: {
    readonly clock?: Clock;
    readonly parkSeconds?: number;
    /** Absent: a lease of it leads nowhere. */
    readonly relay?: Pick<Relay, 'url' | 'lease'>;
    readonly leaseBudget?: LeaseBudget;
    readonly pool?: Partial<PoolBounds>;
    /** How long a process takes to go. */
    readonly stopMs?: number;
  } = {},
): ScriptedRuntime {
  const opened: OpenNative[] = [];
  let stopped = 0;
  const runtime: ForeignRuntime = {
    base: 'scripted',
    label: 'Scripted',
    providers: ['openai'],
    capabilities: { ...leastCapabilities, text: 'stream', approvals: 'every-call', steer: 'next-step' },
    probe: async () => ({ installed: true, path: '/', version: '1', versionTried: true, problem: null }),
    async open(options) {
      opened.push(options);
      await options.remember({ nativeId: options.resume?.nativeId ?? `native-${opened.length}`, version: '1' });
      const gone = Promise.withResolvers<string>();
      let turns = 0;
      let wasStopped = false;
      return {
        resumed: options.resume !== null,
        gone: gone.promise,
        prompt: ({ content }) =>
          playTurn(script, {
            opened: options,
            input: userText(content),
            turns: ++turns,
            die: () => gone.resolve('It died.'),
          }),
        async stop() {
          const isFirst = !wasStopped;
          wasStopped = true;
          await sleep(clock, stopMs);
          if (isFirst) stopped++;
          gone.resolve('It was stopped.');
          return { found: [], unstopped: [] };
        },
      };
    },
  };
  const ref = { provider: 'openai', model: 'test-model' };
  const adapter = createForeignAdapter(runtime, {
    clock,
    random: systemRandom,
    logger: silentLogger,
    homes: createHomes({ root: join(data, 'homes'), clock, random: systemRandom }),
    models: {
      list: () => [{ id: 'test-model', label: 'Test', available: true, why: 'It is always there.' }],
      choose: () => ({ available: true, id: 'test-model', ref }),
      nativeName: ({ model }) => model,
    },
    relay: async () => relay,
    ...(leaseBudget === undefined ? {} : { leaseBudget }),
    pool: createProcessPool({ ...plenty, ...pool }, { clock }),
    watch: null,
    judge: judgeCall,
    extras: noExtras,
    warm: { idleSeconds: 60, parkSeconds },
    silence: { firstSeconds: 3, modelSeconds: 5, toolSeconds: 5 },
  });
  return {
    adapter,
    opened,
    get stopped() {
      return stopped;
    },
  };
}

function playTurn(
  script: (turn: ScriptedTurn) => Promise<void>,
  own: Pick<ScriptedTurn, 'opened' | 'input' | 'turns' | 'die'>,
): NativeTurn {
  const facts = createFactQueue(own.opened.clock);
  const asked = new Map<string, (word: GateWord) => void>();
  const messages: string[] = [];
  let heard: (() => void) | null = null;
  const interrupted = Promise.withResolvers<void>();
  let requests = 0;
  const wait = (make: (request: string) => NativeFact) => {
    const request = `r${++requests}`;
    const word = new Promise<GateWord>((resolve) => asked.set(request, resolve));
    void facts.put(make(request));
    return word;
  };
  const turn: ScriptedTurn = {
    ...own,
    say: (...more) => more.forEach((fact) => void facts.put(fact)),
    ask: (call, useKind) =>
      wait((request) => ({ is: 'gate', request, call, ...(useKind === undefined ? {} : { useKind }) })),
    question: (fact) => wait((request) => ({ is: 'question', request, ...fact })),
    async steered() {
      while (messages.length === 0) await new Promise<void>((resolve) => (heard = resolve));
      return messages.shift() ?? '';
    },
    interrupted: interrupted.promise,
  };
  void script(turn);
  return {
    facts,
    answer: (request, word) => asked.get(request)?.(word),
    async steer(text) {
      messages.push(text);
      heard?.();
    },
    interrupt: () => interrupted.resolve(),
  };
}
