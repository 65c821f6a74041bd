import { checkLog } from './check-log.ts';
import { createScriptedModel, type ScriptedModel } from './scripted-model.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { defaultPolicies, type EnginePolicies } from '../engine/policies.ts';
import { evolve, initialRunState, isOpen, type RunState } from '../core/run-state.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { runLoop } from '../engine/run-loop.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { sleep } from '../core/clock.ts';
import { silentLogger } from '../core/logger.ts';
import { createHash } from 'node:crypto';
import { createModelHealth } from '../engine/model-health.ts';
import { decidedBy } from '../core/closing.ts';
import { isLive } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import type {
  ApprovalDecided,
  EventDraft,
  RunEvent,
  RunEventOf,
  RunEventType,
  RunStarted,
  Todo,
} from '../core/run-event.ts';
import type { Limits, RunConfig } from '../core/run-config.ts';
import type { ContentStore } from '../engine/content-store.ts';
import type { EngineParts } from '../engine/engine-parts.ts';
import type { Message } from '../core/transcript.ts';
import type { ModelRequest, ModelTraits } from '../engine/model.ts';
import type { People } from '../engine/prepare-batch.ts';
import type { ReplyScript } from './model-servers/reply-script.ts';
import type { Rule } from '../core/rule.ts';
import type { RunResultData } from '../core/outcome.ts';
import type { Tool } from '../engine/tool.ts';

export interface EngineRigOptions {
  readonly replies: ReplyScript<ModelRequest>;
  readonly tools?: readonly Tool[];
  readonly limits?: Partial<Limits>;
  readonly policies?: Partial<EnginePolicies>;
  readonly traits?: ModelTraits;
  readonly input?: string;
  /** What is stored with the run; absent: a plain agent. */
  readonly config?: Partial<RunConfig>;
  /** Absent: what has to be asked parks the run. */
  readonly people?: People;
  readonly rules?: () => readonly Rule[];
  /** Other parts of the engine, in place of the rig's. */
  readonly parts?: Partial<EngineParts>;
  readonly history?: readonly Message[];
  readonly todos?: readonly Todo[];
  readonly workspace?: string;
  readonly onRepetition?: (note: string) => void;
  /** Told of each state that the driver has folded. */
  readonly onState?: (state: RunState) => void;
}

export interface RigRunOptions {
  readonly onEvent?: (event: RunEvent) => void;
  /** The log takes so long to store the first delta, as a stalled disk does. */
  readonly stallMs?: number;
  /** The host leaves the loop after this event, as it does when it loses the run. */
  readonly leaveAt?: RunEvent['type'];
  /** Asked after each group: whether the host leaves the loop here. */
  readonly leaves?: () => boolean;
  /** The host is one that goes on once its store is back. */
  readonly leavesOutages?: boolean;
}

/** One engine run without a store: a scripted model, a manual clock, and the log as an array, whose laws are checked. */
export interface EngineRig {
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  readonly log: readonly RunEvent[];
  /** Lengths of the log after each group: a group is stored whole, so these are the points where a crash can cut. */
  readonly commits: readonly number[];
  readonly content: ContentStore;
  state(): RunState;
  events<T extends RunEventType>(type: T): readonly RunEventOf<T>[];
  /** What the model has read of each call so far, by id. */
  answers(): Readonly<Record<string, string>>;
  /** Runs to the end of the leg, moving the clock while the engine waits. `onEvent` may abort the controller. */
  run(options?: RigRunOptions): Promise<RunResultData | null>;
  /** Goes on from a log, absent: this run's own, as a new owner does; what waits for a person is left alone. */
  recover(log?: readonly RunEvent[], options?: RigRunOptions): Promise<RunResultData | null>;
  /** Goes on with a parked run. */
  resume(cause?: 'decision' | 'resume', options?: RigRunOptions): Promise<RunResultData | null>;
  /** A fact from outside: stored at once, a message once for its id, and told to the engine with its next commit (E-801). */
  say(text: string, messageId?: string): void;
  /** Decides what is open for a call; the same way of storing. */
  decide(callId: string, said: Pick<ApprovalDecided, 'decision'> & Partial<ApprovalDecided>): void;
  readonly stop: AbortController;
  /** Of the leg at work. */
  readonly pause: AbortController;
}

export function createEngineRig(options: EngineRigOptions): EngineRig {
  const clock = createManualClock();
  const model = createScriptedModel(options.replies, { clock });
  const [runId, sessionId] = [runIds.make('rig'), sessionIds.make('rig')];
  const stop = new AbortController();
  let pause = new AbortController();
  const content = createContent();
  const log: RunEvent[] = [];
  const commits: number[] = [];
  let leg = 1;
  let foreign: RunEvent[] = [];
  const append = (draft: EventDraft) => {
    const event: RunEvent = { v: 1, seq: log.length + 1, runId, sessionId, at: clock.now(), leg, ...draft };
    log.push(event);
    return event;
  };
  const plain = { base: 'rig', systemPrompt: null, instructions: null, disabledTools: [] };
  const legStart = (cause: RunStarted['cause']): EventDraft => ({
    type: 'run-started',
    step: log.at(-1)?.step ?? 0,
    attempt: 0,
    data: {
      leg,
      cause,
      model: { provider: 'scripted', model: 'scripted-1' },
      limits: { ...noBudgets, ...options.limits },
      ...(cause === 'submit'
        ? {
            input: [{ content: [{ type: 'text', text: options.input ?? 'Go.' }] }],
            ...(options.config === undefined ? {} : { _config: { ...plain, ...options.config } }),
          }
        : {}),
    },
  });
  const state = () => log.reduce(evolve, initialRunState(runId, sessionId));
  const parts: EngineParts = {
    clock,
    random: { fraction: () => 0, token: () => 'token' },
    logger: silentLogger,
    policies: { ...defaultPolicies, ...options.policies },
    tools: options.tools ?? [],
    content,
    health: createModelHealth({ clock }),
    openModel: async () => ({ model, traits: options.traits ?? {}, maxOutputTokens: null }),
    ...options.parts,
  };

  async function play(recovering: boolean, playOptions: RigRunOptions = {}): Promise<RunResultData | null> {
    const { onEvent = () => {}, stallMs = 0, leaveAt, leaves = () => false, leavesOutages = false } = playOptions;
    const groups = runLoop(parts, {
      state: state(),
      history: options.history ?? [],
      todos: options.todos ?? null,
      workspace: options.workspace ?? '/',
      signal: stop.signal,
      pause: pause.signal,
      recovering,
      leavesOutages,
      people: options.people ?? { how: 'park' },
      rules: async () => options.rules?.() ?? [],
      onRepetition: (note) => options.onRepetition?.(note),
      onState: (current) => options.onState?.(current),
    });
    let stalled = false;
    const store = (drafts: readonly EventDraft[]): readonly RunEvent[] | undefined => {
      const facts = drafts.filter(({ type }) => !isLive(type));
      // Somebody spoke before the ending was stored: it is no ending (E-661).
      const overtaken = foreign.length > 0 && facts.some(({ type }) => type === 'run-result');
      const own = (overtaken ? [] : drafts).map((draft) => append(draft));
      for (const event of own) onEvent(event);
      commits.push(log.length);
      if (facts.length === 0) return undefined;
      // What the listener said of an event comes after it, and is told with the next group.
      const said = new Set(own);
      const taken = [
        ...foreign.filter(({ seq }) => overtaken || seq < (own[0]?.seq ?? 0)),
        ...own.filter(({ type }) => !isLive(type)),
      ];
      foreign = foreign.filter((event) => !taken.includes(event) && !said.has(event));
      return taken;
    };
    const done = (async () => {
      let taken: readonly RunEvent[] | undefined;
      try {
        for (let next = await groups.next(); next.done !== true; next = await groups.next(taken)) {
          const drafts = next.value;
          taken = store(drafts);
          if (drafts.some(({ type }) => type === leaveAt) || leaves()) break;
          if (stallMs > 0 && !stalled && drafts.some(({ type }) => type === 'text-delta')) {
            stalled = true;
            await sleep(clock, stallMs);
          }
        }
      } finally {
        await groups.return();
      }
    })();
    await moveUntil(done, clock);
    const breaches = checkLog(log);
    if (breaches.length > 0) throw new Error(`The log breaks its laws:\n${breaches.join('\n')}`);
    return state().result;
  }

  function startLeg(cause: RunStarted['cause']): void {
    leg = state().leg + 1;
    foreign = [];
    pause = new AbortController();
    append(legStart(cause));
    commits.push(log.length);
  }

  append(legStart('submit'));
  commits.push(log.length);
  return {
    commits,
    clock,
    model,
    log,
    content,
    state,
    stop,
    get pause() {
      return pause;
    },
    events: (type) => log.filter((event): event is RunEventOf<typeof type> => event.type === type),
    answers: () =>
      Object.fromEntries(
        log.flatMap(({ type, data }) => (type === 'tool-result' ? [[data.toolCallId, data.content]] : [])),
      ),
    run: (runOptions) => play(false, runOptions),
    async recover(cut = [...log], runOptions = {}) {
      log.splice(0, log.length, ...cut);
      await clock.advance(Math.max(0, (log.at(-1)?.at ?? 0) - clock.now()));
      const { result, pending } = state();
      const decided = result?.status === 'awaiting-input' && !pending.some(isOpen);
      if (result !== null && !decided) return result;
      startLeg(decided ? 'decision' : 'recovery');
      return play(!decided, runOptions);
    },
    resume(cause = 'decision', runOptions = {}) {
      startLeg(cause);
      return play(false, runOptions);
    },
    say(text, messageId = `say-${log.length}`) {
      if (log.some(({ type, data }) => type === 'user-message' && data.messageId === messageId)) return;
      if (['completed', 'failed', 'cancelled'].includes(state().result?.status ?? ''))
        throw new RuntimeStateError('The run has ended.');
      const data = { messageId, content: [{ type: 'text', text }], mode: 'steer' } as const;
      foreign.push(append({ type: 'user-message', data, step: state().step, attempt: 0 }));
    },
    decide(callId, { decision, by = 'tester', ...said }) {
      const entry = state().pending.findLast(({ call }) => call.id === callId);
      if (entry === undefined) throw new Error(`Nothing waits for the call ${callId}.`);
      const draft = decidedBy(entry, { ...said, by, step: state().step, decision });
      foreign.push(append(draft));
    },
  };
}

function createContent(): ContentStore {
  const kept = new Map<string, Uint8Array>();
  return {
    async putContent(_runId, bytes) {
      const ref = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      kept.set(ref, bytes);
      return { ref, bytes: bytes.byteLength };
    },
    content: async (ref) => kept.get(ref) ?? null,
  };
}

/** Moves the clock, a second at a time, until the promise settles. Fails after a simulated hour. */
async function moveUntil(done: Promise<void>, clock: ManualClock): Promise<void> {
  const settled = done.then(
    () => true,
    () => true,
  );
  for (let second = 0; second <= 3600; second++) {
    await clock.advance(1000);
    if (await Promise.race([settled, Promise.resolve(false)])) return done;
  }
  throw new Error('The engine did not end within an hour of its clock.');
}
