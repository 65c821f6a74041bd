import { afterEach, describe, expect, test } from 'vitest';
import { ApprovalClosedError, NotFoundError, RuntimeStateError } from '../core/errors.ts';
import { checkLog } from '../testing/check-log.ts';
import { collect, endless } from '../../test/support/agents.ts';
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
import { runIds } from '../core/ids.ts';
import { simpleCall, simpleText, type ReplyScript } from '../testing/model-servers/reply-script.ts';
import type { AgentParts, SubAgentParts } from '../agent.ts';
import type { AgentConfig } from './agent-config.ts';
import type { Model, ModelRequest } from '../engine/model.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Runtime } from './runtime.ts';
import type { RuntimeRig } from '../../test/support/runtimes.ts';

const done = simpleText('Done.');
const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } });
const delegate = (id = 'd', task = 'Help.', name = 'helper') => simpleCall(id, `delegate_${name}`, { task });
const opened: RuntimeRig[] = [];
afterEach(async () => {
  for (const rig of opened.splice(0)) await rig[Symbol.asyncDispose]();
});

interface Helper extends Omit<AgentParts, 'provider'> {
  readonly replies?: ReplyScript<ModelRequest>;
  readonly provider?: Model;
  readonly config?: Omit<AgentConfig, 'name'>;
}

function helper({ replies = [], config, provider = createScriptedModel(replies), ...parts }: Helper): SubAgentParts {
  return {
    name: 'helper',
    description: 'Helps.',
    parts: { provider, ...parts },
    ...(config === undefined ? {} : { config }),
  };
}

function open(replies: ReplyScript<ModelRequest>, own: Helper, config: AgentConfig = {}): RuntimeRig {
  const rig = openRuntime(replies, { config, parts: { subagents: [helper(own)] } });
  opened.push(rig);
  return rig;
}

const treeOf = async (runtime: Runtime, runId: string) =>
  collect(await runtime.events(runId, { follow: 'run', children: true }));
const childOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-dispatched' ? (event.data.childRunId ?? []) : []))[0] ??
  runIds.make('');

/** The logs in a stream with children, by path. */
function logsIn(events: readonly RunEvent[]): Record<string, readonly RunEvent[]> {
  const paths = Object.groupBy(events, ({ agentPath = [] }) => agentPath.join('/'));
  const plain = ({ agentPath: _path, ...event }: RunEvent): RunEvent => event;
  return Object.fromEntries(Object.entries(paths).map(([path, log = []]) => [path, log.map(plain)]));
}

/** A parent whose sub-agent waits for a person. */
async function asking(own: Helper = {}) {
  const tool = counted('write', { permission: 'ask' });
  const replies = [simpleCall('w', 'write', { n: 1 }), { ...simpleText('Helped.'), ...usage(5, 3) }];
  const model = createScriptedModel(own.replies ?? replies);
  const parent = ({ prompt }: ModelRequest) => (prompt.at(-1)?.role === 'tool' ? done : delegate());
  const rig = open(parent, { tools: [tool], ...own, provider: model });
  const { runId } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
  await standing(rig.runtime, runId, 'awaiting-input');
  const asked = await theOpen(rig.runtime);
  return { rig, runId, tool, model, asked, child: asked.pending.runId };
}

describe('E-905: a durable sub-agent', () => {
  test('answers with the output of a run of its own, whose usage is charged to its parent', async () => {
    const rig = open(
      [
        { ...delegate(), ...usage(10, 2) },
        { ...done, ...usage(20, 1) },
      ],
      { replies: [{ ...simpleText('It is ', 'blue.'), ...usage(5, 3) }] },
    );
    const result = await rig.runtime.run('Go.');
    expect(result.usage).toMatchObject({ inputTokens: 35, outputTokens: 6 });
    const log = await logOf(rig.runtime, result.runId);
    expect(ofType(log, 'tool-result')[0]?.data).toMatchObject({ content: 'It is blue.', isError: false });
    expect(await rig.store.run(childOf(log))).toMatchObject({ parentRunId: result.runId, status: 'completed' });
  });

  test('is shown with its path while it works, also to who is there before it has begun, and to who comes late', async () => {
    const model = heldModel(createScriptedModel([simpleText('It is ', 'blue.')]));
    const rig = open([delegate(), done], { provider: model.model });
    const stream = rig.runtime.runStream('Go.', { children: true });
    const seen: RunEvent[] = [];
    const live = (async () => {
      for await (const event of stream) seen.push(event);
    })();
    await model.begun;
    await eventually(
      () => seen.some(({ type, agentPath }) => type === 'text-delta' && agentPath?.[0] === 'helper') || undefined,
    );
    expect(ofType(seen, 'tool-call-complete')).toEqual([]);
    model.open();
    await live;
    expect((await stream.result()).output).toBe('Done.');
    const logs = logsIn(seen);
    expect([Object.keys(logs), Object.values(logs).flatMap(checkLog)]).toEqual([['', 'helper'], []]);
    expect(await treeOf(rig.runtime, stream.runId)).toEqual(seen);
    expect(await treeOf(rig.beside(), stream.runId)).toEqual(seen);
  });

  test('and its run and session are in no list, can be read by who knows them, and are spoken to through the parent', async () => {
    const { rig, runId, child } = await asking();
    const { runtime } = rig;
    const handle = await runtime.handle(child);
    expect(await runtime.runs.list({ sessionId: 'chat' })).toMatchObject([{ runId }]);
    expect(await runtime.runs.list({ sessionId: handle.sessionId })).toEqual([]);
    await expect(runtime.submit('Hello?', { sessionId: handle.sessionId })).rejects.toBeInstanceOf(RuntimeStateError);
    expect((await handle.result()).status).toBe('awaiting-input');
    await expect(runtime.pause(child)).rejects.toBeInstanceOf(RuntimeStateError);
    await expect(runtime.retry(child)).rejects.toBeInstanceOf(RuntimeStateError);
    expect(await runtime.resume(child)).toBeNull();
  });

  test('B2: of one name is another one below another agent', async () => {
    const [one, other] = [counted('one'), counted('other')];
    const parts = (tool: typeof one): AgentParts => ({
      provider: createScriptedModel([delegate(), done]),
      subagents: [helper({ replies: [simpleCall('x', tool.name, {}), done], tools: [tool] })],
    });
    const rig = openRuntime([], { parts: parts(one), agents: [{ config: { name: 'second' }, parts: parts(other) }] });
    opened.push(rig);
    for (const agent of ['worker', 'second']) expect((await rig.runtime.run('Go.', { agent })).ok).toBe(true);
    expect([one.runs(), other.runs()]).toEqual([1, 1]);
  });

  test('13.2 row 17: that was at work when its process was shut down goes on in the next one, and is not started again', async () => {
    const model = heldModel(createScriptedModel([simpleText('Lo', 'st'), simpleText('It is blue.')]));
    const rig = open([delegate(), done], { provider: model.model });
    const { runId } = await rig.runtime.submit('Go.');
    await model.begun;
    const startedMs = performance.now();
    await rig.restart();
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await standing(rig.runtime, runId, 'completed');
    const logs = logsIn(await treeOf(rig.runtime, runId));
    expect([Object.keys(logs), Object.values(logs).flatMap(checkLog)]).toEqual([['', 'helper'], []]);
    expect(ofType(logs['helper'] ?? [], 'run-started').map(({ data }) => data)).toMatchObject([
      { cause: 'submit' },
      { cause: 'recovery' },
    ]);
    expect(ofType(logs[''] ?? [], 'tool-result')[0]?.data).toMatchObject({ content: 'It is blue.' });
  });

  test('that ended while its parent was away gives its answer, not another run', async () => {
    const { tool, begun, open: letGo } = held('work');
    const model = createScriptedModel([simpleCall('a', 'work', {}), simpleText('It is blue.')]);
    const rig = open([delegate(), done], { provider: model, tools: [{ ...tool, replay: 'safe' }] });
    const { runId } = await rig.runtime.submit('Go.');
    await begun;
    const child = childOf(await rig.store.readEvents(runId, { after: 0, limit: 99 }));
    await rig.runtime.close({ drainMs: 0 });
    letGo();
    const owner = 'who does nothing with it';
    const identity = { place: 'elsewhere', pid: 1, startTicks: null };
    await rig.store.putOwner({ owner, ...identity, seenAtMs: rig.clock.now() });
    await rig.store.takeOver(runId, owner);
    await rig.restart();
    await standing(rig.runtime, child, 'completed');
    await rig.store.release(runId, owner);
    await standing(rig.runtime, runId, 'completed');
    expect(model.calls).toHaveLength(2);
  });

  test('at three levels is one tree: shown, charged and asked for at the top', async () => {
    const write = counted('write', { permission: 'ask' });
    const deep = helper({
      replies: [simpleCall('w', 'write', {}), { ...simpleText('Deep.'), ...usage(1, 1) }],
      tools: [write],
    });
    const rig = open([delegate(), done], {
      replies: [delegate('e'), { ...simpleText('Middle.'), ...usage(2, 1) }],
      subagents: [deep],
    });
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    const asked = await theOpen(rig.runtime);
    expect(asked).toMatchObject({ runId, pending: { agentPath: ['helper', 'helper'] } });
    await rig.restart();
    await rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve' });
    await standing(rig.runtime, runId, 'completed');
    const logs = logsIn(await treeOf(rig.runtime, runId));
    expect(Object.keys(logs)).toEqual(['', 'helper', 'helper/helper']);
    expect(Object.values(logs).flatMap(checkLog)).toEqual([]);
    const { usage: used } = await (await rig.runtime.handle(runId)).result();
    expect([write.runs(), used]).toMatchObject([1, { inputTokens: 3, outputTokens: 2 }]);
  });
});

describe('E-612: what a sub-agent asks', () => {
  test('is listed once, as its parent’s, and parks it; the sub-agent’s own entry is nobody’s to decide', async () => {
    const { rig, runId, asked, child, tool } = await asking();
    expect(asked).toMatchObject({ runId, pending: { agentPath: ['helper'], runId: child, call: { name: 'write' } } });
    for (const filter of [{}, { runId }, { sessionId: 'chat' }])
      expect(await rig.runtime.approvals.list(filter)).toEqual([asked]);
    expect(await rig.runtime.approvals.list({ runId: child })).toEqual([]);
    const [own] = (await (await rig.runtime.handle(child)).result()).pending;
    await expect(rig.runtime.approvals.get(own?.approvalId ?? '')).rejects.toBeInstanceOf(NotFoundError);
    expect(tool.runs()).toBe(0);
  });

  test.each([
    ['approve', 1],
    ['deny', 0],
  ] as const)(
    'B088: is decided (%s) over a restart; the sub-agent goes on where it was, and is asked nothing twice',
    async (decision, runs) => {
      const { rig, runId, asked, tool, model } = await asking();
      await rig.restart();
      await rig.runtime.approvals.decide(asked.approvalId, { decision, note: 'Mind.' });
      await standing(rig.runtime, runId, 'completed');
      const logs = logsIn(await treeOf(rig.runtime, runId));
      expect(Object.values(logs).flatMap(checkLog)).toEqual([]);
      expect([tool.runs(), model.calls.length, rig.model.calls.length]).toEqual([runs, 2, 2]);
      for (const path of ['', 'helper']) {
        expect(ofType(logs[path] ?? [], 'approval-required')).toHaveLength(1);
        expect(ofType(logs[path] ?? [], 'approval-decided').map(({ data }) => data)).toMatchObject([
          { decision, by: 'library', note: 'Mind.' },
        ]);
      }
      expect((await (await rig.runtime.handle(runId)).result()).usage).toMatchObject({ inputTokens: 5 });
    },
  );

  test('asked in the moment its process dies is asked for again by the next one, once', async () => {
    const { rig, runId, asked, child } = await asking();
    // As a kill leaves it, between the park of the sub-agent and that of its parent.
    await rig.runtime.close({ drainMs: 0 });
    await rig.store.takeOver(runId, 'somebody who is gone');
    await rig.restart();
    await standing(rig.runtime, runId, 'awaiting-input');
    expect(await theOpen(rig.runtime)).toMatchObject({ approvalId: asked.approvalId });
    expect(ofType(await collect(await rig.runtime.events(child)), 'run-started')).toHaveLength(1);
    await rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve' });
    await standing(rig.runtime, runId, 'completed');
  });

  test('and is remembered of it, holds for its later calls in the run, the session or anywhere', async () => {
    const replies = ({ prompt }: ModelRequest) => {
      const answers = prompt.filter(({ role }) => role === 'tool').length;
      return answers < 2 ? simpleCall(`${answers}`, 'write', {}) : simpleText('Helped.');
    };
    for (const scope of ['run', 'session', 'agent'] as const) {
      const { rig, runId, asked, tool } = await asking({ replies });
      await rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve', remember: { scope, match: 'tool' } });
      await standing(rig.runtime, runId, 'completed');
      expect(tool.runs()).toBe(2);
      expect(await rig.runtime.rules.list({ sessionId: 'chat' })).toMatchObject([{ scope, toolName: 'write', runId }]);
      const statuses = [];
      for (const sessionId of ['chat', 'other']) statuses.push((await rig.runtime.run('Go.', { sessionId })).status);
      const [asks, goesOn] = ['awaiting-input', 'completed'];
      expect(statuses).toEqual([scope === 'run' ? asks : goesOn, scope === 'agent' ? goesOn : asks]);
    }
  });

  test('E-606: expires with its parent’s entry, once', async () => {
    const { rig, runId, asked, tool, child } = await asking({ config: { approvals: { expiresAfterSeconds: 2 } } });
    await standing(rig.runtime, runId, 'completed');
    expect((await rig.runtime.approvals.get(asked.approvalId)).pending.status).toBe('expired');
    const log = await collect(await rig.runtime.events(child, { follow: 'run' }));
    expect(ofType(log, 'approval-decided').map(({ data }) => data)).toMatchObject([
      { decision: 'expired', by: 'engine' },
    ]);
    expect([tool.runs(), checkLog(log)]).toEqual([0, []]);
  });

  test('E-543: a word on an unknown outcome is given by the call’s own key', async () => {
    const slow = counted('pay', { timeoutSeconds: 0.1, run: () => new Promise(() => {}) });
    const rig = open([delegate(), done], { replies: [simpleCall('p', 'pay', {}), done], tools: [slow] });
    const { runId } = await rig.runtime.submit('Go.');
    const { pending } = await theOpen(rig.runtime);
    expect([pending.kind, await rig.runtime.recovery.list()]).toMatchObject(['recovery', [{ runId }]]);
    await rig.runtime.recovery.resolve(pending.executionKey, { result: { content: 'Paid.' } });
    await standing(rig.runtime, runId, 'completed');
    expect(slow.runs()).toBe(1);
  });
});

describe('E-819: a pause of the run that it works for', () => {
  /** A helper that is in its first call, and has another one to make. */
  const working = async () => {
    const { tool, begun, open: letGo } = held('work');
    const replies = [simpleCall('a', 'work', {}), simpleCall('b', 'work', {}), simpleText('Helped.')];
    const model = createScriptedModel(replies);
    const rig = open([delegate(), done], { tools: [tool], provider: model });
    const { runId } = await rig.runtime.submit('Go.');
    await begun;
    return { rig, runId, tool, model, letGo };
  };

  test.each(['here', 'elsewhere', 'later'] as const)('reaches it, and so does the resume, %s', async (where) => {
    const { rig, runId, tool, model, letGo } = await working();
    const other = where === 'elsewhere' ? rig.beside() : rig.runtime;
    await other.pause(runId);
    // Another process is heard with the next scan.
    if (where === 'elsewhere') await new Promise((resolve) => setTimeout(resolve, 120));
    letGo();
    await standing(rig.runtime, runId, 'paused');
    const child = childOf(await rig.store.readEvents(runId, { after: 0, limit: 99 }));
    await standing(rig.runtime, child, 'paused');
    expect([tool.runs(), model.calls.length]).toEqual([1, 1]);
    if (where === 'later') await rig.restart();
    await (where === 'elsewhere' ? other : rig.runtime).resume(runId);
    await standing(rig.runtime, runId, 'completed');
    const tree = logsIn(await treeOf(rig.runtime, runId));
    expect([tool.runs(), model.calls.length, rig.model.calls.length]).toEqual([2, 3, 2]);
    for (const log of Object.values(tree)) expect(checkLog(log)).toEqual([]);
    expect(ofType(tree['helper'] ?? [], 'run-started').map(({ data }) => data)).toMatchObject([
      { cause: 'submit' },
      { cause: 'resume' },
    ]);
  });

  test('while it waits for a person holds behind the decision, until both are resumed', async () => {
    const { rig, runId, tool, asked } = await asking();
    await rig.runtime.pause(runId);
    await rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve' });
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(tool.runs()).toBe(0);
    await rig.runtime.resume(runId);
    await standing(rig.runtime, runId, 'completed');
    expect(tool.runs()).toBe(1);
  });
});

test('E-819: a pause that reached a sub-agent with its park holds it no longer than its parent', async () => {
  const { rig, runId, asked, child, tool } = await asking();
  await rig.store.requestPause(child);
  await rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve' });
  await standing(rig.runtime, runId, 'completed');
  expect(tool.runs()).toBe(1);
});

test('E-819: a pause in whatever moment holds both; resumed and decided, nothing is done or asked twice', async () => {
  for (let round = 0; round < 45; round += 4) {
    const tool = counted('write', { permission: 'ask' });
    const rig = open([delegate(), done], {
      replies: [simpleCall('w', 'write', {}), simpleText('Helped.')],
      tools: [tool],
    });
    const { runId } = await rig.runtime.submit('Go.');
    for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve));
    await rig.runtime.pause(runId);
    for (let status = ''; status !== 'completed';) {
      ({ status } = await (await rig.runtime.handle(runId)).result());
      for (const { approvalId } of await rig.runtime.approvals.list({ runId }))
        await rig.runtime.approvals.decide(approvalId, { decision: 'approve' });
      await rig.runtime.resume(runId);
    }
    const logs = logsIn(await treeOf(rig.runtime, runId));
    expect([tool.runs(), Object.values(logs).flatMap(checkLog)]).toEqual([1, []]);
    for (const log of Object.values(logs)) expect(ofType(log, 'approval-required')).toHaveLength(1);
  }
});

describe('E-817: a cancel', () => {
  const stopped = async (rig: RuntimeRig, ...ids: readonly string[]) => {
    for (const id of ids) await standing(rig.runtime, id, 'cancelled');
    expect(await rig.store.unfinishedRuns()).toEqual([]);
  };

  test('reaches a sub-agent at work', async () => {
    const model = createScriptedModel(() => endless('One ', 'two'));
    const rig = open([delegate()], { provider: model });
    const { runId } = await rig.runtime.submit('Go.');
    await eventually(() => model.calls.length > 0 || undefined);
    await rig.runtime.cancel(runId);
    await stopped(rig, runId, childOf(await logOf(rig.runtime, runId)));
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
  });

  test('reaches one that waits for a person, also through another process, and over a restart', async () => {
    for (const through of ['here', 'elsewhere', 'later'] as const) {
      const { rig, runId, child, asked, tool } = await asking();
      const runtime = through === 'elsewhere' ? rig.beside() : rig.runtime;
      if (through === 'later') {
        await rig.runtime.close({ drainMs: 0 });
        await rig.store.requestCancel(runId);
        await rig.restart();
      } else await runtime.cancel(runId);
      await stopped(rig, runId, child);
      await expect(rig.runtime.approvals.decide(asked.approvalId, { decision: 'approve' })).rejects.toBeInstanceOf(
        ApprovalClosedError,
      );
      expect(tool.runs()).toBe(0);
    }
  });

  test('13.2 row 15: that its process did not come to is carried out for both, with no model call and no dispatch', async () => {
    const model = createScriptedModel(() => endless('One ', 'two'));
    const rig = open([delegate()], { provider: model });
    const { runId } = await rig.runtime.submit('Go.');
    await eventually(() => model.calls.length > 0 || undefined);
    const child = childOf(await rig.store.readEvents(runId, { after: 0, limit: 99 }));
    await rig.runtime.close({ drainMs: 0 });
    await rig.store.requestCancel(runId);
    await rig.restart();
    await stopped(rig, runId, child);
    expect([model.calls.length, rig.model.calls.length]).toEqual([1, 1]);
  });

  test('of the sub-agent alone is an error that its parent reads', async () => {
    const model = createScriptedModel(() => endless('One ', 'two'));
    const rig = open([delegate(), done], { provider: model });
    const { runId, result } = await rig.runtime.submit('Go.');
    await eventually(() => model.calls.length > 0 || undefined);
    await rig.runtime.cancel(childOf(await rig.store.readEvents(runId, { after: 0, limit: 99 })));
    expect((await result()).ok).toBe(true);
    expect(ofType(await logOf(rig.runtime, runId), 'tool-result')[0]?.data).toMatchObject({ isError: true });
  });

  test('E-064: nor does it outlive the time of its parent', async () => {
    const model = createScriptedModel(() => endless('One ', 'two'));
    const rig = open([delegate()], { provider: model }, { limits: { maxSeconds: 3 } });
    const result = await rig.runtime.run('Go.');
    expect([result.status, result.stopReason]).toEqual(['completed', 'max-time']);
    await standing(rig.runtime, childOf(await logOf(rig.runtime, result.runId)), 'cancelled');
  });
});
