import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { defineTool } from '../engine/define-tool.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { collect, endless, scriptedAgent, unhandledIn, until } from '../../test/support/agents.ts';
import type { RunEvent } from '../core/run-event.ts';

const tick = () => new Promise((resolve) => setImmediate(resolve));
const noInput = { type: 'object', properties: {} } as const;

describe('E-030: nothing starts before it is read', () => {
  test('an unread stream, its text and an iterator that was never asked call no model', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    const stream = rig.agent.runStream('Hi');
    const { agent } = rig;
    void [stream.text(), agent.streamText('Hi'), stream[Symbol.asyncIterator]()];
    await tick();
    expect([rig.model.calls.length, agent.busy()]).toEqual([0, false]);
  });

  test('result() starts it, and it goes on without a reader', async () => {
    await using rig = scriptedAgent([simpleCall('c', 'tool', {}), simpleText('Done.')], {
      tools: [defineTool({ name: 'tool', description: 'A tool.', input: noInput, run: () => 'ok' })],
    });
    const stream = rig.agent.runStream('Hi');
    expect(await stream.result()).toMatchObject({ status: 'completed', output: 'Done.', steps: 2 });
    expect(stream.result()).toBe(stream.result());
  });

  test('a stream that was never begun is disposed of without a run', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    {
      await using stream = rig.agent.runStream('Hi');
      await stream[Symbol.asyncIterator]().return?.();
    }
    expect(rig.model.calls).toHaveLength(0);
  });
});

test('E-021, E-031, E-034: slow, second and late readers see the same events, and the last one holds the result', async () => {
  const replies = [{ pieces: [{ kind: 'text' as const, chunks: Array.from({ length: 300 }, (_, n) => `${n} `) }] }];
  await using rig = scriptedAgent(replies);
  const stream = rig.agent.runStream('Count');
  const slow = [];
  for await (const event of stream) {
    slow.push(event);
    if (slow.length % 50 === 0) await tick();
  }
  expect(checkLog(slow)).toEqual([]);
  expect(await collect(stream)).toEqual(slow);
  const { cursor, ...data } = await stream.result();
  expect([slow.at(-1)?.data, cursor]).toEqual([data, null]);
});

describe('E-032, E-033: leaving the first iteration cancels the run', () => {
  test.each(['break', 'return', 'throw'] as const)('by %s', async (how) => {
    await using rig = scriptedAgent([endless('One ', 'two ')]);
    const stream = rig.agent.runStream('Count');
    const leave = async () => {
      for await (const event of stream) {
        if (event.type !== 'text-delta') continue;
        if (how === 'return') return;
        if (how === 'throw') throw new Error('Enough.');
        break;
      }
    };
    await leave().catch(() => {});
    expect(rig.model.calls[0]?.abortSignal?.aborted).toBe(true);
    expect(rig.agent.busy()).toBe(false);
    expect(await stream.result()).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', output: '' });
    expect((await stream.result()).partialOutput).toMatch(/^One/);
    expect(checkLog(await collect(stream))).toEqual([]);
  });

  test('by disposing of a stream that only its result was asked of', async () => {
    await using rig = scriptedAgent([endless('One')]);
    let stream;
    {
      await using own = rig.agent.runStream('Count');
      stream = own;
      void own.result();
      await tick();
    }
    expect(await stream.result()).toMatchObject({ status: 'cancelled' });
  });

  test('B093: a second iteration only watches: leaving it stops nothing', async () => {
    await using rig = scriptedAgent([simpleText('One', ' two')]);
    const stream = rig.agent.runStream('Count');
    const owner = stream[Symbol.asyncIterator]();
    await owner.next();
    for await (const event of stream) if (event.type === 'text-delta') break;
    expect(await stream.result()).toMatchObject({ status: 'completed', output: 'One two' });
  });

  test('a tool that does not stop holds the reader up for 5 s at most', async () => {
    const clock = createManualClock();
    const deaf = defineTool({
      name: 'deaf',
      description: 'Never ends.',
      input: noInput,
      run: () => new Promise(() => {}),
    });
    const { agent } = scriptedAgent([simpleCall('c', 'deaf', {})], {
      clock,
      tools: [deaf],
      config: { tools: { abandonAfterSeconds: 60 } },
    });
    const stream = agent.runStream('Go');
    const events = stream[Symbol.asyncIterator]();
    await until(events, 'tool-dispatched');
    let left = false;
    const leaving = events.return?.().then(() => (left = true));
    await clock.advance(4_999);
    expect(left).toBe(false);
    await clock.advance(1);
    await leaving;
    await clock.advance(60_000);
    expect(await stream.result()).toMatchObject({
      status: 'cancelled',
      unstopped: expect.arrayContaining([expect.stringMatching(/abandoned/)]),
    });
  });
});

describe('E-040: an aborted signal is a cancel', () => {
  test('aborted before: no model is called', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    const result = await rig.agent.run('Hi', { signal: AbortSignal.abort() });
    expect([result.status, rig.model.calls.length]).toEqual(['cancelled', 0]);
  });

  test('aborted after the end: nothing changes', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    const stop = new AbortController();
    const stream = rig.agent.runStream('Hi', { signal: stop.signal });
    expect((await stream.result()).status).toBe('completed');
    stop.abort();
    expect((await collect(stream)).at(-1)?.data).toMatchObject({ status: 'completed' });
  });

  test('E-041, B102: aborted while the reader waits in next(), the iteration ends in order', async () => {
    await using rig = scriptedAgent([endless('One')]);
    const stop = new AbortController();
    const unhandled = await unhandledIn(async () => {
      const stream = rig.agent.runStream('Count', { signal: stop.signal });
      const events = stream[Symbol.asyncIterator]();
      await until(events, 'text-delta');
      const rest = collect({ [Symbol.asyncIterator]: () => events });
      stop.abort();
      expect((await rest).at(-1)).toMatchObject({ type: 'run-result', data: { status: 'cancelled' } });
      expect(await events.next()).toMatchObject({ done: true });
    });
    expect(unhandled).toEqual([]);
  });
});

describe('E-041, B102: a reader that goes while next() is pending', () => {
  test('return() stops the run at once, and next() ends', async () => {
    await using rig = scriptedAgent([endless('One')]);
    const stream = rig.agent.runStream('Count');
    const events = stream[Symbol.asyncIterator]();
    await until(events, 'text-delta');
    const pending = events.next();
    await events.return?.();
    await pending;
    expect(await events.next()).toMatchObject({ done: true });
    expect((await stream.result()).status).toBe('cancelled');
  });

  test.each(['events', 'text'] as const)(
    'a web stream over the %s is cancelled without a locked stream',
    async (what) => {
      await using rig = scriptedAgent([endless('One')]);
      const unhandled = await unhandledIn(async () => {
        const stream = rig.agent.runStream('Count');
        const [first, second] = ReadableStream.from<unknown>(what === 'text' ? stream.text() : stream).tee();
        const [reader, other] = [first.getReader(), second.getReader()];
        await reader.read();
        const reading = Promise.all([other.read(), reader.read()]);
        await Promise.all([reader.cancel(), other.cancel()]);
        await reading;
        expect((await stream.result()).status).toBe('cancelled');
      });
      expect(unhandled).toEqual([]);
    },
  );
});

test('E-022: a run that cannot begin rejects result() and the iteration, and is no unhandled rejection', async () => {
  await using rig = scriptedAgent([simpleText('Hello')]);
  const unhandled = await unhandledIn(async () => {
    const stream = rig.agent.runStream('Hi', { limits: { maxSteps: -1 } });
    await expect(collect(stream)).rejects.toMatchObject({ type: 'ConfigurationError' });
    await stream[Symbol.asyncDispose]();
    await expect(stream.result()).rejects.toThrow(/maxSteps/);
  });
  expect([unhandled, rig.agent.busy()]).toEqual([[], false]);
});

test('E-051: leaving, disposing or finishing a leg that waits for a person leaves the run parked', async () => {
  await using rig = scriptedAgent(() => simpleCall('c', 'tool', {}), {
    tools: [defineTool({ name: 'tool', description: 'A tool.', input: noInput, permission: 'ask', run: () => 'ok' })],
    config: { approvals: { direct: 'park' } },
  });
  const stream = rig.agent.runStream('Go');
  for await (const event of stream) if (event.type === 'run-result') break;
  await stream[Symbol.asyncDispose]();
  expect([(await stream.result()).status, rig.agent.busy()]).toEqual(['awaiting-input', true]);
  await stream.cancel();
  expect(rig.agent.busy()).toBe(false);
  const last = (await collect(stream)).at(-1);
  expect(last).toMatchObject({ type: 'run-result', data: { status: 'awaiting-input' } });
});

describe('B097: a cancel in any phase', () => {
  const stall = { kind: 'stall', after: 1 } as const;
  const hang = defineTool({
    name: 'hang',
    description: 'Waits.',
    input: noInput,
    run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('Stopped.'))),
  });
  const phases: readonly (readonly [string, ScriptedReply, (event: RunEvent) => boolean])[] = [
    ['before the first byte', { fault: { kind: 'stall', after: 'nothing' } }, ({ type }) => type === 'step-started'],
    [
      'in its reasoning',
      { pieces: [{ kind: 'thinking', chunks: ['Hm'] }], fault: stall },
      ({ type }) => type === 'thinking-delta',
    ],
    ['in its answer', endless('One'), ({ type }) => type === 'text-delta'],
    [
      'in a call that is being written',
      { ...simpleCall('c', 'hang', {}), fault: stall },
      ({ type }) => type === 'tool-call-delta',
    ],
    ['in a tool', simpleCall('c', 'hang', {}), ({ type }) => type === 'tool-dispatched'],
    ['between two attempts', { fault: { kind: 'status', status: 503 } }, ({ type }) => type === 'attempt-reset'],
  ];
  test.each(phases)(
    '%s: stream, result and a later reader all say cancelled, and the session goes on',
    async (_, reply, at) => {
      await using rig = scriptedAgent(
        ({ prompt }) => (JSON.stringify(prompt).includes('Again') ? simpleText('Hello') : reply),
        {
          tools: [hang],
        },
      );
      const stream = rig.agent.runStream('Go', { sessionId: 's' });
      const seen: RunEvent[] = [];
      for await (const event of stream) {
        seen.push(event);
        if (at(event)) void stream.cancel();
      }
      expect([checkLog(seen), await collect(stream)]).toEqual([[], seen]);
      expect([seen.at(-1)?.data, await stream.result(), await stream.cancel()]).toMatchObject(
        Array.from({ length: 3 }, () => ({ status: 'cancelled', stopReason: 'cancelled', error: null })),
      );
      expect((await rig.agent.run('Again', { sessionId: 's' })).ok).toBe(true);
    },
  );
});

test('E-110, E-112: every accepted reply ends with its turn-complete; a call that is given whole has two deltas', async () => {
  const call: ScriptedReply = { pieces: [{ kind: 'tool-call', id: 'c', name: 'none', arguments: ['{"a":1}'] }] };
  await using rig = scriptedAgent([call, { fault: { kind: 'status', status: 400 } }]);
  const events = await collect(rig.agent.runStream('Go'));
  const deltas = events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.data.partialJson] : []));
  expect(deltas).toEqual(['', '{"a":1}']);
  expect(events.filter(({ type }) => type === 'turn-complete')).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ data: { status: 'failed' } });
});
