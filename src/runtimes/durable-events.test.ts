import * as fc from 'fast-check';
import { checkLog } from '../testing/check-log.ts';
import { collect, endless, until } from '../../test/support/agents.ts';
import { counted, eventually, held, openRuntime, standing, theOpen } from '../../test/support/runtimes.ts';
import { createClientModel } from '../testing/client-model.ts';
import { createRuntime } from '../runtime.ts';
import { CursorError, NotFoundError, SchemaError } from '../core/errors.ts';
import { cursorOf, seqOf } from './cursor.ts';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { RunLimitReached } from '../core/run-result.ts';
import { runIds } from '../core/ids.ts';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { EventsOptions } from './durable-events.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Runtime } from './runtime.ts';

const done = simpleText('All ', 'is ', 'done.');
const gated = () => ({ tools: [counted('one', { permission: 'ask' }), counted('two', { permission: 'ask' })] });
const twice: readonly ScriptedReply[] = [simpleCalls(['a', 'one', {}], ['b', 'two', {}]), done];
const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);
const read = async (runtime: Runtime, runId: string, options?: EventsOptions) =>
  collect(await runtime.events(runId, options));

describe('E-035: a reader of a durable run', () => {
  test('stops nothing by leaving it, however it leaves', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const stream = rig.runtime.runStream('Go.');
    for await (const event of stream) if (event.type === 'tool-dispatched') break;
    await begun;
    await stream[Symbol.asyncDispose]();
    const handle = await rig.runtime.handle(stream.runId);
    const leave = async () => {
      for await (const _ of handle.stream()) throw new Error('Enough.');
    };
    await expect(leave()).rejects.toThrow('Enough.');
    await handle.stream()[Symbol.asyncIterator]().return?.();
    const text = handle.stream().text();
    await text[Symbol.asyncDispose]();
    expect(await handle.status()).toBe('running');
    open();
    expect(await handle.result()).toMatchObject({ output: 'All is done.' });
  });

  test('E-847: costs nothing any more once it has left', async () => {
    await using rig = openRuntime(() => endless('One.'));
    const { runId } = await rig.runtime.submit('Go.');
    let reads = 0;
    const store = openSqlite(rig.path);
    const counting = {
      ...store,
      readEvents: (...args: Parameters<typeof store.readEvents>) => ((reads += 1), store.readEvents(...args)),
    };
    const driver = { kind: 'store', store: counting } as const;
    const agents = [{ config: { name: 'reader' }, parts: { provider: rig.model } }];
    await using reader = createRuntime({ agents, driver, clock: rig.clock });
    for (let round = 0; round < 5; round++)
      for await (const event of await reader.events(runId)) if (event.type === 'text-delta') break;
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = reads;
    await new Promise((resolve) => setTimeout(resolve, 200)); // Four of the seconds in which a follower looks again.
    expect([before > 0, reads - before]).toEqual([true, 0]);
  });

  test('E-036: waits no longer than its own signal; the run goes on', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    const patience = new AbortController();
    const stream = await rig.runtime.events(runId, { signal: patience.signal });
    const waited = stream.result();
    const seen = collect(stream);
    await begun;
    patience.abort(new Error('No time.'));
    expect(types(await seen).at(-1)).toBe('tool-dispatched');
    await expect(waited).rejects.toThrow('No time.');
    open();
    expect((await result()).ok).toBe(true);
  });

  test('E-120: sees what every other reader sees, in this process and in another', async () => {
    await using rig = openRuntime(twice, { parts: gated() });
    const other = rig.beside();
    const { runId } = await rig.runtime.submit('Go.');
    const readers = [rig.runtime, other, rig.runtime].map((runtime) => read(runtime, runId, { follow: 'run' }));
    for (const name of ['one', 'two'])
      await eventually(async () => {
        const open = await other.approvals.list({ runId });
        const asked = open.find(({ pending }) => pending.call.name === name);
        return asked && other.approvals.decide(asked.approvalId, { decision: 'approve' });
      });
    const [one, ...others] = await Promise.all(readers);
    for (const each of others) expect(each).toEqual(one);
    expect(checkLog(one ?? [])).toEqual([]);
  });

  test('E-810: sees in another process that its run was cut off and goes on', async () => {
    await using rig = openRuntime((_, at) => (at === 0 ? endless('Lo', 'st') : done));
    const other = rig.beside({ config: { name: 'reader' } });
    const { runId } = await rig.runtime.submit('Go.');
    const events = read(other, runId);
    await eventually(async () =>
      (await rig.store.readEvents(runId, { after: 0, limit: 99 })).find(({ type }) => type === 'text-delta'),
    );
    await rig.restart();
    const log = await events;
    const at = log.findIndex(({ type, leg }) => type === 'run-started' && leg === 2);
    expect(log.slice(at, at + 2)).toMatchObject([
      { data: { cause: 'recovery' } },
      { type: 'attempt-reset', data: { reason: 'worker-lost', shown: true } },
    ]);
    expect(log.at(-1)).toMatchObject({ data: { output: 'All is done.' } });
    expect(checkLog(log)).toEqual([]);
  });
});

describe('E-051: a stream', () => {
  test('opened on a run that is over replays and ends; at the end’s cursor it ends at once', async () => {
    await using rig = openRuntime([done]);
    const result = await rig.runtime.run('Go.');
    await rig.restart();
    for (const follow of ['leg', 'run'] as const) {
      const whole = await read(rig.runtime, result.runId, { follow });
      expect(types(whole).at(-1)).toBe('run-result');
      const end = await rig.runtime.events(result.runId, { follow, after: result.cursor ?? '' });
      expect(await collect(end)).toEqual([]);
      expect(await end.result()).toEqual(result);
    }
  });

  test('ends with the leg that parks, also when it comes late and people have spoken since', async () => {
    await using rig = openRuntime(twice, { parts: gated() });
    const { runId, result } = await rig.runtime.submit('Go.');
    const parked = await result();
    const leg = await read(rig.runtime, runId);
    expect(leg.at(-1)).toMatchObject({ type: 'run-result', data: { status: 'awaiting-input' } });
    await rig.runtime.send({ runId }, { content: 'Soon.', messageId: 'm' }, { mode: 'steer' });
    const [second, first] = await rig.runtime.approvals.list({ runId });
    await rig.runtime.approvals.decide(first?.approvalId ?? '', { decision: 'approve' });
    expect(await read(rig.runtime, runId)).toEqual(leg);
    expect(await result()).toEqual(parked);
    expect(await read(rig.runtime, runId, { after: parked.cursor ?? '' })).toEqual([]);
    await rig.restart();
    expect(await (await rig.runtime.handle(runId)).result()).toEqual(parked);
    await rig.runtime.approvals.decide(second?.approvalId ?? '', { decision: 'approve' });
    const next = await read(rig.runtime, runId, { after: parked.cursor ?? '' });
    expect(types(next).slice(0, 4)).toEqual(['user-message', 'approval-decided', 'approval-decided', 'run-started']);
    expect(next.at(-1)).toMatchObject({ data: { status: 'completed' } });
  });

  test('that follows the run goes over parks, and its result is the final one', async () => {
    await using rig = openRuntime(twice, { parts: gated() });
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    const stream = await rig.runtime.events(runId, { follow: 'run' });
    const [events, result] = [collect(stream), stream.result()];
    for (const { approvalId } of await rig.runtime.approvals.list({ runId }))
      await rig.runtime.approvals.decide(approvalId, { decision: 'deny' });
    expect((await events).filter(({ type }) => type === 'run-result')).toHaveLength(2);
    expect((await result).status).toBe('completed');
  });

  test('S1: of a run to be begins it when it is read, under the ids that it names before', async () => {
    await using rig = openRuntime([done]);
    const stream = rig.runtime.runStream('Go.', { sessionId: 'chat' });
    const { runId, sessionId } = stream;
    await expect(rig.runtime.handle(runId)).rejects.toBeInstanceOf(NotFoundError);
    const [first] = await collect(stream);
    expect(first).toMatchObject({ runId, sessionId });
    expect([stream.runId, stream.sessionId, stream.owns]).toEqual([runId, sessionId, false]);
  });

  test('E-037, E-039: of text alone is the text of all turns, and throws where there is no whole answer', async () => {
    const replies = [
      { pieces: [...(simpleText('Look. ').pieces ?? []), ...(simpleCall('a', 'x', {}).pieces ?? [])] },
      done,
    ];
    await using rig = openRuntime(replies);
    const text: string[] = [];
    const reading = (async () => {
      for await (const piece of rig.runtime.streamText('Go.', { limits: { maxToolRounds: 0 } })) text.push(piece);
    })();
    await expect(reading).rejects.toBeInstanceOf(RunLimitReached);
    expect(text.join('')).toBe('Look. ');
  });
});

describe('E-054: a cursor', () => {
  test('is opaque, of one run, and says where it stands', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.nat(), (name, seq) => {
        const runId = runIds.make(name);
        expect(seqOf(cursorOf({ runId, seq }), runId)).toBe(seq);
        expect(() => seqOf(cursorOf({ runId, seq }), runIds.make('other'))).toThrow(CursorError);
      }),
    );
  });

  test('that is none is refused, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => Buffer.from(text).toString('base64url')),
        ),
        (text) => {
          expect(() => seqOf(text, runIds.make('a'))).toThrow(CursorError);
        },
      ),
    );
    const broken = ['resp_a -1', 'resp_a 1.5', 'resp_a 1 2', 'resp_a 99999999999999999', 'resp_a', ' 1', 'resp_a 0x1'];
    for (const text of broken)
      expect(() => seqOf(Buffer.from(text).toString('base64url'), runIds.make('a')), text).toThrow(CursorError);
  });

  test.each([
    ['malformed', () => 'nonsense', 'malformed'],
    ['of another run', () => cursorOf({ runId: runIds.make('other'), seq: 1 }), 'another run'],
    ['ahead of its run', (runId: string) => cursorOf({ runId: runIds.make(runId.slice(5)), seq: 9_999 }), 'ahead'],
  ])('that is %s is refused at once, not waited for', async (_, cursor, why) => {
    await using rig = openRuntime(() => endless('Wor'));
    const { runId } = await rig.runtime.submit('Go.');
    const reading = read(rig.runtime, runId, { after: cursor(runId), follow: 'run' });
    await expect(reading).rejects.toThrow(why);
    await expect(reading).rejects.toBeInstanceOf(CursorError);
  });

  test('E-120, E-942: from every place the rest is the same, and a client that comes back there is not misled', async () => {
    const cut: ScriptedReply = { ...simpleText('No ', 'good.'), fault: { kind: 'cut', after: 1 } };
    const config = { retry: { backoffSeconds: 0.001, maxBackoffSeconds: 0.002 } };
    await using rig = openRuntime([cut, simpleCall('a', 'one', {}), done], { config, parts: gated() });
    const { runId } = await rig.runtime.submit('Go.');
    await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
    await standing(rig.runtime, runId, 'completed');
    const whole = await read(rig.runtime, runId, { follow: 'run' });
    for (const [at, event] of whole.entries()) {
      const rest = await read(rig.runtime, runId, { follow: 'run', after: rig.runtime.cursor(event) });
      expect(rest).toEqual(whole.slice(at + 1));
      const client = createClientModel();
      for (const each of [...whole.slice(0, at + 1), ...rest]) client.push(each);
      expect([client.output, client.breaches]).toEqual(['All is done.', []]);
    }
  });
});

describe('E-125, E-151: a log that retention has been at', () => {
  test('gives one gap before the first hole, then the facts and the result; what it folds to is the same', async () => {
    await using rig = openRuntime([simpleCall('a', 'x', {}), done]);
    const result = await rig.runtime.run('Go.');
    const whole = await read(rig.runtime, result.runId);
    await rig.store.prune({ endedBeforeMs: Number.MAX_SAFE_INTEGER, nowMs: Number.MAX_SAFE_INTEGER });
    const facts = whole.filter(({ type }) => !type.endsWith('-delta'));
    for (const [at, event] of whole.entries()) {
      const rest = await read(rig.runtime, result.runId, { after: rig.runtime.cursor(event) });
      const expected = facts.filter(({ seq }) => seq > event.seq);
      const isWhole = expected.length === whole.length - at - 1;
      expect(rest.filter(({ type }) => type !== 'gap')).toEqual(expected);
      expect(rest.filter(({ type }) => type === 'gap')).toHaveLength(isWhole ? 0 : 1);
    }
    const pruned = await read(rig.runtime, result.runId);
    const at = pruned.findIndex(({ type }) => type === 'gap');
    const from = pruned[at - 1]?.seq ?? 0;
    expect(pruned[at]).toMatchObject({
      seq: from,
      data: { reason: 'events_pruned', from: from + 1, to: whole.length - 1 },
    });
    const client = createClientModel();
    for (const each of pruned) client.push(each);
    expect([client.output, client.breaches]).toEqual([result.output, []]);
    const handle = await rig.runtime.handle(result.runId);
    expect(await handle.result()).toEqual(result);
  });

  test('E-845: comes about by itself, a while after the end, and takes the keys along', async () => {
    await using rig = openRuntime(() => done, { deltaSeconds: 1 });
    const { runId } = await rig.runtime.run('Go.', { requestId: 'one' });
    await eventually(async () => (await rig.store.isPruned(runId)) || undefined);
    expect((await rig.runtime.submit('Go.', { requestId: 'one' })).runId).not.toBe(runId);
  });
});

describe('E-804: a store that is not whole', () => {
  test('of a newer schema is refused at the start', async () => {
    await using rig = openRuntime([]);
    const db = new DatabaseSync(rig.path);
    db.exec("INSERT INTO schema_versions (version, checksum) VALUES (99, '')");
    db.close();
    const agents = [{ parts: { provider: rig.model } }];
    expect(() => createRuntime({ agents, driver: { kind: 'sqlite', path: rig.path } })).toThrow(SchemaError);
  });

  test('E-150, E-151: names the damage once, and gives all the rest', async () => {
    await using rig = openRuntime([simpleCall('a', 'x', {}), done]);
    const { runId } = await rig.runtime.run('Go.');
    const whole = await read(rig.runtime, runId);
    const db = new DatabaseSync(rig.path);
    db.exec(`UPDATE event_batches SET body = '[{' WHERE last_seq >= 5 AND first_seq <= 5`);
    db.close();
    await rig.restart();
    const seen: RunEvent[] = [];
    for await (const event of await rig.runtime.events(runId)) seen.push(event);
    const gaps = seen.filter(({ type }) => type === 'gap');
    expect(gaps).toHaveLength(1);
    expect(gaps[0]?.data).toMatchObject({ reason: 'event_history_unavailable' });
    const sound = seen.filter(({ type }) => type !== 'gap');
    expect(sound.length).toBeLessThan(whole.length);
    expect(sound).toEqual(whole.filter(({ seq }) => sound.some((event) => event.seq === seq)));
    expect(sound.at(-1)).toEqual(whole.at(-1));
    expect((await (await rig.runtime.handle(runId)).result()).output).toBe('All is done.');
  });
});

test('a run that nobody knows is not found, by any verb that names one', async () => {
  await using rig = openRuntime([]);
  const { runtime } = rig;
  const verbs = [
    runtime.handle,
    runtime.events,
    runtime.cancel,
    runtime.pause,
    runtime.resume,
    runtime.retry,
    runtime.compact,
  ];
  for (const verb of [...verbs, runtime.runs.get])
    await expect(verb('resp_nobody')).rejects.toBeInstanceOf(NotFoundError);
  const steered = runtime.send({ runId: 'resp_nobody' }, { content: 'x' }, { mode: 'steer' });
  await expect(steered).rejects.toBeInstanceOf(NotFoundError);
});

test('E-034: two iterations of one stream are two readers, each from the first event', async () => {
  await using rig = openRuntime([done]);
  const stream = rig.runtime.runStream('Go.');
  const first = stream[Symbol.asyncIterator]();
  await until(first, 'text-delta');
  const second = await collect(stream);
  expect(types(second).at(-1)).toBe('run-result');
  await until(first, 'run-result');
});
