// Processes of one store, in this one: each with services, a clock and an upkeep of its own. One that stands still does so
// in front of, or behind, a call of its store; one that is killed never goes on, and the others see that it is dead.

import { fixedWorkspace } from '../../src/files/workspaces.ts';
import { allowAll } from '../../src/core/run-config.ts';
import { acceptTask } from '../../src/tasks/accept-task.ts';
import { plainTask, type TaskBody } from '../../src/tasks/task-body.ts';
import { createBackgroundRuns } from '../../src/tasks/background-runs.ts';
import { createFrameFeeds } from '../../src/tasks/frame-feeds.ts';
import { createManualClock, type ManualClock } from '../../src/testing/manual-clock.ts';
import { createModelHealth } from '../../src/engine/model-health.ts';
import { createNativeAdapter } from '../../src/harnesses/native/native-adapter.ts';
import { createOwnership, type Processes } from '../../src/tasks/ownership.ts';
import { createRegistry } from '../../src/harnesses/registry.ts';
import { createRunLog } from '../../src/stores/run-log.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/testing/scripted-model.ts';
import { defaultPolicies } from '../../src/engine/policies.ts';
import { ensureHarness } from '../../src/tasks/ensure-harness.ts';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { repeat } from '../../src/tasks/repeat.ts';
import { superviseRuns } from '../../src/tasks/supervise-runs.ts';
import { systemRandom } from '../../src/system.ts';
import { tmpdir } from 'node:os';
import type { Clock } from '../../src/core/clock.ts';
import type { Logger } from '../../src/core/logger.ts';
import type { ModelRequest } from '../../src/engine/model.ts';
import type { RunEvent } from '../../src/core/run-event.ts';
import type { RunId } from '../../src/core/ids.ts';
import type { ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';
import type { Services } from '../../src/tasks/services.ts';
import type { Store } from '../../src/stores/store.ts';
import type { Tool } from '../../src/engine/tool.ts';

export interface StoreProcess {
  readonly services: Services;
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  /** What it has logged. */
  readonly notes: readonly string[];
  readonly isStopped: boolean;
  stop(): void;
  go(): void;
  kill(): void;
  /** As a shutdown in order. */
  end(): Promise<void>;
}

export interface SharedStore extends AsyncDisposable {
  /** Beside all processes. */
  readonly store: Store;
  start(options?: { readonly base?: string }): Promise<StoreProcess>;
  logOf(runId: RunId): Promise<readonly RunEvent[]>;
}

export interface SharedStoreOptions {
  readonly replyTo: (request: ModelRequest) => ScriptedReply;
  readonly tools?: (clock: Clock) => readonly Tool[];
}

export function shareStore(options: SharedStoreOptions): SharedStore {
  const folder = mkdtempSync(join(tmpdir(), 'reins-store-'));
  const path = join(folder, 'runs.sqlite');
  const store = openSqlite(path);
  const dead = new Set<number>();
  const opened: Store[] = [store];
  let started = 0;
  return {
    store,
    logOf: (runId) => store.readEvents(runId, { after: 0, limit: 100_000 }),
    async start({ base = 'native' } = {}) {
      started += 1;
      const file = openSqlite(path);
      opened.push(file);
      return startProcess(file, { ...options, base, pid: started, dead });
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

interface Start extends SharedStoreOptions {
  readonly base: string;
  readonly pid: number;
  readonly dead: Set<number>;
}

async function startProcess(file: Store, o: Start): Promise<StoreProcess> {
  const clock = createManualClock();
  const gate = createTurnstile();
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const logger: Logger = { info: note, warn: note, error: note };
  const store = behind(file, gate.pass);
  const model = createScriptedModel(o.replyTo, { clock });
  const services = createServices({ ...o, store, clock, logger, model });
  await ensureHarness(services, 'ada', o.base);
  const onFailure = (cause: unknown) => {
    throw cause;
  };
  const upkeep = [
    repeat(clock, { everyMs: 1_000, work: () => superviseRuns(services), onFailure }),
    repeat(clock, {
      everyMs: services.ownership.policy.renewEveryMs,
      work: () => services.ownership.renew(),
      onFailure,
    }),
  ];
  return {
    services,
    clock,
    model,
    notes,
    get isStopped() {
      return gate.isShut;
    },
    stop: gate.shut,
    go: gate.open,
    kill() {
      o.dead.add(o.pid);
      gate.shut();
    },
    async end() {
      await services.runs.drain();
      await Promise.all(upkeep.map((each) => each.stop()));
      await services.log.close();
      await services.ownership.leave();
    },
  };
}

function createServices({
  store,
  clock,
  logger,
  model,
  ...o
}: Start & Pick<Services, 'store' | 'clock' | 'logger'> & { readonly model: ScriptedModel }): Services {
  const log = createRunLog({ store, clock, logger, windowMs: 0 });
  const ref = { provider: model.provider, model: model.modelId };
  const native = createNativeAdapter(
    {
      clock,
      random: systemRandom,
      logger,
      policies: defaultPolicies,
      tools: o.tools?.(clock) ?? [],
      content: store,
      health: createModelHealth({ clock }),
      openModel: async () => ({ model, traits: {}, maxOutputTokens: null }),
    },
    { list: () => [], choose: () => ({ available: true, id: ref.model, ref }), defaultModel: ref.model },
  );
  const owner = systemRandom.token();
  const processes: Processes = {
    self: { place: 'here', pid: o.pid, startTicks: 1 },
    look: ({ pid }) => (o.dead.has(pid) ? 'dead' : 'alive'),
  };
  return {
    store,
    log,
    clock,
    logger,
    owner,
    ownership: createOwnership({ store, clock, owner, processes }),
    random: systemRandom,
    harnesses: createRegistry([{ ...native, base: o.base }]),
    workspaces: fixedWorkspace('/'),
    runs: createBackgroundRuns({ clock, logger }),
    frames: createFrameFeeds(log),
    files: null,
    uploads: null,
    settings: {
      timeoutSeconds: 86_400,
      maxTimeoutSeconds: 86_400,
      systemPrompt: null,
      planning: false,
      permissions: allowAll,
      streamRetentionSeconds: 86_400,
      sessionRetentionSeconds: null,
      maxUploadBytes: 1_000_000,
      uploadRetentionSeconds: 60,
      linkBase: () => 'http://127.0.0.1',
    },
  };
}

/** Lets pass while it is open; who comes while it is shut waits. */
function createTurnstile() {
  let opened: PromiseWithResolvers<void> | null = null;
  return {
    get isShut() {
      return opened !== null;
    },
    pass: async () => opened?.promise,
    shut: () => void (opened ??= Promise.withResolvers()),
    open() {
      opened?.resolve();
      opened = null;
    },
  };
}

/** Each call waits before it is made, and before its answer is heard. */
function behind(store: Store, mayGo: () => Promise<void>): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || typeof name === 'symbol') return method;
      return async (...args: unknown[]) => {
        await mayGo();
        const result: unknown = await Reflect.apply(method, target, args);
        await mayGo();
        return result;
      };
    },
  });
}

/** Starts a task at a process. */
export async function begin(
  { services }: Pick<StoreProcess, 'services'>,
  text: string,
  change: Partial<TaskBody> = {},
) {
  const messages = [{ content: [{ type: 'text', text }] }] as const;
  return acceptTask(services, { principal: 'ada', body: { ...body, messages, ...change }, idempotency: null });
}

const body: TaskBody = { ...plainTask, messages: [], background: true };

const sliceMs = 1_000;

/** Time passes for all that do not stand, for one hardly before the other. */
export async function pass(ms: number, ...processes: readonly StoreProcess[]): Promise<void> {
  for (let left = ms; ; left -= sliceMs) {
    for (const { isStopped, clock } of processes) if (!isStopped) await clock.advance(Math.min(left, sliceMs));
    if (left <= sliceMs) return;
  }
}

/** Little time passes until something holds: for what does not hang on the clocks alone. */
export async function passUntil(look: () => Promise<boolean>, ...processes: readonly StoreProcess[]): Promise<void> {
  for (let round = 0; round < 200; round++) {
    if (await look()) return;
    await pass(50, ...processes);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('It did not come.');
}
