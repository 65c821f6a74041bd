import { afterEach, describe, expect, test } from 'vitest';
import { acceptTask, type TaskBody } from './accept-task.ts';
import { awaitResponse, readResponse } from './read-response.ts';
import { cancelTask } from './cancel-task.ts';
import { checkLog } from '../testing/check-log.ts';
import { createBackgroundRuns } from './background-runs.ts';
import { createFrameFeeds } from './frame-feeds.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { createRunLog } from '../stores/run-log.ts';
import { harnessIds, type RunId } from '../core/ids.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { recoverRuns } from './recover-runs.ts';
import { silentLogger } from '../core/logger.ts';
import { systemClock, systemRandom } from '../system.ts';
import type { Capabilities, HarnessAdapter, HarnessSession } from '../harnesses/harness.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { Clock } from '../core/clock.ts';
import type { Services } from './services.ts';
import type { Store } from '../stores/store.ts';

const place = { step: 1, attempt: 1 };
const model = { provider: 'bad', model: 'bad-1' };
const opening: EventDraft[] = [
  { type: 'step-started', step: 1, attempt: 0, data: { purpose: 'reply', model, replyBudget: null } },
  { type: 'text-delta', data: 'so far', block: 0, ...place },
];

type Turn = HarnessSession['prompt'];

function badHarness(prompt: Turn): HarnessAdapter {
  return {
    base: 'bad',
    label: 'Bad',
    probe: async () => ({
      installed: true,
      version: null,
      problem: null,
      models: [],
      defaultModel: 'bad-1',
      capabilities: {} as Capabilities,
    }),
    chooseModel: async () => ({ available: true, id: 'bad-1', ref: model }),
    openSession: async () => ({ prompt, async [Symbol.asyncDispose]() {} }),
  };
}

const opened: Services[] = [];
afterEach(async () => {
  for (const services of opened.splice(0)) {
    await services.runs.drain();
    await services.log.close();
    await services.store[Symbol.asyncDispose]();
  }
});

async function rig(prompt: Turn, parts: { store?: Store; clock?: Clock; owner?: string } = {}): Promise<Services> {
  const { store = openSqlite(':memory:'), clock = systemClock, owner = 'here' } = parts;
  const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
  const services: Services = {
    store,
    log,
    clock,
    owner,
    random: systemRandom,
    logger: silentLogger,
    harnesses: createRegistry([badHarness(prompt)]),
    workspaces: { ensure: async () => '/', remove: async () => {} },
    runs: createBackgroundRuns(silentLogger),
    frames: createFrameFeeds(log),
    settings: {
      timeoutSeconds: 60,
      maxTimeoutSeconds: 600,
      systemPrompt: null,
      streamRetentionSeconds: 86_400,
      sessionRetentionSeconds: null,
    },
  };
  opened.push(services);
  const record = { harnessId: harnessIds.make('bad'), principal: 'ada', name: 'Bad', base: 'bad', defaultModel: null };
  const rest = {
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    createdAtMs: 1,
    deleted: false,
  };
  await store.putHarness({ ...record, ...rest });
  return services;
}

const body: TaskBody = {
  messages: [{ content: [{ type: 'text', text: 'Go.' }] }],
  inputItems: [],
  instructions: null,
  model: null,
  harnessId: null,
  previousResponseId: null,
  store: true,
  background: false,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  metadata: {},
  reinsEvents: false,
  ignoredFields: [],
};
const accept = (services: Services, more: Partial<TaskBody> = {}) =>
  acceptTask(services, { principal: 'ada', body: { ...body, ...more }, idempotency: null });
const never = new AbortController().signal;

async function logOf({ log }: Services, runId: RunId): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of log.readAll(runId)) events.push(...batch);
  return events;
}

describe('X1: a run ends exactly once, whatever its harness does', () => {
  const turns: Record<string, Turn> = {
    'throws at once': () => {
      throw new Error('at once');
    },
    'throws in the middle': async function* () {
      yield opening;
      throw new Error('in the middle');
    },
    'stops without a result': async function* () {
      yield opening;
    },
    'yields nothing': async function* () {},
  };
  for (const [name, turn] of Object.entries(turns))
    test(`a harness that ${name}: failed, output kept, session free, log lawful`, async () => {
      const services = await rig(turn);
      const { runId } = await accept(services);
      const response = await awaitResponse(services, runId, never);
      expect(response).toMatchObject({ status: 'failed', error: { type: 'harness_error' } });
      if (name.includes('middle')) expect(JSON.stringify(response.output)).toContain('so far');
      const events = await logOf(services, runId);
      expect(checkLog(events)).toEqual([]);
      expect(events.filter(({ type }) => type === 'run-result')).toHaveLength(1);
      await expect(accept(services, { previousResponseId: runId })).resolves.toMatchObject({ replayed: false });
    });

  test('what a harness yields after its result is thrown away', async () => {
    const services = await rig(async function* (state) {
      yield opening;
      const { closeRun } = await import('../core/closing.ts');
      const { applyDrafts } = await import('../core/closing.ts');
      const after = applyDrafts(state, opening, 5);
      yield [...closeRun(after, { status: 'cancelled' }, 6), { type: 'text-delta', data: 'late', block: 0, ...place }];
      yield opening;
    });
    const { runId } = await accept(services);
    await awaitResponse(services, runId, never);
    expect((await logOf(services, runId)).at(-1)?.type).toBe('run-result');
  });
});

test('X4, B096: a harness that ignores a cancel is left behind, and the run says so', async () => {
  const quick: Clock = {
    now: systemClock.now,
    timer: (ms, callback) => systemClock.timer(ms > 5_000 ? 20 : ms, callback),
  };
  const services = await rig(
    async function* () {
      yield opening;
      await new Promise(() => {});
    },
    { clock: quick },
  );
  const { runId } = await accept(services);
  for await (const events of services.log.follow(runId, { after: 0 }))
    if (events.some(({ type }) => type === 'text-delta')) break;
  await cancelTask(services, 'ada', runId);
  const response = await awaitResponse(services, runId, never);
  expect(response).toMatchObject({
    status: 'cancelled',
    error: null,
    metadata: { reins_unstopped: [expect.any(String)] },
  });
  await expect(accept(services, { previousResponseId: runId })).resolves.toMatchObject({ replayed: false });
});

test('UD-60: a harness that cannot go on ends after a restart with reins_interrupted and its partial output', async () => {
  const store = openSqlite(':memory:');
  const first = await rig(
    async function* () {
      yield opening;
      await new Promise(() => {});
    },
    { store },
  );
  const { runId } = await accept(first);
  for await (const events of first.log.follow(runId, { after: 0 }))
    if (events.some(({ type }) => type === 'text-delta')) break;
  const second = await rig(async function* () {}, { store, owner: 'there' });
  opened.splice(0, 1); // The first process is dead: nothing of it is drained.
  expect(await recoverRuns(second)).toBe(1);
  const response = await awaitResponse(second, runId, never);
  expect(response).toMatchObject({ status: 'failed', error: { code: 'reins_interrupted', type: 'server_error' } });
  expect(JSON.stringify(response.output)).toContain('so far');
  expect(checkLog(await logOf(second, runId))).toEqual([]);
});

test('E-832: a run taken over more than ten times in an hour is given up', async () => {
  const store = openSqlite(':memory:');
  const stuck: Turn = async function* () {
    await new Promise(() => {});
  };
  const first = await rig(stuck, { store });
  const { runId } = await accept(first);
  for (let takeover = 1; takeover <= 10; takeover++)
    await store.countTakeover(runId, { nowMs: systemClock.now(), sinceMs: 0 });
  const second = await rig(stuck, { store, owner: 'there' });
  opened.splice(0, 1);
  await recoverRuns(second);
  expect(await awaitResponse(second, runId, never)).toMatchObject({
    status: 'failed',
    error: { code: 'reins_interrupted' },
  });
});

test('U-042: a response of another principal reads as one that never was', async () => {
  const services = await rig(async function* () {});
  const { runId } = await accept(services);
  await expect(readResponse(services, 'bob', runId)).rejects.toMatchObject({ code: 'response_not_found', status: 404 });
  await expect(cancelTask(services, 'bob', runId)).rejects.toMatchObject({ code: 'response_not_found' });
});
