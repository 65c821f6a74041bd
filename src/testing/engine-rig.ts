import { createScriptedModel, type ScriptedModel } from './scripted-model.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { defaultPolicies, type EnginePolicies } from '../engine/policies.ts';
import { evolve, initialRunState, type RunState } from '../core/run-state.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { runLoop } from '../engine/run-loop.ts';
import { sleep } from '../core/clock.ts';
import { silentLogger } from '../core/logger.ts';
import { noBudgets, type EventDraft, type Limits, type RunEvent } from '../core/run-event.ts';
import type { ModelRequest, ModelTraits } from '../engine/model.ts';
import type { ReplyScript } from './model-servers/reply-script.ts';
import type { RunResultData } from '../core/outcome.ts';
import type { Tool } from '../engine/tool.ts';

export interface EngineRigOptions {
  readonly replies: ReplyScript<ModelRequest>;
  readonly tools?: readonly Tool[];
  readonly limits?: Partial<Limits>;
  readonly policies?: Partial<EnginePolicies>;
  readonly traits?: ModelTraits;
  readonly input?: string;
}

export interface RigRunOptions {
  readonly onEvent?: (event: RunEvent) => void;
  /** The log takes so long to store the first delta, as a stalled disk does. */
  readonly stallMs?: number;
  /** The host leaves the loop after this event, as it does when it loses the run. */
  readonly leaveAt?: RunEvent['type'];
}

/** One engine run without a store: a scripted model, a manual clock, and the log as an array. */
export interface EngineRig {
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  readonly log: readonly RunEvent[];
  /** Lengths of the log after each group: a group is stored whole, so these are the points where a crash can cut. */
  readonly commits: readonly number[];
  state(): RunState;
  /** Runs to the end, moving the clock while the engine waits. `onEvent` may abort the controller. */
  run(options?: RigRunOptions): Promise<RunResultData | null>;
  /** Goes on from a log that a crash has cut, as a new owner does. Absent: from this run's own log. */
  recover(log?: readonly RunEvent[]): Promise<RunResultData | null>;
  readonly stop: AbortController;
}

export function createEngineRig(options: EngineRigOptions): EngineRig {
  const clock = createManualClock();
  const model = createScriptedModel(options.replies, { clock });
  const [runId, sessionId] = [runIds.make('rig'), sessionIds.make('rig')];
  const stop = new AbortController();
  const log: RunEvent[] = [];
  const commits: number[] = [];
  let leg = 1;
  const append = (draft: EventDraft) => {
    const event: RunEvent = { v: 1, seq: log.length + 1, runId, sessionId, at: clock.now(), leg, ...draft };
    log.push(event);
    return event;
  };
  const legStart = (cause: 'submit' | 'recovery'): EventDraft => ({
    type: 'run-started',
    step: log.at(-1)?.step ?? 0,
    attempt: 0,
    data: {
      leg,
      cause,
      model: { provider: 'scripted', model: 'scripted-1' },
      limits: { ...noBudgets, ...options.limits },
      ...(cause === 'submit' ? { input: [{ content: [{ type: 'text', text: options.input ?? 'Go.' }] }] } : {}),
    },
  });
  const state = () => log.reduce(evolve, initialRunState(runId, sessionId));
  const parts = {
    clock,
    random: { fraction: () => 0, token: () => 'token' },
    logger: silentLogger,
    policies: { ...defaultPolicies, ...options.policies },
    tools: options.tools ?? [],
    openModel: async () => ({ model, traits: options.traits ?? {}, maxOutputTokens: null }),
  };

  async function play(recovering: boolean, playOptions: RigRunOptions = {}): Promise<RunResultData | null> {
    const { onEvent = () => {}, stallMs = 0, leaveAt } = playOptions;
    const { signal } = stop;
    const groups = runLoop(parts, { state: state(), history: [], workspace: '/', signal, recovering });
    let stalled = false;
    const done = (async () => {
      for await (const drafts of groups) {
        for (const draft of drafts) onEvent(append(draft));
        commits.push(log.length);
        if (drafts.some(({ type }) => type === leaveAt)) break;
        if (stallMs > 0 && !stalled && drafts.some(({ type }) => type === 'text-delta')) {
          stalled = true;
          await sleep(clock, stallMs);
        }
      }
    })();
    await moveUntil(done, clock);
    const last = log.at(-1);
    return last?.type === 'run-result' ? last.data : null;
  }

  append(legStart('submit'));
  commits.push(log.length);
  return {
    commits,
    clock,
    model,
    log,
    state,
    stop,
    run: (runOptions) => play(false, runOptions),
    recover(cut = [...log]) {
      log.splice(0, log.length, ...cut);
      leg += 1;
      append(legStart('recovery'));
      return play(true);
    },
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
