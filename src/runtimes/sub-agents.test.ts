import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { defineTool } from '../engine/define-tool.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { collect, endless, scriptedAgent, until } from '../../test/support/agents.ts';
import type { AgentParts, SubAgentParts } from '../agent.ts';
import type { PendingTool, RunEvent } from '../core/run-event.ts';

const noInput = { type: 'object', properties: {} } as const;
const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } });
const delegate = (task: string, name = 'helper') => simpleCall('d', `delegate_${name}`, { task });

function helper(replies: readonly ScriptedReply[], { config, ...parts }: Partial<SubAgentParts> & AgentParts = {}) {
  const model = createScriptedModel(replies);
  const own: SubAgentParts = {
    name: 'helper',
    description: 'Helps.',
    parts: { provider: model, ...parts },
    ...(config === undefined ? {} : { config }),
  };
  return { model, own };
}

function writer() {
  let ran = 0;
  const tool = defineTool({
    name: 'write',
    description: 'Writes.',
    input: noInput,
    useKind: 'edit',
    run: () => `Written ${++ran}.`,
  });
  return { tool, ran: () => ran };
}

function withoutPath({ agentPath: _path, ...event }: RunEvent): RunEvent {
  return event;
}

/** The run's own log out of a stream with children, and theirs by path. */
function logsIn(events: readonly RunEvent[]): Record<string, readonly RunEvent[]> {
  const paths = Object.groupBy(events, ({ agentPath = [] }) => agentPath.join('/'));
  return Object.fromEntries(Object.entries(paths).map(([path, log = []]) => [path, log.map(withoutPath)]));
}

describe('E-905: a sub-agent', () => {
  test('is a tool that answers with the output of a run of its own, whose usage is charged to the parent', async () => {
    const { model, own } = helper([{ ...simpleText('It is ', 'blue.'), ...usage(5, 3) }]);
    await using rig = scriptedAgent(
      [
        { ...delegate('Which colour?'), ...usage(10, 2) },
        { ...simpleText('Blue.'), ...usage(20, 1) },
      ],
      { subagents: [own] },
    );
    const stream = rig.agent.runStream('Ask');
    const events = await collect(stream);
    expect(checkLog(events)).toEqual([]);
    expect(events.find(({ type }) => type === 'tool-result')?.data).toMatchObject({
      content: 'It is blue.',
      isError: false,
    });
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Which colour?');
    const { usage: used, usageIncomplete } = await stream.result();
    expect([used, usageIncomplete]).toMatchObject([{ inputTokens: 35, outputTokens: 6 }, false]);
  });

  test('E-062: whose usage is not known makes that of its parent incomplete', async () => {
    const { own } = helper([{ ...simpleCall('x', 'none', {}), ...usage(5, 3) }, simpleText('It is blue.')]);
    await using rig = scriptedAgent(
      [
        { ...delegate('Which colour?'), ...usage(10, 2) },
        { ...simpleText('Blue.'), ...usage(20, 1) },
      ],
      { subagents: [own] },
    );
    expect(await rig.agent.run('Ask')).toMatchObject({ usage: { inputTokens: 35 }, usageIncomplete: true });
  });

  test('E-114: its text is in the stream under its path where that is asked for, and no text of its parent', async () => {
    const { own } = helper([simpleText('It is ', 'blue.')]);
    await using rig = scriptedAgent([delegate('Which colour?'), simpleText('Blue.')], { subagents: [own] });
    const stream = rig.agent.runStream('Ask', { children: true });
    expect(await collect(stream.text())).toEqual(['Blue.']);
    const logs = logsIn(await collect(stream));
    expect(Object.keys(logs)).toEqual(['', 'helper']);
    expect(Object.values(logs).flatMap(checkLog)).toEqual([]);
    expect(logs['helper']?.at(-1)).toMatchObject({ type: 'run-result', data: { output: 'It is blue.' } });
    expect((await stream.result()).output).toBe('Blue.');
  });

  test('is shown while it works, between its dispatch and its answer, to a slow reader as well', async () => {
    const { own } = helper([endless('Thinking')]);
    await using rig = scriptedAgent([delegate('Think')], { subagents: [own] });
    const stream = rig.agent.runStream('Go', { children: true });
    const events = stream[Symbol.asyncIterator]();
    await until(events, 'tool-dispatched');
    await until(events, 'text-delta');
    await stream.cancel();
    const all = await collect(stream);
    const place = (type: string, path?: string) => all.findIndex((e) => e.type === type && e.agentPath?.[0] === path);
    const order = [
      place('tool-dispatched'),
      place('run-started', 'helper'),
      place('text-delta', 'helper'),
      place('run-result', 'helper'),
      place('tool-call-complete'),
    ];
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  test('that has no whole answer says why, with what it had', async () => {
    const { own } = helper([{ ...simpleText('Half'), finish: 'length' }], {
      config: { limits: { maxTruncationRecoveries: 0 } },
    });
    await using rig = scriptedAgent([delegate('Long'), simpleText('Too long.')], { subagents: [own] });
    const events = await collect(rig.agent.runStream('Go'));
    expect(events.find(({ type }) => type === 'tool-result')?.data).toMatchObject({
      isError: true,
      content: expect.stringMatching(/max-tokens[^]*Half/),
    });
  });

  test('is stopped with its parent', async () => {
    const { model, own } = helper([endless('One')]);
    await using rig = scriptedAgent([delegate('Count')], { subagents: [own] });
    const stream = rig.agent.runStream('Go', { children: true });
    for await (const event of stream) if (event.agentPath !== undefined && event.type === 'text-delta') break;
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
    const logs = logsIn(await collect(stream));
    expect(logs['helper']?.at(-1)).toMatchObject({ data: { status: 'cancelled' } });
    expect(logs['']?.at(-1)).toMatchObject({ data: { status: 'cancelled' } });
  });

  test('chains are three deep: the last one is not offered any more', async () => {
    const deep = (depth: number): SubAgentParts => ({
      name: `level${depth}`,
      description: 'Goes deeper.',
      parts: {
        provider: createScriptedModel([delegate('On', `level${depth + 1}`), simpleText(`From ${depth}.`)]),
        ...(depth < 5 ? { subagents: [deep(depth + 1)] } : {}),
      },
    });
    await using rig = scriptedAgent([delegate('On', 'level1'), simpleText('Done.')], { subagents: [deep(1)] });
    const logs = logsIn(await collect(rig.agent.runStream('Go', { children: true })));
    expect(Object.keys(logs)).toEqual(['', 'level1', 'level1/level2', 'level1/level2/level3']);
    expect(JSON.stringify(logs['level1/level2/level3'])).toContain("no tool named 'delegate_level4'");
    expect(Object.values(logs).flatMap(checkLog)).toEqual([]);
  });

  test('works under the permissions of its parent, however wide its own are', async () => {
    const { tool, ran } = writer();
    const config = { toolPermissions: { write: 'allow' } } as const;
    const { own } = helper([simpleCall('w', 'write', {}), simpleText('Done.')], { config, tools: [tool] });
    await using rig = scriptedAgent([delegate('Write'), simpleText('Done.')], {
      subagents: [own],
      config: { permissionMode: 'allow-reads', toolPermissions: { delegate_helper: 'allow' } },
    });
    await rig.agent.run('Go');
    expect(ran()).toBe(0);
  });

  test('and under its own, however wide those of its parent are', async () => {
    const { tool, ran } = writer();
    const { own } = helper([simpleCall('w', 'write', {}), simpleText('Done.')], {
      config: { permissionMode: 'allow-reads' },
      tools: [tool],
    });
    const asked: PendingTool[] = [];
    await using rig = scriptedAgent([delegate('Write'), simpleText('Done.')], {
      subagents: [own],
      config: { toolPermissions: { write: 'allow' } },
    });
    const result = await rig.agent.run('Go', { onApproval: (pending) => asked.push(pending) > 0 });
    expect([result.ok, ran(), asked.map(({ agentPath }) => agentPath)]).toEqual([true, 1, [['helper']]]);
  });
});

test('E-536, E-817: a parent has more patience with its sub-agent than that has with its tools', async () => {
  const hang = defineTool({ name: 'hang', description: 'Hangs.', input: noInput, run: () => new Promise(() => {}) });
  const patience = (abandonAfterSeconds: number) => ({ config: { tools: { abandonAfterSeconds } } });
  const { own } = helper([simpleCall('h', 'hang', {})], { tools: [hang], ...patience(0.5) });
  await using rig = scriptedAgent([delegate('Wait.')], { subagents: [own], ...patience(0.1) });
  const stream = rig.agent.runStream('Go', { children: true });
  const events: RunEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === 'tool-dispatched' && event.agentPath !== undefined) void stream.cancel();
  }
  expect(logsIn(events)['helper']?.at(-1)).toMatchObject({ type: 'run-result', data: { status: 'cancelled' } });
  expect((await stream.result()).unstopped).toHaveLength(1);
});

describe('E-612: a sub-agent that waits for a person', () => {
  async function parked() {
    const { tool, ran } = writer();
    const { model, own } = helper([simpleCall('w', 'write', {}), { ...simpleText('Helped.'), ...usage(5, 3) }], {
      config: { toolPermissions: { write: 'ask' }, approvals: { direct: 'deny' } },
      tools: [tool],
    });
    const rig = scriptedAgent([delegate('Write'), simpleText('Done.')], {
      subagents: [own],
      config: { approvals: { direct: 'park' } },
    });
    const stream = rig.agent.runStream('Go', { children: true });
    return { ...rig, stream, first: await collect(stream), ran, child: model };
  }

  test('parks its parent, which lists the request under its path', async () => {
    await using rig = await parked();
    const { pending, status } = await rig.stream.result();
    expect([status, rig.ran()]).toEqual(['awaiting-input', 0]);
    expect(pending).toMatchObject([{ agentPath: ['helper'], call: { name: 'write' }, status: 'pending' }]);
    expect(pending[0]?.runId).not.toBe(rig.stream.runId);
  });

  test.each([true, false])('goes on where it was once that is decided (%s), and is not started again', async (yes) => {
    await using rig = await parked();
    const second = rig.agent.resume(rig.stream.runId, { children: true, onApproval: () => yes });
    const events = await collect(second);
    const result = await second.result();
    expect([result.output, rig.ran(), rig.child.calls.length]).toEqual(['Done.', yes ? 1 : 0, 2]);
    expect(result.usage).toMatchObject({ inputTokens: 5 });
    const logs = logsIn([...rig.first, ...events]);
    expect(Object.keys(logs)).toEqual(['', 'helper']);
    expect(Object.values(logs).flatMap(checkLog)).toEqual([]);
    expect(logs['helper']?.filter(({ type }) => type === 'run-started')).toHaveLength(2);
    expect(logs['']?.filter(({ type }) => type === 'approval-required')).toHaveLength(1);
  });

  test('waits on where nothing is decided', async () => {
    await using rig = await parked();
    const again = await rig.agent.resume(rig.stream.runId).result();
    expect([again.status, again.pending.length, rig.child.calls.length]).toEqual(['awaiting-input', 1, 1]);
  });

  test('ends as cancelled with its parent', async () => {
    await using rig = await parked();
    await rig.stream.cancel();
    expect([rig.agent.busy(), rig.ran()]).toEqual([false, 0]);
  });

  test('E-062: that is cancelled with its parent has used what that does not know', async () => {
    await using rig = await parked();
    const result = await rig.agent.resume(rig.stream.runId, { signal: AbortSignal.abort() }).result();
    expect(result).toMatchObject({ status: 'cancelled', usageIncomplete: true });
  });

  test.each(['decided', 'cancelled'])(
    'E-102: at a later step than its parent; what is said of it (%s) stands at the parent’s own',
    async (how) => {
      const { own } = helper([simpleCall('l', 'look', {}), simpleCall('w', 'write', {}), simpleText('Helped.')], {
        config: { toolPermissions: { write: 'ask' }, approvals: { direct: 'deny' } },
        tools: [writer().tool, defineTool({ name: 'look', description: 'Looks.', input: noInput, run: () => 'Seen.' })],
      });
      await using rig = scriptedAgent([{ ...delegate('Write'), ...usage(9, 1) }, simpleText('Done.')], {
        subagents: [own],
        config: { approvals: { direct: 'park' } },
      });
      const { runId, pending } = await rig.agent.run('Go');
      expect(pending).toMatchObject([{ step: 2, agentPath: ['helper'] }]);
      const signal = how === 'cancelled' ? { signal: AbortSignal.abort() } : {};
      const events = await collect(rig.agent.resume(runId, { onApproval: () => true, ...signal }));
      expect(events.find(({ type }) => type === 'approval-decided')).toMatchObject({ step: 1 });
      expect(events.at(-1)).toMatchObject({ type: 'run-result' });
    },
  );
});
