// What a store knows of a run beside its log is an index: made again from the log alone, it is the same.

import { counted, openRuntime, standing, theOpen, type RuntimeRig } from '../../test/support/runtimes.ts';
import { createUhpFrames, type UhpFrames } from '../views/uhp-frames.ts';
import { expect, test } from 'vitest';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import type { FinalStatus } from '../core/outcome.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Store } from '../stores/store.ts';

test('E-001, E-002: run, session, approvals and messages, made again from the logs, are what they were', async () => {
  const gated = counted('gated', { permission: 'ask' });
  const asks = simpleCall('a', 'gated', {});
  await using rig = openRuntime([asks, simpleText('Done.'), asks, asks], { parts: { tools: [gated] } });
  const ids = [await decided(rig), await cancelled(rig), (await parked(rig)).runId];
  await using again = openSqlite(':memory:');
  for (const runId of ids) await makeAgain(runId, rig.store, again);
  for (const runId of ids) expect(await known(again, runId)).toEqual(await known(rig.store, runId));
  expect(await again.unfinishedRuns()).toEqual(await rig.store.unfinishedRuns());
});

async function parked({ runtime }: RuntimeRig) {
  const handle = await runtime.submit('Go.');
  await standing(runtime, handle.runId, 'awaiting-input');
  return handle;
}

async function decided(rig: RuntimeRig): Promise<RunId> {
  const { runId } = await parked(rig);
  await rig.runtime.send({ runId }, { content: 'And this.', messageId: 'm' }, { mode: 'steer' });
  const { approvalId } = await theOpen(rig.runtime, { runId });
  await rig.runtime.approvals.decide(approvalId, { decision: 'approve', note: 'Fine.' });
  await standing(rig.runtime, runId, 'completed');
  return runId;
}

async function cancelled(rig: RuntimeRig): Promise<RunId> {
  const { runId } = await parked(rig);
  await rig.runtime.cancel(runId);
  await standing(rig.runtime, runId, 'cancelled');
  return runId;
}

/** The log of a run, written into a store that has never seen it, in the way of those who wrote it first. */
async function makeAgain(runId: RunId, from: Store, to: Store): Promise<void> {
  const run = await from.run(runId);
  const events = await from.readEvents(runId, { after: 0, limit: 10_000 });
  const [first] = events;
  if (run === null || first === undefined) throw new Error('There is no such run.');
  // Who asked for it is not of its making; all the rest comes from its events.
  const { sessionId, harnessId, principal, store, createdAtMs: atMs } = run;
  const whose = { runId, sessionId, harnessId, principal, newSession: { title: '' }, store, atMs };
  await to.admit({ ...whose, previousRunId: null, owner: 'here', events: [first] });
  const frames = createUhpFrames({ runId, sessionId, reinsEvents: false, encode: false });
  frames.push([first]);
  let [generation, parks] = [1, false];
  for (const event of events.slice(1)) {
    const { seq, type } = event;
    frames.push([event]);
    if (parks && (type === 'user-message' || type === 'approval-decided')) {
      await to.appendFact({ event });
      continue;
    }
    if (type === 'run-started') generation = (await to.takeOver(runId, 'here'))?.generation ?? 0;
    const entry = { runId, generation, after: seq - 1, events: [event] };
    const status = finalStatus(event);
    const end = status === null ? {} : { end: { status, response: responseOf(frames), atMs: event.at } };
    await to.append([{ ...entry, ...end }], { durable: false });
    parks = type === 'run-result';
  }
}

function finalStatus(event: RunEvent): FinalStatus | null {
  const status = event.type === 'run-result' ? event.data.status : null;
  return status === 'completed' || status === 'failed' || status === 'cancelled' ? status : null;
}

function responseOf(frames: UhpFrames): JsonObject | null {
  const response = toJsonValue(frames.response());
  return isJsonObject(response) ? response : null;
}

async function known(store: Store, runId: RunId) {
  const run = await store.run(runId);
  if (run === null) return null;
  // What was asked of it, pause or cancel, is the one thing that stands outside the log (E-812).
  const { control: _, endedAtMs, ...record } = run;
  const session = await store.session(run.sessionId);
  const approvals = await store.approvals({ principal: run.principal, runId, status: 'all', limit: 99 });
  return {
    ...record,
    ended: endedAtMs !== null,
    busyWith: session?.runningRunId,
    approvals,
    events: await store.readEvents(runId, { after: 0, limit: 10_000 }),
  };
}
