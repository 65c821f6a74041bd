import { afterEach, describe, expect, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { plainTask, type TaskBody } from './task-body.ts';
import { awaitResponse, readResponse } from './read-response.ts';
import { cancelTask } from './cancel-task.ts';
import { applyDrafts, closeRun } from '../core/closing.ts';
import { checkLog } from '../testing/check-log.ts';
import { createBackgroundRuns } from './background-runs.ts';
import { createFrameFeeds } from './frame-feeds.ts';
import { createOwnership } from './ownership.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { createRunLog } from '../stores/run-log.ts';
import { fixedWorkspace } from '../files/workspaces.ts';
import { harnessIds, type RunId } from '../core/ids.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { recoverRuns } from './recover-runs.ts';
import { StorageError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import { systemClock, systemRandom } from '../system.ts';
import type { Capabilities, HarnessAdapter, HarnessSession } from '../harnesses/harness.ts';
import { type EventDraft, type RunEvent } from '../core/run-event.ts';
import { allowAll } from '../core/run-config.ts';
import type { Clock } from '../core/clock.ts';
import type { Services } from './services.ts';
import { type Store } from '../stores/store.ts';
import { plainSetup } from '../stores/harness-record.ts';

const place = { step: 1, attempt: 1 };
const model = { provider: 'bad', model: 'bad-1' };
const opening: EventDraft[] = [
  { type: 'step-started', step: 1, attempt: 0, data: { purpose: 'reply', model, replyBudget: null } },
  { type: 'text-delta', data: 'so far', block: 0, ...place },
];

type Turn = HarnessSession['prompt'];
type Open = HarnessAdapter['openSession'];

function badHarness(prompt: Turn, openSession?: Open): HarnessAdapter {
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
    openSession: (options) => openSession?.(options) ?? Promise.resolve({ prompt, async [Symbol.asyncDispose]() {} }),
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

async function rig(
  prompt: Turn,
  parts: { store?: Store; clock?: Clock; owner?: string; openSession?: Open } = {},
): Promise<Services> {
  const { store = openSqlite(':memory:'), clock = systemClock, owner = 'here' } = parts;
  const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
  const services: Services = {
    store,
    log,
    clock,
    owner,
    // Everybody else is dead.
    ownership: createOwnership({
      store,
      clock,
      owner,
      processes: { self: { place: '', pid: 1, startTicks: null }, look: () => 'dead' },
    }),
    random: systemRandom,
    logger: silentLogger,
    harnesses: createRegistry([badHarness(prompt, parts.openSession)]),
    workspaces: fixedWorkspace('/'),
    runs: createBackgroundRuns({ clock, logger: silentLogger }),
    frames: createFrameFeeds(log),
    files: null,
    uploads: null,
    settings: {
      timeoutSeconds: 60,
      maxTimeoutSeconds: 600,
      systemPrompt: null,
      planning: false,
      permissions: { ...allowAll, expiresAfterSeconds: 600 },
      streamRetentionSeconds: 86_400,
      sessionRetentionSeconds: null,
      maxUploadBytes: 1_000_000,
      uploadRetentionSeconds: 60,
      linkBase: () => 'http://127.0.0.1',
    },
  };
  opened.push(services);
  const record = { harnessId: harnessIds.make('bad'), principal: 'ada', name: 'Bad', base: 'bad', defaultModel: null };
  const rest = {
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    permissions: null,
    planning: null,
    setup: plainSetup,
    createdAtMs: 1,
    deleted: false,
  };
  await store.putHarness({ ...record, ...rest });
  return services;
}

const body: TaskBody = { ...plainTask, messages: [{ content: [{ type: 'text', text: 'Go.' }] }] };
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
      const after = applyDrafts(state, opening, 5);
      yield [...closeRun(after, { status: 'cancelled' }, 6), { type: 'text-delta', data: 'late', block: 0, ...place }];
      yield opening;
    });
    const { runId } = await accept(services);
    await awaitResponse(services, runId, never);
    expect((await logOf(services, runId)).at(-1)?.type).toBe('run-result');
  });
});

/** Long waits of the host come at once; nothing else is hurried. */
const quickClock: Clock = {
  now: systemClock.now,
  timer: (ms, callback) => systemClock.timer(ms >= 5_000 ? 20 : ms, callback),
};
const hangs = () => new Promise<never>(() => {});
const hangingTurn: Turn = async function* () {
  yield opening;
  await hangs();
};

async function untilShown(services: Services, runId: RunId): Promise<void> {
  for await (const events of services.log.follow(runId, { after: 0 }))
    if (events.some(({ type }) => type === 'text-delta')) return;
}

describe('X3: a harness that hangs holds up nobody for long', () => {
  test('in opening its session: a cancel ends the run, the session is free, a shutdown returns', async () => {
    const services = await rig(hangingTurn, { clock: quickClock, openSession: hangs });
    const { runId } = await accept(services);
    await cancelTask(services, 'ada', runId);
    expect(await awaitResponse(services, runId, never)).toMatchObject({ status: 'cancelled', error: null });
    await expect(accept(services, { previousResponseId: runId })).resolves.toMatchObject({ replayed: false });
    await services.runs.drain();
  });

  test('in closing its session: the run has ended before', async () => {
    const services = await rig(async function* () {}, {
      clock: quickClock,
      openSession: async () => ({ prompt: async function* () {}, [Symbol.asyncDispose]: hangs }),
    });
    const { runId } = await accept(services);
    expect(await awaitResponse(services, runId, never)).toMatchObject({ status: 'failed' });
    await services.runs.drain();
  });

  test('UD-01: past its time budget: incomplete, output kept', async () => {
    const services = await rig(hangingTurn, { clock: quickClock });
    const { runId } = await accept(services, { timeoutSeconds: 1 });
    expect(await awaitResponse(services, runId, never)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'timeout' },
      error: null,
    });
  });

  test('A4, B121: what only a host may write, and a result that ends nothing, end the run as a breach', async () => {
    const running = { type: 'run-result', step: 1, attempt: 0, data: { status: 'running' } } as unknown as EventDraft;
    const started = { type: 'run-started', step: 0, attempt: 0, data: {} } as unknown as EventDraft;
    const file = { kind: 'create', path: 'workspace/../../x', fileId: 'file_x', sha256: '../../../key', bytes: 1 };
    const artifact = { type: 'file-changed', data: file, ...place } as unknown as EventDraft;
    for (const draft of [running, started, artifact]) {
      const services = await rig(async function* () {
        yield opening;
        yield [draft];
      });
      const { runId } = await accept(services);
      expect(await awaitResponse(services, runId, never)).toMatchObject({
        status: 'failed',
        error: { code: 'harness_error' },
      });
      const events = await logOf(services, runId);
      expect(checkLog(events)).toEqual([]);
      // What it wrote there is not in the log, under whatever name.
      expect(events.filter(({ type, seq }) => type === 'file-changed' || (type === 'run-started' && seq > 1))).toEqual(
        [],
      );
    }
  });
});

test('X4: a shutdown leaves the run without an owner, and the next start does not count it as a crash', async () => {
  const store = openSqlite(':memory:');
  const first = await rig(hangingTurn, { store, clock: quickClock });
  const { runId } = await accept(first);
  await untilShown(first, runId);
  await first.runs.drain();
  await first.log.close();
  opened.splice(0, 1);
  expect(await store.run(runId)).toMatchObject({ status: 'running', owner: null });
  const second = await rig(hangingTurn, { store, owner: 'there' });
  await recoverRuns(second);
  const nowMs = systemClock.now();
  expect(await store.countTakeover(runId, { nowMs, sinceMs: 0 })).toBe(1);
});

describe('frames', () => {
  test('G3, B045: nothing is left of a stream that ended, nor of one whose reader went away', async () => {
    const services = await rig(async function* () {
      yield opening;
    });
    const { runId, sessionId } = await accept(services);
    const source = { runId, sessionId, reinsEvents: false };
    const texts: string[] = [];
    for await (const { text } of services.frames.follow(source, { after: -1, signal: never })) texts.push(text);
    expect(texts.join('')).toMatch(/response\.created[^]*response\.failed/);
    const gone = new AbortController();
    for await (const _ of services.frames.follow(source, { after: -1, signal: gone.signal })) break;
    await new Promise((resolve) => setImmediate(resolve));
    expect(services.log.openRuns).toBe(0);
  });

  test('E-003, UD-17: whatever the cursor, and however many read, the frames are the same bytes', async () => {
    const many: EventDraft[] = Array.from({ length: 300 }, (_, at) => ({
      type: at % 2 === 0 ? 'text-delta' : 'thinking-delta',
      data: `piece ${at} `,
      block: at % 2,
      ...place,
    }));
    const services = await rig(async function* () {
      yield opening;
      for (const draft of many) {
        yield [draft];
        if (draft.block === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const { runId, sessionId } = await accept(services);
    const source = { runId, sessionId, reinsEvents: false };
    const read = async (after: number) => {
      let text = '';
      for await (const batch of services.frames.follow(source, { after, signal: never })) text += batch.text;
      return text;
    };
    const [whole, beside] = await Promise.all([read(-1), read(-1)]);
    expect(beside).toBe(whole);
    for (const after of [0, 1, 5, 63, 64, 65, 200, 300]) {
      const at = whole.indexOf(`id: ${after + 1}\n`);
      expect(await read(after)).toBe(whole.slice(at));
    }
  });
});

test('X3, B096: a harness that ignores a cancel is left behind, and the run says so', async () => {
  const services = await rig(hangingTurn, { clock: quickClock });
  const { runId } = await accept(services);
  await untilShown(services, runId);
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
  const first = await rig(hangingTurn, { store });
  const { runId } = await accept(first);
  await untilShown(first, runId);
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

describe('X6: a store that is away ends no run', () => {
  /** Away for who lets go of a run, and back for all that comes after it. */
  function awayStore() {
    const sound = openSqlite(':memory:');
    const state = { isAway: false };
    const answer = <T>(ask: () => Promise<T>) => (state.isAway ? Promise.reject(new StorageError('Away.')) : ask());
    const store: Store = {
      ...sound,
      release: (...of) => answer(() => sound.release(...of)),
      [Symbol.asyncDispose]: () => sound[Symbol.asyncDispose](),
    };
    return { store, state };
  }

  test('a process that has to let go of it while the store is away leaves it as it is', async () => {
    const { store, state } = awayStore();
    const services = await rig(
      async function* (_state, { signal }) {
        yield opening;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      { store },
    );
    const { runId } = await accept(services);
    await expect.poll(async () => (await store.run(runId))?.lastSeq).toBeGreaterThan(1);
    state.isAway = true;
    services.runs.stop(runId, 'shutdown');
    await services.runs.ended(runId);
    state.isAway = false;
    expect(await store.run(runId)).toMatchObject({ status: 'running' });
    expect(checkLog(await logOf(services, runId))).toEqual([]);
  });

  test('V8: what it broke off is not taken up again at once', async () => {
    const { store, state } = awayStore();
    const services = await rig(
      async function* () {
        yield opening;
        state.isAway = true;
        throw new StorageError('Away.');
      },
      { store },
    );
    const { runId } = await accept(services);
    await services.runs.ended(runId);
    state.isAway = false;
    expect(services.runs.rests(runId)).toBe(true);
    expect(await recoverRuns(services)).toBe(0);
    expect(await store.run(runId)).toMatchObject({ status: 'running' });
  });
});
