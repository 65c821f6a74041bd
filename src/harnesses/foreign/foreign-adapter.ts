// A foreign runtime as a harness: its sessions are opened, kept warm, parked and resumed here, the same way for all of them.
//
// F1. One process tree a session, opened when a turn needs it, kept warm between turns, and let go when it has been idle, when
//     there are too many, or when the next turn needs another configuration. What was let go is resumed (H-074).
// F2. A run that waits for a person keeps its runtime for `parkSeconds`. After that, or after a restart, the session is
//     resumed, the call that was asked about is closed, and one call that is the very same is let through (H-042).
// F3. A runtime that cannot go on from what it was, is told of it, and the run says so: never silently anew (H-071).
// F4. Whatever goes wrong here ends the run by the closing rule, with a sentence that is safe to show (H-100).

import { answerCall, applyDrafts, closeRun, type Ending } from '../../core/closing.ts';
import { createWarmSessions, type Warm, type WarmLimits } from './warm-sessions.ts';
import { canonicalJson, isJsonObject } from '../../core/json.ts';
import { digestOf, TurnBook, type GateRequest } from './turn-book.ts';
import { driveTurn, type LiveTurn, type SilenceLimits } from './drive-turn.ts';
import { goOnText, wordOn } from './resume-words.ts';
import { harnessError, lastSaid, timeEnding } from './turn-endings.ts';
import { evolve, type PendingEntry, type RunState } from '../../core/run-state.ts';
import { hash } from 'node:crypto';
import { quoteHistory } from './quote-history.ts';
import { createRunawayWatch } from './runaway.ts';
import { RuntimeFault, type ForeignRuntime, type NativeInput, type ResolvedMcpServer } from './runtime.ts';
import { stopOf } from '../../core/stop-turn.ts';
import type { HarnessAdapter, OpenSessionOptions, TurnOptions } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { EventDraft, RunConfig, RunEvent, RunStarted, UserPart } from '../../core/run-event.ts';
import type { Homes } from './homes.ts';
import type { JudgeCall, Judgement } from './judge.ts';
import type { Lease, LeaseOptions } from '../relay/lease.ts';
import type { Logger } from '../../core/logger.ts';
import type { ModelChoice, ModelListing } from '../../core/model-choice.ts';
import type { Message } from '../../core/transcript.ts';
import type { ErrorInfo, ModelRef } from '../../core/outcome.ts';
import type { ProviderName } from '../../core/provider-names.ts';
import type { Random } from '../../core/random.ts';
import type { RelayFact } from '../relay/relay-fact.ts';

/** The models that a runtime can be given, by the operator's credentials. */
export interface RuntimeModels {
  list(among: readonly ProviderName[]): readonly ModelListing[];
  choose(requested: string | null, among: readonly ProviderName[]): ModelChoice;
  /** By what name the provider of the reference knows the model. */
  nativeName(ref: ModelRef): string;
}

/** What a harness brings to its runs, ready to be handed over. */
export interface RuntimeExtras {
  readonly mcpServers: readonly ResolvedMcpServer[];
  readonly skillFolders: readonly string[];
  /** What could not be had, as `mcp:<name>`. */
  readonly degraded: readonly string[];
}

export interface ForeignParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly homes: Homes;
  readonly models: RuntimeModels;
  /** Starts the relay when it is needed first. */
  relay(): Promise<{ readonly url: string; lease(options: LeaseOptions): Lease }>;
  readonly judge: JudgeCall;
  extras(state: RunState, workspace: string): Promise<RuntimeExtras>;
  readonly warm: WarmLimits;
  readonly silence: SilenceLimits;
}

type Taken = readonly RunEvent[] | undefined;
type Groups = AsyncGenerator<readonly EventDraft[], void, Taken>;

export interface ForeignAdapter extends HarnessAdapter, AsyncDisposable {
  forgetSession(sessionId: OpenSessionOptions['sessionId']): Promise<void>;
}

export function createForeignAdapter(runtime: ForeignRuntime, parts: ForeignParts): ForeignAdapter {
  const { base, label, providers } = runtime;
  const warm = createWarmSessions(parts.warm, { clock: parts.clock, logger: parts.logger });
  const choose = (requested: string | null) => parts.models.choose(requested, providers);
  return {
    base,
    label,
    ...(runtime.mcpTransports === undefined ? {} : { mcpTransports: runtime.mcpTransports }),
    async probe() {
      const status = await runtime.probe();
      const models = status.installed ? parts.models.list(providers) : [];
      const choice = choose(null);
      return {
        installed: status.installed,
        version: status.version,
        problem: status.problem ?? (choice.available ? null : { code: 'no-credentials', message: choice.why }),
        models,
        defaultModel: choice.id,
        capabilities: runtime.capabilities,
      };
    },
    async chooseModel(requested) {
      const { problem } = await runtime.probe();
      const choice = choose(requested);
      return problem === null ? choice : { available: false, id: choice.id, why: problem.message };
    },
    openSession: async (options) => ({
      prompt: (state, turn) => new ForeignRun({ runtime, parts, warm, options, turn }).begin(state),
      attach: (state, { cause, ...turn }) => new ForeignRun({ runtime, parts, warm, options, turn }).goOn(state, cause),
      async [Symbol.asyncDispose]() {
        await warm.release(options.sessionId);
      },
    }),
    async letGo(sessionId, runId) {
      if (warm.parked(sessionId, runId) === null) return [];
      return (await warm.discard(sessionId))?.unstopped ?? [];
    },
    async forgetSession(sessionId) {
      await warm.forget(sessionId);
      await parts.homes.forget(sessionId);
    },
    [Symbol.asyncDispose]: () => warm[Symbol.asyncDispose](),
  };
}

interface RunOptions {
  readonly runtime: ForeignRuntime;
  readonly parts: ForeignParts;
  readonly warm: ReturnType<typeof createWarmSessions>;
  readonly options: OpenSessionOptions;
  readonly turn: TurnOptions;
}

class ForeignRun {
  readonly #o: RunOptions;
  /** Calls that a person has allowed and that the runtime has to make again (F2). */
  readonly #passes = new Map<string, string>();

  constructor(options: RunOptions) {
    this.#o = options;
  }

  async *begin(state: RunState): Groups {
    const input = state.transcript.messages.filter(({ role }) => role === 'user').flatMap(contentOf);
    const before = this.#o.options.history;
    yield* this.#guarded(state, () => this.#run(state, { content: input }, { before }));
  }

  async *goOn(state: RunState, cause: RunStarted['cause']): Groups {
    const parked = this.#o.warm.parked(this.#o.options.sessionId, state.runId);
    if (parked !== null) return yield* this.#guarded(state, () => this.#drive(state, parked));
    yield* this.#guarded(state, () => this.#resume(state, cause));
  }

  async *#guarded(state: RunState, work: () => Groups): Groups {
    let current = state;
    const follow = (taken: Taken) => {
      current = (taken ?? []).reduce(evolve, current);
    };
    const groups = work();
    try {
      for (let next = await groups.next(); next.done !== true;) {
        const taken = yield next.value;
        follow(taken);
        next = await groups.next(taken);
      }
    } catch (cause) {
      const stop = stopOf(this.#o.turn.signal);
      if (stop === 'shutdown') return;
      if (!(cause instanceof RuntimeFault)) this.#o.parts.logger.error('A foreign harness failed.', {}, cause);
      const stopped = await this.#o.warm.discard(this.#o.options.sessionId);
      const error =
        cause instanceof RuntimeFault
          ? startError(cause)
          : harnessError(`${this.#o.runtime.label} met an unexpected fault.`);
      const nowMs = this.#o.parts.clock.now();
      const unstopped = stopped?.unstopped ?? [];
      const ending: Ending =
        stop === 'time'
          ? timeEnding(current, nowMs)
          : stop === 'cancel'
            ? { status: 'cancelled', unstopped }
            : { status: 'failed', error };
      while (current.result === null) follow(yield closeRun(current, ending, this.#o.parts.clock.now()));
    } finally {
      await groups.return();
    }
  }

  /** @param before  The conversation that the prompt goes on from: what a runtime that does not remember it is told (F3). */
  async *#run(state: RunState, input: NativeInput, o: { before: readonly Message[]; opened?: Warm }): Groups {
    const book = new TurnBook(state, this.#o.parts.models.nativeName(state.requested));
    const { session, extras } = o.opened ?? (await this.#open(state));
    for (const what of extras.degraded) book.degrade(what);
    const isRebuilt = !session.resumed && session.turns === 0 && o.before.length > 0;
    if (isRebuilt) book.degrade('session:rebuilt');
    const content: readonly UserPart[] = isRebuilt
      ? [{ type: 'text', text: quoteHistory(o.before) }, ...input.content]
      : input.content;
    session.turns += 1;
    const turn = session.prompt({ content });
    const live: LiveTurn = { session, turn, book, told: new Set(state.unread), coming: null, waiting: new Map() };
    yield* this.#drive(state, live);
  }

  async *#drive(state: RunState, live: LiveTurn): Groups {
    const { parts, options, turn, warm, runtime } = this.#o;
    warm.unpark(options.sessionId);
    yield* driveTurn(state, {
      ...turn,
      live,
      label: runtime.label,
      clock: parts.clock,
      logger: parts.logger,
      silence: parts.silence,
      judge: (gate, current) => this.#judge(gate, current),
      keep(kept) {
        if (kept === null) warm.unpark(options.sessionId);
        else warm.park(options.sessionId, { runId: state.runId, live: kept });
      },
    });
  }

  async #judge({ call, ...gate }: GateRequest, state: RunState): Promise<Judgement> {
    // What could not be taken away from the runtime is refused (H-080).
    if (state.config?.disabledTools.includes(call.name) === true) return { level: 'deny', authority: 'policy' };
    const argsDigest = digestOf(call);
    const pass = this.#passes.get(argsDigest);
    if (pass !== undefined) {
      this.#passes.delete(argsDigest);
      return { level: 'allow', authority: `approval:${pass}` };
    }
    const { parts, options, turn } = this.#o;
    const useKind = gate.is === 'gate' ? gate.useKind : undefined;
    const input = isJsonObject(call.input) ? call.input : {};
    return parts.judge(
      { name: call.name, useKind, input, argsDigest, workspace: options.workspace },
      { permissions: state.config?.permissions, rules: await turn.rules() },
    );
  }

  /** F2, and a run whose server was stopped: what is open is closed, and the runtime is told to go on. */
  async *#resume(state: RunState, cause: RunStarted['cause']): Groups {
    const opened = await this.#open(state);
    const nowMs = this.#o.parts.clock.now();
    const book = new TurnBook(state, this.#o.parts.models.nativeName(state.requested));
    const drafts: EventDraft[] = [];
    const words: string[] = [];
    for (const entry of state.pending) {
      const call = state.open?.calls.find((each) => each.call.id === entry.call.id);
      if (call === undefined || call.progress.at === 'answered') continue;
      const approved = entry.decided?.decision === 'approve';
      if (approved) this.#passes.set(entry.argsDigest, entry.approvalId);
      words.push(
        wordOn(entry.call.name, { approved, note: entry.decided?.note, output: entry.decided?.output?.content }),
      );
      drafts.push(...answerCall(applyDrafts(state, drafts, nowMs), call, answerTo(entry)));
    }
    book.fold(applyDrafts(state, drafts, nowMs));
    const open = book.state.open;
    const isCut = open !== null && open.stage.at !== 'accepted';
    const cut = isCut ? book.take([lost], nowMs).drafts : book.endStep(nowMs);
    const text = words.length > 0 ? words.join('\n') : goOnText(state, cause);
    const said = { is: 'engine-said', text, purpose: cause } as const;
    const closed = applyDrafts(book.state, cut, nowMs);
    book.fold(closed);
    const group = [...drafts, ...cut, ...book.take([said], nowMs).drafts];
    const taken = yield group;
    const current = taken === undefined ? applyDrafts(state, group, nowMs) : taken.reduce(evolve, state);
    const content = [
      { type: 'text', text } as const,
      ...(current.unread.length > 0 ? lastSaid(state, state.unread.length) : []),
    ];
    const before = [...this.#o.options.history, ...state.transcript.messages];
    yield* this.#run(current, { content }, { before, opened });
  }

  /** The warm session of this configuration, or a new process of it. */
  async #open(state: RunState): Promise<Warm> {
    const { runtime, parts, options, turn, warm } = this.#o;
    const { config, requested } = state;
    const settings: RunConfig = config ?? emptyConfig(runtime.base);
    const extras = await parts.extras(state, options.workspace);
    const { mcpServers, skillFolders } = extras;
    const fingerprint = hash('sha256', canonicalJson(toPlain({ settings, requested, mcpServers, skillFolders })));
    return warm.take(options.sessionId, fingerprint, async () => {
      const home = await parts.homes.open(options.sessionId, runtime.base);
      const relay = await parts.relay();
      const provider = runtime.providers.find((each) => each === requested.provider);
      if (provider === undefined)
        throw new RuntimeFault(harnessError(`${runtime.label} cannot be served by ${requested.provider}.`));
      const model = parts.models.nativeName(requested);
      const listeners = new Set<(fact: RelayFact) => void>();
      const lease = relay.lease({
        provider: leasable(provider),
        models: null,
        onFact(fact) {
          listeners.forEach((listener) => listener(fact));
          if (isRunaway(fact) && !spoiled) spoil();
        },
      });
      const isRunaway = createRunawayWatch(parts.clock);
      let spoiled = false;
      const spoil = () => {
        spoiled = true;
        parts.logger.warn('An agent called its model again and again, and was cut off.', { harness: runtime.base });
        // Refused from now on, it ends its turn with a word; without its lease it is of no use after that.
        lease.revoke();
        parts.clock.timer(spoiledMs, () => void warm.discard(options.sessionId).catch(() => undefined));
      };
      try {
        const session = await runtime.open({
          sessionId: options.sessionId,
          workspace: options.workspace,
          home: home.path,
          temporary: home.temporary,
          marker: home.marker,
          model,
          config: settings,
          mcpServers,
          skillFolders,
          resume: home.state,
          remember: (native) => home.remember(native),
          lease: { url: relay.url, token: lease.token, provider, onFact: (listener) => void listeners.add(listener) },
          signal: turn.signal,
          clock: parts.clock,
          random: parts.random,
          logger: parts.logger,
        });
        return {
          extras,
          session: {
            resumed: session.resumed,
            gone: session.gone,
            turns: 0,
            prompt: (input) => session.prompt(input),
            cutOff() {
              lease.close();
              parts.clock.timer(cutOffMs, () => lease.revoke());
            },
            async stop() {
              lease.revoke();
              try {
                return await session.stop();
              } finally {
                lease[Symbol.dispose]();
              }
            },
          },
        };
      } catch (cause) {
        lease[Symbol.dispose]();
        throw cause;
      }
    });
  }
}

/** From the wish to stop to the end of the model calls that are under way: most runtimes end them at once. */
const cutOffMs = 500;

/** From the last word to a runaway runtime to the end of its process. */
const spoiledMs = 5_000;

const lost = { is: 'reply-lost', reason: 'crash', retryInMs: 0 } as const;

function contentOf(message: RunState['transcript']['messages'][number]): readonly UserPart[] {
  return message.role === 'user' ? message.content : [];
}

function emptyConfig(base: string): RunConfig {
  return { base, systemPrompt: null, instructions: null, disabledTools: [] };
}

/** As JSON has it: what is undefined is not there. */
function toPlain(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}

function leasable(provider: ProviderName): LeaseOptions['provider'] {
  if (provider === 'azure') throw new RuntimeFault(harnessError('Azure is not served through the relay.'));
  return provider;
}

/** A program that does not start is a harness that failed, and not the server (H-136). */
function startError({ error }: RuntimeFault): ErrorInfo {
  return error.type === 'AgentUnavailableError' ? { ...error, type: 'HarnessError' } : error;
}

/** How the log closes a call that was asked about and whose runtime is gone (H-042, E-611). */
function answerTo({ decided }: PendingEntry): {
  readonly outcome: 'cancelled' | 'denied' | 'answered';
  readonly content: string;
  readonly isError: boolean;
} {
  const answer = decided?.output?.content;
  if (answer !== undefined) return { outcome: 'answered', content: answer, isError: false };
  return decided?.decision === 'approve'
    ? { outcome: 'cancelled', content: 'Continued after approval.', isError: true }
    : { outcome: 'denied', content: 'Not run.', isError: true };
}
