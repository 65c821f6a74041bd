// One leg of a run on a foreign runtime: in a process that is warm, parked, resumed or new.
//
// R1. A run that waits for a person keeps its runtime for `parkSeconds`. After that, or after a restart, the session is
//     resumed, the call that was asked about is closed, and one call that is the very same is let through (H-042).
// R2. A runtime that cannot go on from what it was, is told of it, and the run says so: never silently anew (H-071).
// R3. A turn that needs a process and finds no room for it waits in the line of the server, says so, and can be stopped there.
// R4. A process that works for this session in another server goes before one is opened here, or the run is ended.
// R5. Whatever goes wrong here ends the run by the closing rule, with a sentence that is safe to show (H-100).

import { applyDrafts, closeRun, parkRun, type Ending } from '../../core/closing.ts';
import { canonicalJson, isJsonObject, toJsonValue } from '../../core/json.ts';
import { closeLeg } from './close-leg.ts';
import { digestOf } from './turn-calls.ts';
import { driveTurn } from './drive-turn.ts';
import { evolve, type RunState } from '../../core/run-state.ts';
import { harnessError, lastSaid, timeEnding } from './turn-endings.ts';
import { hash } from 'node:crypto';
import { NoRoomError } from './process-pool.ts';
import { openNative } from './open-native.ts';
import { quoteHistory } from './quote-history.ts';
import { RuntimeFault, type ForeignRuntime, type NativeInput } from './runtime.ts';
import { stopOf } from '../../core/stop-turn.ts';
import { tellPosition } from './tell-position.ts';
import { TurnBook, type GateRequest } from './turn-book.ts';
import type { AttachOptions, OpenSessionOptions, TurnOptions } from '../harness.ts';
import type { Drive } from './turn-log.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { ForeignParts } from './foreign-parts.ts';
import type { Holder, WarmProcess, WarmSessions } from './warm-sessions.ts';
import type { Judgement } from './judge.ts';
import type { LiveTurn } from './live-turn.ts';
import type { Message } from '../../core/transcript.ts';
import type { UserPart } from '../../core/run-event.ts';
import type { RunConfig } from '../../core/run-config.ts';
import type { Taken } from './turn-groups.ts';

interface ForeignRunOptions {
  readonly runtime: ForeignRuntime;
  readonly parts: ForeignParts;
  readonly warm: WarmSessions;
  readonly holder: Holder;
  readonly options: OpenSessionOptions;
  readonly turn: TurnOptions;
}

/** A leg of a run. */
export class ForeignRun {
  readonly #o: ForeignRunOptions;
  /** Calls that a person has allowed and that the runtime has to make again (R1). */
  readonly #passes = new Map<string, { readonly tool: string; readonly approvalId: string }>();

  constructor(options: ForeignRunOptions) {
    this.#o = options;
  }

  async *begin(state: RunState): Drive {
    const input = state.transcript.messages.filter(({ role }) => role === 'user').flatMap(contentOf);
    const before = this.#o.options.history;
    yield* this.#guarded(state, () => this.#run(state, { content: input }, { before }));
  }

  async *goOn(state: RunState, how: Pick<AttachOptions, 'cause' | 'leftBy'>): Drive {
    const parked = this.#o.warm.resume(this.#o.options.sessionId, state.runId, this.#o.holder);
    if (parked !== null) return yield* this.#guarded(state, () => this.#drive(state, parked));
    yield* this.#guarded(state, () => this.#resume(state, how));
  }

  async *#guarded(state: RunState, work: () => Drive): Drive {
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
      const unstopped = await this.#o.warm.discard(this.#o.options.sessionId);
      const error =
        cause instanceof RuntimeFault
          ? startError(cause)
          : harnessError(`${this.#o.runtime.label} met an unexpected fault.`);
      const nowMs = this.#o.parts.clock.now();
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

  /** @param before  The conversation that the prompt goes on from: what a runtime that does not remember it is told (R2). */
  async *#run(
    state: RunState,
    input: NativeInput,
    o: { readonly before: readonly Message[]; readonly opened?: WarmProcess },
  ): Drive {
    const book = new TurnBook(state, this.#o.parts.models.nativeName(state.requested));
    const { session, extras } = o.opened ?? (yield* this.#open(state));
    for (const what of extras.degraded) book.degrade(what);
    for (const { tool, approvalId } of this.#passes.values()) book.expect(tool, approvalId);
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

  async *#drive(state: RunState, live: LiveTurn): Drive {
    const { parts, options, turn, warm, runtime } = this.#o;
    warm.park(options.sessionId, null);
    live.session.meter.begin(state);
    yield* driveTurn(state, {
      ...turn,
      live,
      label: runtime.label,
      clock: parts.clock,
      logger: parts.logger,
      silence: parts.silence,
      judge: (gate, current) => this.#judge(gate, current),
      keep(kept) {
        warm.park(options.sessionId, kept === null ? null : { runId: state.runId, live: kept });
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
      return { level: 'allow', authority: `approval:${pass.approvalId}` };
    }
    const { parts, options, turn } = this.#o;
    const { useKind, paths } = gate.is === 'gate' ? gate : {};
    const input = isJsonObject(call.input) ? call.input : {};
    return parts.judge(
      { name: call.name, useKind, input, paths, argsDigest, workspace: options.workspace },
      { permissions: state.config?.permissions, rules: await turn.rules() },
    );
  }

  /** R1, and a run whose server was stopped: what is open is closed, and the runtime is told to go on. */
  async *#resume(left: RunState, { cause, leftBy }: Pick<AttachOptions, 'cause' | 'leftBy'>): Drive {
    await this.#o.parts.homes.endElsewhere(this.#o.options.sessionId, this.#o.runtime.base);
    const { clock } = this.#o.parts;
    let state = left;
    // Its owner was lost before it had parked: it waits on, unless it is decided in this moment (B083).
    while (state.pending.some(({ decided }) => decided === null)) {
      const parked = parkRun(state, { status: 'awaiting-input' }, clock.now());
      const said = yield parked;
      state = said === undefined ? applyDrafts(state, parked, clock.now()) : said.reduce(evolve, state);
      if (state.result !== null) return;
    }
    const opened = yield* this.#open(state);
    const nowMs = clock.now();
    const model = this.#o.parts.models.nativeName(state.requested);
    const { drafts, text, approved } = closeLeg(state, { cause, leftBy, model, nowMs });
    for (const { argsDigest, ...pass } of approved) this.#passes.set(argsDigest, pass);
    const taken = yield drafts;
    const current = taken === undefined ? applyDrafts(state, drafts, nowMs) : taken.reduce(evolve, state);
    const content = [
      { type: 'text', text } as const,
      ...(current.unread.length > 0 ? lastSaid(state, state.unread.length) : []),
    ];
    const before = [...this.#o.options.history, ...state.transcript.messages];
    yield* this.#run(current, { content }, { before, opened });
  }

  /** The warm session of this configuration, or a new process of it, as soon as there is room (R3). */
  async *#open(state: RunState): Drive<WarmProcess> {
    const { runtime, parts, options, turn, warm, holder } = this.#o;
    const { sessionId, workspace } = options;
    const { config, requested } = state;
    const settings: RunConfig = config ?? emptyConfig(runtime.base);
    const extras = await parts.extras(state, workspace);
    const { mcpServers, skillFolders } = extras;
    const fingerprint = hash('sha256', canonicalJson(toJsonValue({ settings, requested, mcpServers, skillFolders })));
    let position: number | null = null;
    const taken = warm.take(sessionId, holder, {
      fingerprint,
      // Its session is its own, and ends with it.
      isLast: config?.attached !== undefined,
      signal: turn.signal,
      onPosition: (next) => void (position = next),
      open() {
        position = null;
        const { signal } = turn;
        return openNative({ runtime, parts, sessionId, workspace, requested, settings, extras, signal });
      },
    });
    yield* tellPosition(taken, { clock: parts.clock, state, position: () => position });
    return taken;
  }
}

function contentOf(message: RunState['transcript']['messages'][number]): readonly UserPart[] {
  return message.role === 'user' ? message.content : [];
}

function emptyConfig(base: string): RunConfig {
  return { base, systemPrompt: null, instructions: null, disabledTools: [] };
}

/** A program that does not start is a harness that failed, and not the server (H-136). */
function startError(fault: RuntimeFault): ErrorInfo {
  const { error } = fault;
  if (fault instanceof NoRoomError) return error;
  return error.type === 'AgentUnavailableError' ? { ...error, type: 'HarnessError' } : error;
}
