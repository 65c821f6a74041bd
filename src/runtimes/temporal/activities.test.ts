// What workflows may ask of a worker, as Temporal asks for it, without a server: heartbeats and cancels are the test's.

import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { ActivityCancellationDetails, ApplicationFailure } from '@temporalio/common';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createActivities } from './activities.ts';
import { systemClock } from '../../system.ts';
import { createRuntime } from '../../runtime.ts';
import { idleDriver } from '../../../test/support/idle-driver.ts';
import { createScriptedModel } from '../../testing/scripted-model.ts';
import { openSqlite } from '../../stores/sqlite/open-sqlite.ts';
import { simpleText } from '../../testing/model-servers/reply-script.ts';
import type { Logger } from '../../core/logger.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunWatch } from '../watch-runs.ts';
import type { Services } from '../../tasks/services.ts';

const agentWaitMs = 5_000;

/** A worker, and its twin that has not the agent. */
function openWorkers() {
  const path = join(mkdtempSync(join(tmpdir(), 'reins-activities-')), 'runs.sqlite');
  const model = createScriptedModel([simpleText('Done.')]);
  let aheadMs = 0;
  const now = () => systemClock.now() + aheadMs;
  const warned: string[] = [];
  const logger: Logger = { info() {}, warn: (message) => void warned.push(message), error() {} };
  const found: { services: Services; watch: RunWatch }[] = [];
  const runtime = createRuntime({
    clock: { ...systemClock, now },
    recovery: { agentWaitSeconds: agentWaitMs / 1_000 },
    logger,
    agents: [{ config: { name: 'worker' }, parts: { provider: model } }],
    driver: idleDriver(openSqlite(path), (worker) => void found.push(worker)),
  });
  const [here] = found;
  if (here === undefined) throw new Error('There is no worker.');
  const { services, watch } = here;
  const lacking = { ...services, harnesses: { ...services.harnesses, adapter: () => undefined } };
  return {
    path,
    model,
    warned,
    now,
    pass: (ms: number) => void (aheadMs += ms),
    runtime,
    store: services.store,
    fitting: createActivities(services, watch),
    lacking: createActivities(lacking, watch),
    generation: async (runId: RunId) => (await services.store.run(runId))?.generation ?? 0,
    async log(runId: RunId) {
      const events: RunEvent[] = [];
      for await (const event of await runtime.events(runId, { follow: 'run' })) events.push(event);
      return events;
    },
    [Symbol.asyncDispose]: () => runtime.close({ drainMs: 0 }),
  };
}

interface Asked {
  /** Of the try before. */
  readonly heartbeatDetails?: unknown;
  readonly scheduledTimestampMs?: number;
  readonly isCancelled?: boolean;
  readonly attempt?: number;
}

/** One try. Gives what it told with its last heartbeat, too. */
async function asked<T>(work: () => Promise<T>, { isCancelled = false, ...info }: Asked = {}) {
  const facts = { activityType: 'test', attempt: 1, heartbeatTimeoutMs: 20_000, scheduledTimestampMs: 0, ...info };
  let told: unknown = null;
  const details = { details: isCancelled ? new ActivityCancellationDetails({ cancelRequested: true }) : undefined };
  const context: Context = Object.create(Context.prototype, {
    info: { value: facts satisfies Partial<Info> },
    cancellationSignal: { value: isCancelled ? AbortSignal.abort() : new AbortController().signal },
    heartbeat: { value: (said: unknown) => void (told = said) },
    _cancellationDetails: { value: details },
  });
  const outcome = await asyncLocalStorage.run(context, work).then(
    (standing) => ({ standing }),
    (failure: unknown) => ({ failure }),
  );
  return { ...outcome, told };
}

test('E-833: a stretch waits for an agent from its first refusal on, not from when it was planned; a word is said of it', async () => {
  await using two = openWorkers();
  const { lacking, now, pass, warned } = two;
  const { runId } = await two.runtime.submit('Go.');
  const stretch = { v: 1, runId, generation: await two.generation(runId) } as const;
  const refuse = (o: Asked) => asked(() => lacking['reins.callModel.v1'](stretch), o);
  const awaited = { failure: { type: 'AgentAwaitedError', nonRetryable: false } };
  pass(agentWaitMs * 2);
  const fromMs = now();
  const first = await refuse({ heartbeatDetails: { v: 1, lastSeq: null, lastAtMs: null } });
  expect(first).toMatchObject({
    ...awaited,
    told: { agentlessSinceMs: expect.toSatisfy((ms: number) => ms >= fromMs) },
  });
  expect('failure' in first ? first.failure : null).toBeInstanceOf(ApplicationFailure);
  pass(agentWaitMs - 1_500);
  const second = await refuse({ heartbeatDetails: first.told });
  expect(second).toMatchObject({ ...awaited, told: first.told });
  expect(warned.filter((message) => message.includes('agent'))).toHaveLength(1);
  pass(1_500);
  expect(await refuse({ heartbeatDetails: second.told })).toMatchObject({ standing: { at: 'over' } });
  expect((await two.log(runId)).at(-1)).toMatchObject({ data: { error: { type: 'AgentUnavailableError' } } });
});

test('E-833: work on it by one who has the agent begins the wait anew', async () => {
  await using two = openWorkers();
  const { fitting, now, pass } = two;
  const { runId } = await two.runtime.submit('Go.');
  const stretch = { v: 1, runId, generation: await two.generation(runId) } as const;
  const heartbeatDetails = { v: 1, agentlessSinceMs: now() };
  pass(agentWaitMs);
  expect(await asked(() => fitting['reins.callModel.v1'](stretch), { heartbeatDetails })).toMatchObject({
    standing: { at: 'open', outline: { last: { text: '…' } } },
  });
});

test.each(['reins.load.v1', 'reins.callModel.v1', 'reins.close.v1'] as const)(
  'a run that this database never had is given on to another worker, and seldom spoken of; in the end it counts as over: %s',
  async (name) => {
    await using elsewhere = openWorkers();
    await using here = openWorkers();
    const { runId } = await elsewhere.runtime.submit('Go.');
    const stretch = { v: 1, runId, generation: 1, why: 'cancelled' } as const;
    const attempt = (number: number) => asked(() => here.fitting[name](stretch), { attempt: number });
    const given = { failure: { type: 'UnknownRunError', nonRetryable: false } };
    expect(await attempt(1)).toMatchObject(given);
    expect(await attempt(2)).toMatchObject(given);
    expect(here.warned).toEqual([expect.stringContaining('REINS_DATABASE_URL')]);
    here.pass(60_000);
    expect(await attempt(9)).toMatchObject(given);
    expect(here.warned).toHaveLength(2);
    expect(await attempt(10)).toMatchObject({ standing: { at: 'over' } });
  },
);

test('a run whose session was deleted is over, and not unknown', async () => {
  await using two = openWorkers();
  const { runId, sessionId } = await two.runtime.submit('Go.');
  const stretch = { v: 1, runId, generation: await two.generation(runId) } as const;
  await asked(() => two.fitting['reins.close.v1']({ ...stretch, why: 'cancelled' }));
  expect(await two.store.deleteSession(sessionId)).toBe(true);
  expect(await asked(() => two.fitting['reins.load.v1'](stretch))).toMatchObject({ standing: { at: 'over' } });
});

test('E-884: a cancel that is heard before the run is at work here stops it before its model is called', async () => {
  await using two = openWorkers();
  const { runId } = await two.runtime.submit('Go.');
  const stretch = { v: 1, runId, generation: await two.generation(runId) } as const;
  const outcome = await asked(() => two.fitting['reins.callModel.v1'](stretch), { isCancelled: true });
  expect(outcome).toMatchObject({ standing: { at: 'over' } });
  expect(two.model.calls).toHaveLength(0);
  expect((await two.log(runId)).at(-1)).toMatchObject({ data: { status: 'cancelled' } });
});

test.each(['reins.load.v1', 'reins.callModel.v1', 'reins.close.v1'] as const)(
  'E-804: a run whose log is damaged is ended by it, and not tried for ever: %s',
  async (name) => {
    await using two = openWorkers();
    const { runId } = await two.runtime.submit('Go.');
    const stretch = { v: 1, runId, generation: await two.generation(runId), why: 'due' } as const;
    using database = new DatabaseSync(two.path);
    database.exec(`UPDATE event_batches SET body = '['`);
    expect(await asked(() => two.fitting[name](stretch))).toMatchObject({ standing: { at: 'over' } });
    expect(await two.store.run(runId)).toMatchObject({ status: 'failed' });
  },
);
