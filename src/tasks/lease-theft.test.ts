// E-946: two processes on one store, each with a clock of its own, stop and go on at any moment and rob each other: the log is
// that of one owner. A stopped process stands in front of, or behind, any call of its store.

import fc from 'fast-check';
import { acceptTask, type TaskBody } from './accept-task.ts';
import { afterEach, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createBackgroundRuns } from './background-runs.ts';
import { createFrameFeeds } from './frame-feeds.ts';
import { createManualClock, type ManualClock } from '../testing/manual-clock.ts';
import { createMemoryContent } from '../runtimes/memory-content.ts';
import { createModelHealth } from '../engine/model-health.ts';
import { createNativeAdapter } from '../harnesses/native/native-adapter.ts';
import { createOwnership, type Processes } from './ownership.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { createRunLog } from '../stores/run-log.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { defaultPolicies } from '../engine/policies.ts';
import { ensureHarness } from './ensure-harness.ts';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { repeat } from './repeat.ts';
import { silentLogger } from '../core/logger.ts';
import { sleep } from '../core/clock.ts';
import { superviseRuns } from './supervise-runs.ts';
import { systemRandom } from '../system.ts';
import { takeOver } from './recover-runs.ts';
import { tmpdir } from 'node:os';
import type { ModelRequest } from '../engine/model.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { Services } from './services.ts';
import type { Store } from '../stores/store.ts';
import type { Tool } from '../engine/tool.ts';

interface Process {
  readonly services: Services;
  readonly clock: ManualClock;
  readonly isStopped: boolean;
  stop(): void;
  go(): void;
  end(): Promise<void>;
}

const call = (id: string) => ({ kind: 'tool-call', id, name: 'look', arguments: [`{"at":"${id}"}`] }) as const;
const pause = { kind: 'pause', ms: 400 } as const;
const replies: readonly ScriptedReply[] = [
  { pieces: [{ kind: 'text', chunks: ['I ', 'will '] }, pause, { kind: 'text', chunks: ['look.'] }, call('a')] },
  { pieces: [call('b'), pause, call('c')] },
  { pieces: [{ kind: 'thinking', chunks: ['So ', 'it is.'] }, pause, { kind: 'text', chunks: ['There ', 'it ', 'is.'] }] },
];
const replyTo = ({ prompt }: ModelRequest) => replies[prompt.filter(({ role }) => role === 'assistant').length] ?? {};

function lookTool(clock: ManualClock): Tool {
  return {
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { at: { type: 'string' } }, additionalProperties: false },
    replay: 'safe',
    async run(input, { signal }) {
      await sleep(clock, 300, signal);
      return { content: `Seen: ${JSON.stringify(input)}` };
    },
  };
}

/** Each call waits, before it is made and before its answer is heard, while its process stands. */
function standing(store: Store, gate: () => Promise<void>): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || typeof name === 'symbol') return method;
      return async (...args: unknown[]) => {
        await gate();
        const result: unknown = await Reflect.apply(method, target, args);
        await gate();
        return result;
      };
    },
  });
}

const rounds = Number(process.env['REINS_THEFT_ROUNDS'] ?? '60');
let pid = 0;

async function startProcess(path: string): Promise<Process> {
  const clock = createManualClock();
  let open = Promise.withResolvers<void>();
  open.resolve();
  let isStopped = false;
  const file = openSqlite(path);
  const store = standing(file, () => open.promise);
  const log = createRunLog({ store, clock, logger: silentLogger });
  const ref = { provider: 'scripted', model: 'scripted-1' };
  const adapter = createNativeAdapter(
    {
      clock,
      random: systemRandom,
      logger: silentLogger,
      policies: defaultPolicies,
      tools: [lookTool(clock)],
      content: createMemoryContent(),
      health: createModelHealth({ clock }),
      openModel: async () => ({ model: createScriptedModel(replyTo, { clock }), traits: {}, maxOutputTokens: null }),
    },
    { list: () => [], choose: () => ({ available: true, id: 'scripted-1', ref }), defaultModel: 'scripted-1' },
  );
  const owner = systemRandom.token();
  pid += 1;
  const processes: Processes = { self: { place: 'here', pid, startTicks: 1 }, look: () => 'alive' };
  const services: Services = {
    store,
    log,
    clock,
    owner,
    ownership: createOwnership({ store, clock, owner, processes }),
    random: systemRandom,
    logger: silentLogger,
    harnesses: createRegistry([adapter]),
    workspaces: { ensure: async () => '/', remove: async () => {} },
    runs: createBackgroundRuns({ clock, logger: silentLogger }),
    frames: createFrameFeeds(log),
    settings: {
      timeoutSeconds: 86_400,
      maxTimeoutSeconds: 86_400,
      systemPrompt: null,
      planning: false,
      approvalSeconds: 86_400,
      streamRetentionSeconds: 86_400,
      sessionRetentionSeconds: null,
    },
  };
  await ensureHarness(services, 'ada', 'native');
  const onFailure = (cause: unknown) => {
    throw cause;
  };
  const { renewEveryMs } = services.ownership.policy;
  const upkeep = [
    repeat(clock, { everyMs: 1_000, work: () => superviseRuns(services), onFailure }),
    repeat(clock, { everyMs: renewEveryMs, work: () => services.ownership.renew(), onFailure }),
  ];
  return {
    services,
    clock,
    get isStopped() {
      return isStopped;
    },
    stop() {
      if (!isStopped) open = Promise.withResolvers();
      isStopped = true;
    },
    go() {
      open.resolve();
      isStopped = false;
    },
    async end() {
      await Promise.all([services.runs.drain(), ...upkeep.map((each) => each.stop())]);
      await log.close();
      await file[Symbol.asyncDispose]();
    },
  };
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type Move =
  | { readonly do: 'pass'; readonly ms: number; readonly who: 0 | 1 }
  | { readonly do: 'stop' | 'go' | 'steal'; readonly who: 0 | 1 };

const who = fc.constantFrom(0, 1);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(0, 5, 100, 300, 399, 400), who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constant(40_000), who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('stop', 'go'), who }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('steal'), who }) },
);

async function play(moves: readonly Move[]): Promise<{ readonly events: readonly RunEvent[]; readonly legs: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'reins-theft-'));
  folders.push(folder);
  const processes = [await startProcess(join(folder, 'db')), await startProcess(join(folder, 'db'))] as const;
  const { runId } = await acceptTask(processes[0].services, { principal: 'ada', body, idempotency: null });
  const record = () => processes[0].services.store.run(runId);
  for (const each of moves) await make(each, processes, runId);
  for (const process of processes) process.go();
  for (let round = 0; (await record())?.status === 'running'; round++) {
    if (round > 300) throw new Error('The run does not end.');
    for (const { clock } of processes) await clock.advance(1_000);
  }
  const events = await processes[1].services.store.readEvents(runId, { after: 0, limit: 10_000 });
  // Whoever was robbed has left, by itself.
  for (const { clock } of processes) await clock.advance(12_000);
  expect(processes.map(({ services }) => services.runs.running())).toEqual([[], []]);
  expect(await processes[0].services.store.readEvents(runId, { after: 0, limit: 10_000 })).toEqual(events);
  for (const process of processes) await process.end();
  return { events, legs: events.filter(({ type }) => type === 'run-started').length };
}

async function make(step: Move, processes: readonly [Process, Process], runId: RunId): Promise<void> {
  const process = processes[step.who];
  switch (step.do) {
    case 'pass':
      if (!process.isStopped) await process.clock.advance(step.ms);
      return;
    case 'stop':
      return process.stop();
    case 'go':
      return process.go();
    case 'steal': {
      const run = await storedRun(processes, runId);
      if (run === null || run.owner === null || process.isStopped) return;
      void takeOver(process.services, run);
    }
  }
}

/** What is stored of the run, for an eye that never stands still. */
async function storedRun(processes: readonly [Process, Process], runId: RunId) {
  const awake = processes.find(({ isStopped }) => !isStopped);
  return awake === undefined ? null : awake.services.store.run(runId);
}

const body: TaskBody = {
  messages: [{ content: [{ type: 'text', text: 'Go.' }] }],
  inputItems: [],
  instructions: null,
  model: null,
  harnessId: null,
  previousResponseId: null,
  store: true,
  background: true,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  metadata: {},
  reinsEvents: false,
  ignoredFields: [],
};

/** What one owner would have made of it: the accepted replies, each call's one answer, the result. */
function essenceOf(events: readonly RunEvent[]) {
  return {
    turns: events.flatMap((event) => (event.type === 'text-complete' ? [event.data] : [])),
    answers: events.flatMap((event) => (event.type === 'tool-result' ? [event.data] : [])),
    result: events.flatMap((event) =>
      event.type === 'run-result' ? [[event.data.status, event.data.stopReason, event.data.output, event.data.steps]] : [],
    ),
  };
}

test('E-946: whatever is stopped and stolen, the log is lawful and says what one owner’s would', async () => {
  const alone = await play([]);
  expect(alone.legs).toBe(1);
  const wanted = essenceOf(alone.events);
  expect(wanted.result).toEqual([['completed', 'end-turn', 'There it is.', 3]]);
  let legs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 4, maxLength: 14, size: 'max' }), async (moves) => {
      const played = await play(moves);
      legs += played.legs - 1;
      expect(checkLog(played.events)).toEqual([]);
      expect(essenceOf(played.events)).toEqual(wanted);
    }),
    { numRuns: rounds },
  );
  // The moves did fall into the run, not beside it.
  expect(legs).toBeGreaterThan(rounds / 2);
}, 120_000);
