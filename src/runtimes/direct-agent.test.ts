import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { defineTool } from '../engine/define-tool.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import { collect, endless, scriptedAgent, unhandledIn, until } from '../../test/support/agents.ts';
import type { ModelRequest } from '../engine/model.ts';
import type { PendingTool } from '../core/run-event.ts';

const noInput = { type: 'object', properties: {} } as const;
const asking = (run: () => unknown = () => 'Ran.') =>
  defineTool({ name: 'tool', description: 'A tool.', input: noInput, permission: 'ask', run });
const park = { approvals: { direct: 'park' } } as const;
const textOf = ({ prompt }: ModelRequest) => JSON.stringify(prompt);

describe('E-022: a failed run is data', () => {
  test('run() resolves with it, and nothing is unhandled', async () => {
    await using rig = scriptedAgent([{ fault: { kind: 'status', status: 401 } }]);
    const unhandled = await unhandledIn(async () => {
      const result = await rig.agent.run('Hi');
      expect(result).toMatchObject({ status: 'failed', failed: true, error: { type: 'AuthenticationError' } });
    });
    expect(unhandled).toEqual([]);
  });

  test('requestId and metadata are kept with the run', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    const stream = rig.agent.runStream('Hi', { requestId: 'r1', metadata: { user: 7 } });
    const [started] = await collect(stream);
    expect(started).toMatchObject({ type: 'run-started', data: { requestId: 'r1', metadata: { user: 7 } } });
    expect((await stream.result()).requestId).toBe('r1');
  });
});

describe('E-023: one run at a time in a session', () => {
  test('the second call is refused before anything is awaited; other sessions work in parallel', async () => {
    await using rig = scriptedAgent((_, index) => (index === 0 ? endless('…') : simpleText('Hello')));
    const { agent } = rig;
    const stop = new AbortController();
    const first = agent.run('wait', { sessionId: 'one', signal: stop.signal });
    const second = agent.run('now', { sessionId: 'one' });
    const others = Promise.all([agent.run('now', { sessionId: 'two' }), agent.run('now'), agent.run('now')]);
    await expect(second).rejects.toMatchObject({ type: 'SessionBusyError', runId: expect.any(String) });
    expect((await others).map(({ ok }) => ok)).toEqual([true, true, true]);
    expect([agent.busy(), agent.busy('one'), agent.busy('two')]).toEqual([true, true, false]);
    stop.abort();
    expect((await first).status).toBe('cancelled');
    expect((await agent.run('now', { sessionId: 'one' })).ok).toBe(true);
  });

  test('a stream that is not read yet claims nothing', async () => {
    await using rig = scriptedAgent(() => simpleText('Hello'));
    const [early, late] = [1, 2].map(() => rig.agent.runStream('Hi', { sessionId: 's' }));
    const lateResult = await late?.result();
    expect([lateResult?.ok, (await early?.result())?.ok]).toEqual([true, true]);
  });

  test('a run that was refused frees its session', async () => {
    await using rig = scriptedAgent(() => simpleText('Hello'));
    await expect(rig.agent.run([], { sessionId: 's' })).rejects.toMatchObject({ type: 'ConfigurationError' });
    expect((await rig.agent.run('Hi', { sessionId: 's' })).ok).toBe(true);
  });
});

describe('a session', () => {
  test('goes on with its conversation, by its name and by its id', async () => {
    await using rig = scriptedAgent((_, index) => simpleText(`Answer ${index}.`));
    const first = await rig.agent.run('My name is Ada.', { sessionId: 'ada' });
    const second = await rig.agent.run('And yours?', { sessionId: first.sessionId });
    const unnamed = await rig.agent.run('Hello.');
    const third = await rig.agent.run('Again.', { sessionId: unnamed.sessionId });
    expect([second.sessionId, third.sessionId]).toEqual([first.sessionId, unnamed.sessionId]);
    expect(textOf(rig.model.calls[1] ?? { prompt: [] })).toMatch(/Ada[^]*Answer 0[^]*And yours/);
    expect(textOf(rig.model.calls[3] ?? { prompt: [] })).toMatch(/Hello[^]*Answer 2[^]*Again/);
    expect(textOf(rig.model.calls[2] ?? { prompt: [] })).not.toContain('Ada');
  });

  test('keeps what a cancelled run has said and done, and its task list', async () => {
    const todos = [{ content: 'Dig', status: 'in_progress' }];
    await using rig = scriptedAgent(
      [simpleCall('c', 'write_todos', { todos }), endless('Half'), simpleText('On with it.')],
      { config: { planning: true, limits: { maxSteps: 3, finalAnswerOnLimit: false } } },
    );
    const stream = rig.agent.runStream('Dig a hole', { sessionId: 's' });
    for await (const event of stream) if (event.type === 'text-delta') break;
    expect((await stream.result()).todos).toEqual(todos);
    const events = await collect(rig.agent.runStream('Go on', { sessionId: 's' }));
    expect(checkLog(events)).toEqual([]);
    expect(textOf(rig.model.calls[2] ?? { prompt: [] })).toMatch(/Dig a hole[^]*Go on/);
  });

  test('an id that is not here is refused: it would go on with nothing', async () => {
    await using rig = scriptedAgent([]);
    await expect(rig.agent.run('Hi', { sessionId: 'hsess0' })).rejects.toMatchObject({ type: 'RuntimeStateError' });
  });
});

describe('E-522: a call that needs an approval', () => {
  const rows: readonly [string, () => boolean | Promise<boolean>, boolean][] = [
    ['allowed by true alone', async () => true, false],
    ['denied by false', () => false, true],
    ['denied by anything else', () => JSON.parse('1') as boolean, true],
    ['denied by a callback that fails', () => Promise.reject(new Error('No.')), true],
  ];
  test.each(rows)('%s', async (_, onApproval, isError) => {
    await using rig = scriptedAgent([simpleCall('c', 'tool', {}), simpleText('Done.')], { tools: [asking()] });
    const asked: PendingTool[] = [];
    const note = (pending: PendingTool) => {
      asked.push(pending);
      return onApproval();
    };
    const events = await collect(rig.agent.runStream('Go', { onApproval: note }));
    expect(events.find(({ type }) => type === 'tool-result')?.data).toMatchObject({ isError });
    expect(asked).toMatchObject([{ kind: 'approval', call: { name: 'tool', input: {} } }]);
    expect(events.some(({ type }) => type === 'approval-required')).toBe(false);
  });

  test('denied where nobody can be asked', async () => {
    await using rig = scriptedAgent([simpleCall('c', 'tool', {}), simpleText('Done.')], { tools: [asking()] });
    const events = await collect(rig.agent.runStream('Go'));
    expect(events.find(({ type }) => type === 'tool-result')?.data).toMatchObject({
      isError: true,
      content: expect.stringContaining('nobody can give one'),
    });
  });

  test('a cancel does not wait for a callback that thinks', async () => {
    await using rig = scriptedAgent([simpleCall('c', 'tool', {})], { tools: [asking()] });
    const stop = new AbortController();
    const onApproval = () => {
      stop.abort();
      return new Promise<boolean>(() => {});
    };
    expect((await rig.agent.run('Go', { signal: stop.signal, onApproval })).status).toBe('cancelled');
  });
});

describe('E-522, B085: a run that is parked', () => {
  const parked = async () => {
    let ran = 0;
    const run = () => `Run ${++ran}.`;
    const rig = scriptedAgent((_, index) => (index === 0 ? simpleCall('c', 'tool', {}) : simpleText('Done.')), {
      tools: [asking(run)],
      config: park,
    });
    const stream = rig.agent.runStream('Go', { sessionId: 's' });
    await collect(stream);
    return { ...rig, stream, runId: stream.runId, ran: () => ran, [Symbol.asyncDispose]: () => rig.agent.close() };
  };

  const neverSays = { onApproval: () => new Promise<boolean>(() => {}) };

  test('E-032, B097: is over at once when it is cancelled, or its stream is left, while a person is asked', async () => {
    for (const way of ['cancel', 'leave', 'dispose'] as const) {
      await using rig = await parked();
      const stream = rig.agent.resume(rig.runId, neverSays);
      const events = stream[Symbol.asyncIterator]();
      const first = events.next();
      await new Promise((resolve) => setImmediate(resolve));
      if (way === 'cancel') await stream.cancel();
      else if (way === 'leave') await events.return?.();
      else await stream[Symbol.asyncDispose]();
      await first;
      expect([(await stream.result()).status, rig.agent.busy(), rig.ran()]).toEqual(['cancelled', false, 0]);
    }
  });

  test('E-040: is over when the signal that it was started with aborts', async () => {
    await using rig = scriptedAgent([simpleCall('c', 'tool', {})], { tools: [asking()], config: park });
    const stop = new AbortController();
    const { status, runId } = await rig.agent.run('Go', { signal: stop.signal });
    expect([status, rig.agent.busy()]).toEqual(['awaiting-input', true]);
    stop.abort();
    await expect.poll(() => rig.agent.busy()).toBe(false);
    expect(() => rig.agent.resume(runId)).toThrow(RuntimeStateError);
  });

  test('is decided by what the callback says and by nothing else, and goes on where it was', async () => {
    await using rig = await parked();
    const { agent, runId } = rig;
    await expect(agent.run('More', { sessionId: 's' })).rejects.toMatchObject({ type: 'SessionBusyError' });
    const undecided = await agent.resume(runId).result();
    expect([undecided.status, undecided.pending.length, rig.ran(), rig.model.calls.length]).toEqual([
      'awaiting-input',
      1,
      0,
      1,
    ]);
    const events = await collect(agent.resume(runId, { onApproval: () => true }));
    expect(events.map(({ type }) => type).slice(0, 2)).toEqual(['approval-decided', 'run-started']);
    expect(events.at(-1)).toMatchObject({ data: { status: 'completed', output: 'Done.' } });
    expect([rig.ran(), rig.model.calls.length, agent.busy('s')]).toEqual([1, 2, false]);
    expect(() => agent.resume(runId)).toThrow(/parked/);
  });

  test('a log of many legs is a valid log, and each stream shows its own leg', async () => {
    await using rig = await parked();
    const second = rig.agent.resume(rig.runId);
    await second.result();
    const third = rig.agent.resume(rig.runId, { onApproval: () => false });
    const legs = [await collect(third), await collect(second), await collect(rig.stream)].toReversed();
    expect(checkLog(legs.flat())).toEqual([]);
    expect(legs.map((leg) => new Set(leg.map((event) => event.leg)).size)).toEqual([1, 1, 2]);
  });

  test('is resumed once: the other resume is refused', async () => {
    await using rig = await parked();
    const [one, two] = [1, 2].map(() => rig.agent.resume(rig.runId, { onApproval: async () => true }));
    await Promise.all([
      expect(one?.result()).resolves.toMatchObject({ status: 'completed' }),
      expect(two?.result()).rejects.toMatchObject({ type: 'RuntimeStateError' }),
    ]);
    expect(rig.ran()).toBe(1);
  });

  test('is cancelled by cancel(), by an aborted resume, and by close(); its questions are closed as cancelled', async () => {
    const cancels = [
      async (rig: Awaited<ReturnType<typeof parked>>) => void (await rig.stream.cancel()),
      async (rig: Awaited<ReturnType<typeof parked>>) =>
        void (await rig.agent.resume(rig.runId, { signal: AbortSignal.abort(), onApproval: () => true }).result()),
      async (rig: Awaited<ReturnType<typeof parked>>) => rig.agent.close(),
    ];
    for (const cancel of cancels) {
      await using rig = await parked();
      await cancel(rig);
      expect([rig.agent.busy(), rig.ran()]).toEqual([false, 0]);
    }
  });

  test('E-606: time that passes while it waits is not its own', async () => {
    const clock = createManualClock();
    const rig = scriptedAgent([simpleCall('c', 'tool', {}), simpleText('Done.')], {
      clock,
      tools: [asking()],
      config: { ...park, limits: { maxSeconds: 60 } },
    });
    const { runId } = await rig.agent.run('Go');
    await clock.advance(3_600_000);
    const result = rig.agent.resume(runId, { onApproval: () => true }).result();
    await clock.advance(1);
    expect((await result).status).toBe('completed');
  });

  test('E-541: a call with an unknown outcome is run again on a yes, and given up on a no', async () => {
    for (const yes of [true, false]) {
      const clock = createManualClock();
      let runs = 0;
      const slow = defineTool({
        name: 'slow',
        description: 'Slow.',
        input: noInput,
        timeoutSeconds: 1,
        run: (_input, { signal }) =>
          (runs += 1) > 1 ? 'Ran.' : new Promise((resolve) => signal.addEventListener('abort', () => resolve('Cut.'))),
      });
      const { agent } = scriptedAgent([simpleCall('c', 'slow', {}), simpleText('Done.')], {
        clock,
        tools: [slow],
        config: park,
      });
      const first = agent.run('Go');
      await clock.advance(1_000);
      expect(await first).toMatchObject({ status: 'awaiting-input', pending: [{ kind: 'recovery' }] });
      const last = agent.resume((await first).runId, { onApproval: () => yes }).result();
      await clock.advance(1);
      expect([(await last).status, runs]).toEqual(['completed', yes ? 2 : 1]);
    }
  });
});

describe('E-024: close()', () => {
  test('cancels what runs, is idempotent, and refuses what comes after', async () => {
    const { agent } = scriptedAgent(() => endless('…'));
    const streams = [agent.runStream('One'), agent.runStream('Two')];
    for (const stream of streams) await until(stream[Symbol.asyncIterator](), 'text-delta');
    await Promise.all([agent.close(), agent.close()]);
    expect(await Promise.all(streams.map(async (stream) => (await stream.result()).status))).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(agent.closed).toBe(true);
    await expect(agent.run('More')).rejects.toMatchObject({ type: 'RuntimeStateError' });
  });

  test('a run that is about to begin is cancelled before its first model call', async () => {
    const { agent, model } = scriptedAgent(() => endless('…'));
    const result = agent.run('One');
    await agent.close();
    expect([(await result).status, model.calls.length]).toEqual(['cancelled', 0]);
  });
});
