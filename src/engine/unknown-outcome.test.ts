// A call that was dispatched and whose end nobody knows: E-540 to E-543.

import { describe, expect, test } from 'vitest';
import { allowAll } from '../core/run-config.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { simpleCall, simpleCalls, simpleText } from '../testing/model-servers/reply-script.ts';
import type { Tool, ToolListing } from './tool.ts';

const done = simpleText('Done.');
const noUsage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadInputTokens: null,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
};
const parking = { config: { permissions: { ...allowAll, onUnknown: 'park' } } } as const;

/** A run whose owner dies when the call of `tool` has been dispatched, on its way to the next owner. */
async function dieInTool(tool: Tool, options: Partial<EngineRigOptions> = {}): Promise<EngineRig> {
  const rig = createEngineRig({ replies: [simpleCall('a', tool.name, {}), done], tools: [tool], ...options });
  await rig.run({ leaveAt: 'tool-dispatched' });
  return rig;
}

/** A source whose tools can be taken away, as by a server that is down. */
function vanishing(tool: Tool) {
  let listing: ToolListing = { tools: [tool], degraded: [] };
  return {
    parts: { sources: [{ list: async () => listing, async [Symbol.asyncDispose]() {} }] },
    become: (...tools: readonly Tool[]) => void (listing = { tools, degraded: ['mcp:x'] }),
  };
}

const outcomes = (rig: EngineRig) => rig.events('tool-call-complete').map(({ data }) => data.outcome);

describe('E-540, E-541, 13.2 row 8: after a crash', () => {
  test.each(['safe', 'idempotent'] as const)(
    'a %s call is run again, as the next attempt under the same key',
    async (replay) => {
      const tool = countingTool('add', { replay });
      const rig = await dieInTool(tool);
      expect(await rig.recover()).toMatchObject({ status: 'completed', output: 'Done.' });
      const dispatched = rig.events('tool-dispatched').map(({ data }) => [data.executionKey, data.toolAttempt]);
      expect(dispatched).toEqual([
        ['resp_rig:1:a', 1],
        ['resp_rig:1:a', 2],
      ]);
      expect(rig.events('tool-call-start')).toHaveLength(1);
      expect(tool.runs).toHaveLength(1);
    },
  );

  test('E-542, B089: a manual one is not; with `tell-model` the model reads that its outcome is unknown, and the run goes on', async () => {
    const tool = countingTool('add');
    const rig = await dieInTool(tool);
    expect(await rig.recover()).toMatchObject({ status: 'completed', output: 'Done.', pending: [] });
    expect([tool.runs.length, outcomes(rig)]).toEqual([0, ['unknown']]);
    expect(rig.answers()['a']).toMatch(/unknown.*Check before repeating/);
  });

  test('E-542: with `park` the run waits for a word on it', async () => {
    const tool = countingTool('add');
    const rig = await dieInTool(tool, parking);
    const pending = [{ kind: 'recovery', status: 'uncertain', toolAttempt: 1, call: { id: 'a', name: 'add' } }];
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input', pending });
    expect(rig.events('recovery-required')).toHaveLength(1);
    expect(tool.runs).toHaveLength(0);
  });

  test('E-542: a tool may choose for itself; where nobody can be waited for, the model is told', async () => {
    const rig = await dieInTool(countingTool('add', { onUnknown: 'park' }));
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input' });
    const alone = await dieInTool(countingTool('add', { onUnknown: 'park' }), { people: { how: 'deny' } });
    expect(await alone.recover()).toMatchObject({ status: 'completed' });
  });

  test('13.2 row 10: of a batch, what has returned is kept, what was dispatched is judged, what was not is run', async () => {
    const tools = ['one', 'two', 'three'].map((name) => countingTool(name, { concurrent: false }));
    const calls = simpleCalls(['1', 'one', {}], ['2', 'two', {}], ['3', 'three', {}]);
    const rig = createEngineRig({ replies: [calls, done], tools });
    await rig.run();
    const second = rig.events('tool-dispatched')[1]?.seq ?? 0;
    const fresh = createEngineRig({ replies: [done], tools });
    expect(await fresh.recover(rig.log.slice(0, second))).toMatchObject({ output: 'Done.' });
    expect(outcomes(fresh)).toEqual(['ok', 'unknown', 'ok']);
    expect(tools.map(({ runs }) => runs.length)).toEqual([1, 1, 2]);
  });
});

describe('E-541, B3: a call that was dispatched keeps its unknown outcome when its tool is gone', () => {
  test('with `park` it waits for a word, and a result that a person gives needs no tool', async () => {
    const source = vanishing(countingTool('add'));
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', { n: 1 }), done], parts: source.parts, ...parking });
    await rig.run({ leaveAt: 'tool-dispatched' });
    const { argsDigest } = rig.events('tool-dispatched')[0]?.data ?? {};
    source.become();
    const pending = [{ kind: 'recovery', argsDigest, call: { name: 'add', input: { n: 1 } } }];
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input', pending });
    rig.decide('a', { decision: 'result', output: { content: 'It did run: 42.', isError: false } });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([rig.answers()['a'], outcomes(rig)]).toEqual(['It did run: 42.', ['ok']]);
  });

  test.each(['manual', 'idempotent'] as const)('with `tell-model` a %s one is told as unknown', async (replay) => {
    const source = vanishing(countingTool('add', { replay }));
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], parts: source.parts });
    await rig.run({ leaveAt: 'tool-dispatched' });
    source.become();
    expect(await rig.recover()).toMatchObject({ status: 'completed' });
    expect([rig.answers()['a'], outcomes(rig)]).toEqual([expect.stringContaining('is unknown'), ['unknown']]);
  });

  test('a `retry` that nothing can carry out is an error that the model reads', async () => {
    const source = vanishing(countingTool('add'));
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], parts: source.parts, ...parking });
    await rig.run({ leaveAt: 'tool-dispatched' });
    await rig.recover();
    rig.decide('a', { decision: 'retry' });
    source.become();
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(rig.answers()['a']).toMatch(/unknown.*cannot be repeated: There is no tool named 'add'/);
  });

  test('E-903: one that has changed is not run again, whatever it allows, nor by a word given before', async () => {
    const old = countingTool('add', { replay: 'idempotent', identity: 'old' });
    const changed = countingTool('add', { replay: 'idempotent', identity: 'new' });
    const source = vanishing(old);
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], parts: source.parts, ...parking });
    await rig.run({ leaveAt: 'tool-dispatched' });
    source.become();
    await rig.recover();
    rig.decide('a', { decision: 'retry' });
    source.become(changed);
    expect(await rig.resume()).toMatchObject({ status: 'awaiting-input', pending: [{ toolIdentity: 'new' }] });
    rig.decide('a', { decision: 'retry' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([old.runs.length, changed.runs.length]).toEqual([0, 1]);
  });
});

describe('E-541: a manual call that passed its time limit', () => {
  const deaf = () => countingTool('add', { timeoutSeconds: 10, run: () => new Promise(() => {}) });

  test('waits for a word on it where that is the policy', async () => {
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [deaf()], ...parking });
    expect(await rig.run()).toMatchObject({ status: 'awaiting-input', pending: [{ kind: 'recovery' }] });
    rig.decide('a', { decision: 'abort' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(outcomes(rig)).toEqual(['unknown']);
  });

  test('keeps what it has done, and that it was not stopped, while it waits', async () => {
    const usage = { ...noUsage, inputTokens: 7 };
    const files = [{ kind: 'create', path: 'a.txt' }] as const;
    const obedient: Tool['run'] = (_, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ content: 'half', files, usage, unstopped: ['process 42'] })),
      );
    const tell = async (run: Tool['run']) => {
      const tools = [countingTool('add', { timeoutSeconds: 10, run })];
      const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools, ...parking });
      return { rig, result: await rig.run() };
    };
    const { rig, result } = await tell(obedient);
    expect(result).toMatchObject({ usage, pending: [{ reason: expect.stringMatching(/half\n.*time limit/) }] });
    expect(rig.events('file-changed').map(({ data }) => data.path)).toEqual(['a.txt']);
    const never = await tell(() => new Promise(() => {}));
    expect(never.result?.pending).toMatchObject([
      { reason: expect.stringMatching(/did not stop.*may still be running/) },
    ]);
  });

  test('while the others of its batch end as they would', async () => {
    const tools = [deaf(), countingTool('other')];
    const rig = createEngineRig({
      replies: [simpleCalls(['a', 'add', {}], ['b', 'other', {}]), done],
      tools,
      ...parking,
    });
    expect(await rig.run()).toMatchObject({ status: 'awaiting-input', pending: [{ call: { id: 'a' } }] });
    expect(rig.answers()).toEqual({ b: 'other ran' });
  });
});

describe('E-543: the word on it', () => {
  const parked = async (tool = countingTool('add')) => {
    const rig = await dieInTool(tool, parking);
    await rig.recover();
    return { rig, tool };
  };

  test('`result` is the result of the call', async () => {
    const { rig, tool } = await parked();
    rig.decide('a', { decision: 'result', output: { content: 'It was 3.', isError: false } });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([rig.answers()['a'], outcomes(rig), tool.runs.length]).toEqual(['It was 3.', ['ok'], 0]);
  });

  test('`retry` runs it again under the same key', async () => {
    const { rig, tool } = await parked();
    rig.decide('a', { decision: 'retry' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, outcomes(rig)]).toEqual([1, ['ok']]);
    const [first, second] = rig.events('tool-dispatched');
    expect(second?.data).toMatchObject({ executionKey: first?.data.executionKey, toolAttempt: 2 });
    expect(second?.data.authority).toMatch(/^approval:/);
  });

  test('`retry` is used up by its one dispatch: after another crash somebody has to say so again', async () => {
    const { rig, tool } = await parked();
    rig.decide('a', { decision: 'retry' });
    await rig.resume('decision', { leaveAt: 'tool-dispatched' });
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input', pending: [{ toolAttempt: 2 }] });
    const ids = rig.events('recovery-required').map(({ data }) => data.approvalId);
    expect(new Set(ids).size).toBe(2);
    expect(tool.runs).toHaveLength(0);
  });

  test.each(['abort', 'expired'] as const)('after `%s` the model reads that it was given up', async (decision) => {
    const { rig } = await parked();
    rig.decide('a', { decision, by: 'engine' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([rig.answers()['a'], outcomes(rig)]).toEqual([expect.stringContaining('given up'), ['unknown']]);
  });

  test('E-128: it stands between the question and the completion of the call', async () => {
    const { rig } = await parked();
    rig.decide('a', { decision: 'abort' });
    await rig.resume();
    const at = ['tool-dispatched', 'recovery-required', 'approval-decided', 'tool-call-complete'].map((type) =>
      rig.log.findIndex((event) => event.type === type),
    );
    expect(at).toEqual(at.toSorted((a, b) => a - b));
  });
});
