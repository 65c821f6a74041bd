// Pause, resume, compaction, the end of a process: what becomes of runs that are at work (E 13.3, 13.4).

import { checkLog } from '../testing/check-log.ts';
import { collect, endless, unhandledIn } from '../../test/support/agents.ts';
import { ConfigurationError, RuntimeStateError } from '../core/errors.ts';
import {
  counted,
  eventually,
  held,
  heldModel,
  logOf,
  ofType,
  openRuntime,
  standing,
  theOpen,
} from '../../test/support/runtimes.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { describe, expect, test } from 'vitest';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';

const done = simpleText('Done ', 'so far.');

describe('E-819: a pause', () => {
  test('in a tool lets it end; resumed, nothing is repeated', async () => {
    const { tool, begun, open } = held('work');
    const second = counted('more', { concurrent: false });
    const replies = [simpleCalls(['a', 'work', {}], ['b', 'more', {}]), done];
    await using rig = openRuntime(replies, { parts: { tools: [{ ...tool, concurrent: false }, second] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await begun;
    await rig.runtime.pause(runId);
    open();
    expect(await result()).toMatchObject({ status: 'paused', stopReason: null });
    expect([tool.runs(), second.runs()]).toEqual([1, 0]);
    await rig.restart();
    await new Promise((resolve) => setTimeout(resolve, 120)); // Two scans: nobody but a person resumes it.
    const handle = await rig.runtime.resume(runId);
    expect(await handle?.result()).toMatchObject({ status: 'completed' });
    expect([tool.runs(), second.runs(), rig.model.calls.length]).toEqual([1, 1, 2]);
    const log = await logOf(rig.runtime, runId);
    expect([ofType(log, 'run-started').map(({ data }) => data), checkLog(log)]).toMatchObject([
      [{ cause: 'submit' }, { cause: 'resume' }],
      [],
    ]);
  });

  test('while the model answers lets it end', async () => {
    const model = heldModel(createScriptedModel([simpleText('Let ', 'me see.')]));
    const tool = counted('x');
    await using rig = openRuntime([], { parts: { provider: model.model, tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await model.begun;
    await rig.runtime.pause(runId);
    model.open();
    expect((await result()).status).toBe('paused');
    expect(await (await rig.runtime.resume(runId))?.result()).toMatchObject({ output: 'Let me see.', attempts: 1 });
  });

  test('E-216: in a wait before another attempt ends the wait', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '59' } } };
    await using rig = openRuntime([busy, done]);
    const { runId, result } = await rig.runtime.submit('Go.');
    await eventually(
      async () => ofType(await rig.store.readEvents(runId, { after: 0, limit: 99 }), 'attempt-reset')[0],
    );
    await rig.runtime.pause(runId);
    expect((await result()).status).toBe('paused');
    const handle = await rig.runtime.resume(runId);
    expect(await handle?.result()).toMatchObject({ status: 'completed', attempts: 2 });
    expect(checkLog(await logOf(rig.runtime, runId))).toEqual([]);
  });

  test('while a person is waited for holds behind the decision, until it is resumed', async () => {
    const tool = counted('risky', { permission: 'ask' });
    await using rig = openRuntime([simpleCall('a', 'risky', {}), done], { parts: { tools: [tool] } });
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    await rig.runtime.pause(runId);
    await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(tool.runs()).toBe(0);
    expect(await (await rig.runtime.resume(runId))?.result()).toMatchObject({ status: 'completed' });
    expect(tool.runs()).toBe(1);
  });

  test('in whatever moment of a run: it is paused and goes on, or had ended, and no call is repeated', async () => {
    for (let round = 0; round < 16; round++) {
      const tool = counted('work');
      await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
      const { runId, result } = await rig.runtime.submit('Go.');
      for (let turn = 0; turn < round * 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      await rig.runtime.pause(runId);
      if ((await result()).status === 'paused') await (await rig.runtime.resume(runId))?.result();
      await standing(rig.runtime, runId, 'completed');
      const log = await logOf(rig.runtime, runId);
      expect([tool.runs(), rig.model.calls.length, checkLog(log)]).toEqual([1, 2, []]);
    }
  });

  test('E-812: through another process is heard by the one that has the run', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const other = rig.beside();
    const { runId } = await rig.runtime.submit('Go.');
    await begun;
    await other.pause(runId);
    await new Promise((resolve) => setTimeout(resolve, 120));
    open();
    await standing(other, runId, 'paused');
    expect(await (await other.resume(runId))?.result()).toMatchObject({ status: 'completed' });
  });
});

describe('E-053: resume', () => {
  test('of a run that is at work, waits for a person, or is over changes nothing', async () => {
    const tool = counted('risky', { permission: 'ask' });
    await using rig = openRuntime([simpleCall('a', 'risky', {}), done, endless('Wor')], { parts: { tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    expect(await rig.runtime.resume(runId)).toBeNull();
    await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
    await result();
    const before = await logOf(rig.runtime, runId);
    expect(await rig.runtime.resume(runId)).toBeNull();
    expect(await logOf(rig.runtime, runId)).toEqual(before);
    expect(await rig.runtime.resume((await rig.runtime.submit('Go.')).runId)).toBeNull();
  });

  test('of a hundred at once one goes on', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const other = rig.beside();
    const { runId, result } = await rig.runtime.submit('Go.');
    await begun;
    await rig.runtime.pause(runId);
    open();
    await result();
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? rig.runtime : other).resume(runId)),
    );
    expect(all.filter((handle) => handle !== null)).toHaveLength(1);
    await standing(rig.runtime, runId, 'completed');
    expect(rig.model.calls).toHaveLength(2);
  });

  test.each([
    ['another configuration', { systemPrompt: 'Changed.' }],
    ['another version', { version: '2' }],
    ['another name', { name: 'other' }],
  ])('with %s is refused, and the run is left as it is', async (_, change) => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await begun;
    await rig.runtime.pause(runId);
    open();
    await result();
    await rig.restart({ config: change });
    await expect(rig.runtime.resume(runId)).rejects.toBeInstanceOf(ConfigurationError);
    expect(await (await rig.runtime.handle(runId)).status()).toBe('paused');
    await rig.restart();
    expect(await (await rig.runtime.resume(runId))?.result()).toMatchObject({ status: 'completed' });
  });
});

describe('E-833: a run whose agent is not here', () => {
  const cutOff = async (agentWaitSeconds?: number) => {
    const rig = openRuntime(
      (_, at) => (at === 0 ? endless('Wor', 'king') : done),
      agentWaitSeconds === undefined ? {} : { agentWaitSeconds },
    );
    const { runId } = await rig.runtime.submit('Go.');
    await eventually(() => rig.model.calls.length > 0 || undefined);
    await rig.restart({ config: { systemPrompt: 'Changed.' } });
    return { rig, runId };
  };

  test('waits for who has it', async () => {
    const { rig, runId } = await cutOff();
    await using _rig = rig;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await (await rig.runtime.handle(runId)).status()).toBe('running');
    rig.beside();
    await standing(rig.runtime, runId, 'completed');
  });

  test('or fails when nobody came for so long', async () => {
    const { rig, runId } = await cutOff(2);
    await using _rig = rig;
    await standing(rig.runtime, runId, 'failed');
    expect((await (await rig.runtime.handle(runId)).result()).error).toMatchObject({ type: 'AgentUnavailableError' });
  });

  test('can be cancelled all the same', async () => {
    const { rig, runId } = await cutOff();
    await using _rig = rig;
    await rig.runtime.cancel(runId);
    await standing(rig.runtime, runId, 'cancelled');
  });
});

describe('E-440: a compaction that is asked for', () => {
  test('is made before the next step, as it was asked', async () => {
    const { tool, begun, open } = held('work');
    const history = simpleText('A long story. '.repeat(200));
    const replies = [history, simpleCall('a', 'work', {}), simpleText('In short: a story.'), done];
    await using rig = openRuntime(replies, { parts: { tools: [tool] } });
    await rig.runtime.run('Tell me. '.repeat(200), { sessionId: 'chat' });
    const { runId, result } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    await begun;
    await rig.runtime.compact(runId, { instructions: 'Keep the names.' });
    open();
    expect((await result()).ok).toBe(true);
    const log = await logOf(rig.runtime, runId);
    expect(ofType(log, 'compacted').map(({ data }) => data)).toMatchObject([{ trigger: 'manual', method: 'summary' }]);
    expect(JSON.stringify(rig.model.calls[2]?.prompt)).toContain('Keep the names.');
    expect(JSON.stringify(rig.model.calls[3]?.prompt)).toContain('In short: a story.');
    expect(checkLog(log)).toEqual([]);
  });

  test('of a run that is not at work here is refused', async () => {
    await using rig = openRuntime([done]);
    const { runId } = await rig.runtime.run('Go.');
    await expect(rig.runtime.compact(runId)).rejects.toBeInstanceOf(RuntimeStateError);
  });
});

describe('E-834: close', () => {
  test('lets what runs end for a while', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const { runId } = await rig.runtime.submit('Go.');
    await begun;
    const closing = rig.runtime.close();
    open();
    await closing;
    expect(await rig.store.run(runId)).toMatchObject({ status: 'completed' });
  });

  test('then leaves it, without an owner, to the next start; a manual call that it cuts off is not repeated', async () => {
    const [manual, safe] = [held('pay'), held('look', { replay: 'safe' })];
    const replies = [simpleCalls(['a', 'pay', {}], ['b', 'look', {}]), done];
    await using rig = openRuntime(replies, { parts: { tools: [manual.tool, safe.tool] } });
    const { runId } = await rig.runtime.submit('Go.');
    await Promise.all([manual.begun, safe.begun]);
    await rig.runtime.close({ drainMs: 20 });
    expect(await rig.store.run(runId)).toMatchObject({ status: 'running', owner: null, control: 'none' });
    safe.open();
    await rig.restart();
    const { pending } = await theOpen(rig.runtime);
    expect([pending.kind, pending.call.name]).toEqual(['recovery', 'pay']);
    await rig.runtime.recovery.resolve(pending.executionKey, { result: { content: 'Paid.' } });
    await standing(rig.runtime, runId, 'completed');
    expect([manual.tool.runs(), safe.tool.runs()]).toEqual([1, 2]);
    expect(checkLog(await logOf(rig.runtime, runId))).toEqual([]);
  });

  test('once is enough, and everything after it is refused: verbs, handles and streams', async () => {
    await using rig = openRuntime([endless('Wor', 'king')]);
    const { runtime } = rig;
    const handle = await runtime.submit('Go.');
    const lazy = runtime.runStream('Go.');
    await Promise.all([runtime.close({ drainMs: 0 }), runtime.close()]);
    expect(runtime.closed).toBe(true);
    const { runId } = handle;
    const late: readonly (() => unknown)[] = [
      () => runtime.run('Go.'),
      () => runtime.runStream('Go.'),
      () => runtime.streamText('Go.'),
      () => runtime.submit('Go.'),
      () => runtime.handle(runId),
      () => runtime.events(runId),
      () => runtime.resume(runId),
      () => runtime.retry(runId),
      () => runtime.pause(runId),
      () => runtime.cancel(runId),
      () => runtime.compact(runId),
      () => runtime.send({ runId }, { content: 'x' }, { mode: 'steer' }),
      () => runtime.queue.list('chat'),
      () => runtime.queue.remove('chat', 'm'),
      () => runtime.queue.resume('chat'),
      () => runtime.approvals.list(),
      () => runtime.approvals.get('apr_x'),
      () => runtime.approvals.decide('apr_x', { decision: 'deny' }),
      () => runtime.approvals.answer('apr_x', 'declined'),
      () => runtime.rules.list(),
      () => runtime.rules.revoke('rule_x'),
      () => runtime.recovery.list(),
      () => runtime.recovery.resolve('x', 'abort'),
      () => runtime.runs.get(runId),
      () => runtime.runs.list({ sessionId: 'chat' }),
      () => lazy.result(),
      () => collect(lazy),
      () => handle.result(),
      () => handle.status(),
      () => collect(handle.stream()),
      () => handle.stream().cancel(),
    ];
    for (const verb of late)
      await expect((async () => verb())(), verb.toString()).rejects.toThrow(
        new RuntimeStateError('This runtime is closed.'),
      );
  });

  test('ends what is waited for, and leaves no rejection unheard', async () => {
    const unheard = await unhandledIn(async () => {
      await using rig = openRuntime([endless('Wor', 'king')]);
      const { result, stream, runId } = await rig.runtime.submit('Go.');
      const [waited, seen] = [result(), collect(stream())];
      const children = collect(stream({ children: true, follow: 'run' }));
      await eventually(() => rig.model.calls.length > 0 || undefined);
      await rig.runtime.close({ drainMs: 0 });
      for (const each of [waited, seen, children]) await expect(each).rejects.toBeInstanceOf(RuntimeStateError);
      expect(await rig.store.run(runId)).toMatchObject({ status: 'running', owner: null });
    });
    expect(unheard).toEqual([]);
  });

  test('of two processes at once leaves each run to who is there, or to the next start', async () => {
    await using rig = openRuntime((_, at) => (at < 2 ? endless('Wor', 'king') : done));
    const other = rig.beside();
    const runs = [await rig.runtime.submit('One.'), await other.submit('Two.')];
    await eventually(() => rig.model.calls.length === 2 || undefined);
    await Promise.all([rig.runtime.close({ drainMs: 0 }), other.close({ drainMs: 0 })]);
    for (const { runId } of runs) expect(await rig.store.run(runId)).toMatchObject({ status: 'running', owner: null });
    expect(await rig.store.owners()).toEqual([]);
    await rig.restart();
    for (const { runId } of runs) await standing(rig.runtime, runId, 'completed');
  });
});

test('E-815: a parked run that shall end is none that waits, whoever is yet to end it', async () => {
  const tool = counted('risky', { permission: 'ask' });
  await using rig = openRuntime([simpleCall('a', 'risky', {}), done], { parts: { tools: [tool] } });
  const handle = await rig.runtime.submit('Go.');
  await standing(rig.runtime, handle.runId, 'awaiting-input');
  await rig.store.requestCancel(handle.runId);
  expect(await handle.status()).not.toBe('awaiting-input');
  expect((await handle.result()).status).toBe('cancelled');
});
