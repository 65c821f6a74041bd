// Places for the processes of foreign runtimes: who waits for one, who has to give his up, and what becomes of those nobody needs.

import { accepted, done, scriptedRuntime, scriptedSettings, type ScriptedTurn } from './support/scripted-runtime.ts';
import { asJson } from './support/agent-call.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { ended, finalOf, until, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test, vi } from 'vitest';
import { needsOneServer } from './support/cluster-in-process.ts';
import { openStoreOf } from './support/rows.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { NativeCall, NativeFact } from '../src/harnesses/foreign/native-fact.ts';
import type { PoolBounds } from '../src/harnesses/foreign/process-pool.ts';
import type { RunId } from '../src/core/ids.ts';
import type { SeenFrame } from './support/event-stream.ts';

vi.setConfig({ testTimeout: 15_000 });

const begun: NativeFact = { is: 'reply-begun' };
const say = ({ say: tell }: ScriptedTurn, text: string) =>
  tell(begun, { is: 'text', key: 't', text }, accepted(), done);
const write: NativeCall = { id: 'c1', name: 'write', input: { path: 'a.txt' } };
const approvals = { permissionMode: 'allow-reads' };

/** `held…` works until it is let go, `ask…` asks for a person first; all else is answered. */
async function rig(o: { pool?: Partial<PoolBounds>; limits?: object; stopMs?: number } = {}) {
  needsOneServer('each server has processes of its own');
  const data = temporaryFolder();
  const gate = Promise.withResolvers<void>();
  const script = async (turn: ScriptedTurn) => {
    if (turn.input.includes('held')) turn.say(begun);
    if (turn.input.includes('held')) await Promise.race([gate.promise, turn.interrupted]);
    if (turn.input.includes('ask')) {
      turn.say(begun, { is: 'call-whole', call: write }, accepted('tool-use'));
      if ((await turn.ask(write, 'edit')).say === 'allow')
        turn.say({ is: 'call-running', call: write }, { is: 'call-ended', id: 'c1', outcome: 'ok', content: 'ok' });
    }
    say(turn, 'Done.');
  };
  const { pool = {}, limits = {}, stopMs = 20 } = o;
  const runtime = scriptedRuntime(data, script, { pool: { max: 1, ...pool }, stopMs });
  const settings = { ...scriptedSettings, approvals, limits };
  const server = await startServer({ data, settings, adapters: [runtime.adapter] });
  const { uhp } = server;
  const begin = async (input: string) =>
    (await uhp.create({ input, background: true, metadata: { reins_events: true } })).body.id;
  return {
    ...server,
    runtime,
    letGo: () => gate.resolve(),
    begin,
    /** Runs at work have opened so many. */
    opened: (count: number) => eventually(() => runtime.opened.length === count || undefined),
    /** Asks, and has been parked. */
    async parked(input = 'ask') {
      const id = await begin(input);
      const asked = await eventually(async () => {
        const { body } = await uhp.send('GET', '/v1/reins/approvals?status=pending');
        const all = body['approvals'] as { id: string; response_id: string }[];
        return all.find(({ response_id }) => response_id === id)?.id;
      });
      return {
        id,
        approve: () => uhp.send('POST', `/v1/reins/approvals/${asked}/decide`, { body: { decision: 'approve' } }),
      };
    },
    async expectLawful(id: string) {
      await using store = await openStoreOf(data);
      expect(checkLog(await store.readEvents(id as RunId, { after: 0, limit: 10_000 }))).toEqual([]);
    },
    async [Symbol.asyncDispose]() {
      gate.resolve();
      await server[Symbol.asyncDispose]();
      await runtime.adapter[Symbol.asyncDispose]();
    },
  };
}

const waits = ({ event }: SeenFrame) => event.type === 'reins.waiting';
const positionsOf = (frames: readonly SeenFrame[]) =>
  frames.filter(waits).map(({ event }) => [event['on'], event['position']]);

test('UD-59: who finds no room waits in order and is told his position; who was before him can be cancelled at once, and he goes on when there is room', async () => {
  await using server = await rig();
  const { uhp, begin, runtime } = server;
  await begin('held');
  await server.opened(1);
  const second = await begin('second');
  await until(await uhp.attach(second), waits);
  const third = await begin('third');
  const frames = whole(uhp.attach(third));
  await until(await uhp.attach(third), waits);
  const askedMs = performance.now();
  await uhp.cancel(second);
  expect(finalOf(await whole(uhp.attach(second)))).toMatchObject({ status: 'cancelled', error: null });
  expect(performance.now() - askedMs).toBeLessThan(1_000);
  await until(await uhp.attach(third), ({ event }) => event['position'] === 1);
  server.letGo();
  expect(finalOf(await frames)).toMatchObject({ status: 'completed' });
  expect(positionsOf(await frames)).toEqual([
    ['capacity', 2],
    ['capacity', 1],
  ]);
  // The first went idle, and made room.
  expect([runtime.opened.length, runtime.stopped]).toEqual([2, 1]);
  for (const id of [second, third]) await server.expectLawful(id);
});

test('UD-59: where as many wait as may, a new task is refused with 503 and nothing is started; one whose session has its process is not', async () => {
  await using server = await rig({ pool: { maxWaiting: 1 } });
  const { uhp, begin } = server;
  const first = await begin('held');
  await server.opened(1);
  await until(await uhp.attach(await begin('waits')), waits);
  const refused = await uhp.create({ input: 'too many' });
  expect([refused.status, refused.code, refused.headers.get('retry-after')]).toEqual([503, 'harness_unavailable', '5']);
  const busy = await uhp.create({ input: 'more', previous_response_id: first });
  expect(busy.code).toBe('session_busy');
  expect((await asJson(server.url, { prompt: 'turn' })).status).toBe(429);
});

test('UD-59: of tasks that came in the same instant each one that was accepted waits, and is served', async () => {
  await using server = await rig({ pool: { maxWaiting: 1 } });
  await server.begin('held');
  await server.opened(1);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => server.uhp.create({ input: 'at once', background: true })),
  );
  const taken = answers.filter(({ status }) => status < 300);
  expect(taken.length).toBeGreaterThan(0);
  for (const { code } of answers.filter((each) => !taken.includes(each))) expect(code).toBe('harness_unavailable');
  server.letGo();
  for (const { body } of taken)
    expect(finalOf(await whole(server.uhp.attach(body.id)))).toMatchObject({ status: 'completed' });
});

test('a wait has an end: the task fails and says that there was no room', async () => {
  await using server = await rig({ pool: { waitSeconds: 1 } });
  await server.begin('held');
  await server.opened(1);
  const { body } = await server.uhp.create({ input: 'in vain' });
  const message = 'No process was free for the task in 1 s.';
  expect(body).toMatchObject({
    status: 'failed',
    error: { type: 'server_error', code: 'harness_unavailable', message },
  });
  await server.expectLawful(body.id);
});

test('H-042: a run that waits for a person gives its process up to those who wait for room, stays parked, and goes on when it is decided on', async () => {
  await using server = await rig({ pool: { maxParked: 0 } });
  const { id, approve } = await server.parked();
  expect((await server.uhp.create({ input: 'other' })).body.status).toBe('completed');
  expect(server.runtime.stopped).toBe(1);
  expect((await server.uhp.get(id)).body.status).toBe('in_progress');
  await approve();
  expect(await ended(server.uhp, id)).toMatchObject({ status: 'completed' });
  expect(server.runtime.opened.map(({ resume }) => resume?.nativeId ?? null)).toEqual([null, null, 'native-1']);
  await server.expectLawful(id);
});

test('H-042: of those who are parked as many as are to be kept keep theirs, whoever waits', async () => {
  await using server = await rig({ pool: { max: 2, maxParked: 1 } });
  const [first, second] = [await server.parked(), await server.parked()];
  expect((await server.uhp.create({ input: 'other' })).body.status).toBe('completed');
  expect(server.runtime.stopped).toBe(1);
  await second.approve();
  expect(await ended(server.uhp, second.id)).toMatchObject({ status: 'completed' });
  expect(server.runtime.opened).toHaveLength(3);
  await first.approve();
  expect(await ended(server.uhp, first.id)).toMatchObject({ status: 'completed' });
});

test('H-060: a parked run that is woken and cancelled while it waits for its place leaves no process', async () => {
  await using server = await rig({ pool: { max: 3 }, limits: { concurrentTasks: 1 } });
  const { id, approve } = await server.parked();
  await server.begin('held');
  await server.opened(2);
  await approve();
  await server.uhp.cancel(id);
  expect(await ended(server.uhp, id)).toMatchObject({ status: 'cancelled' });
  expect(server.runtime.stopped).toBe(1);
});

test('H-060: a parked run that is cancelled while its process is being ended for another is cancelled when that is gone', async () => {
  await using server = await rig({ pool: { maxParked: 0 }, stopMs: 700 });
  const { id } = await server.parked();
  const other = await server.begin('other');
  await until(await server.uhp.attach(other), waits);
  await server.uhp.cancel(id);
  expect(await ended(server.uhp, id)).toMatchObject({ status: 'cancelled' });
  expect(server.runtime.stopped).toBe(1);
});

test('A-014: the process of a turn of the agent endpoint ends with the turn; nobody will use it again', async () => {
  await using server = await rig({ pool: { max: 2 } });
  expect(await asJson(server.url, { prompt: 'turn' })).toMatchObject({ status: 200 });
  await eventually(() => server.runtime.stopped === 1 || undefined);
  expect((await server.uhp.create({ input: 'another' })).body.status).toBe('completed');
  expect(server.runtime.stopped).toBe(1);
});
