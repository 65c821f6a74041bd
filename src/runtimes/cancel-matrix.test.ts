// E-953: a cancel in every phase of a durable run, once, twice, and together with what would have ended the phase. Then the
// session is used again, and the provider finds an answer to every call (E-565, B091, B100).

import { checkLog } from '../testing/check-log.ts';
import { collect, endless, unhandledIn } from '../../test/support/agents.ts';
import { counted, eventually, held, heldModel, openRuntime, standing, theOpen } from '../../test/support/runtimes.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { expect, test } from 'vitest';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { AgentConfig } from './agent-config.ts';
import type { AgentParts } from '../agent.ts';
import type { Model, ModelRequest } from '../engine/model.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RuntimeRig } from '../../test/support/runtimes.ts';

const done = simpleText('Done ', 'so far.');
const again = (prompt: unknown) => JSON.stringify(prompt).includes('Again.');

interface Reached {
  /** What ends the phase by itself; it may come with the cancel. */
  readonly complete?: () => unknown;
}

interface Phase {
  readonly replies: readonly ScriptedReply[];
  readonly config?: AgentConfig;
  readonly parts?: AgentParts;
  /** What was said in the session before. */
  readonly before?: string;
  /** Absent: nothing is waited for. */
  readonly reach?: (rig: RuntimeRig, runId: string) => Promise<Reached | void>;
}

/** A model that says nothing, not even that it has heard. */
const silent = (): { readonly model: Model; readonly begun: Promise<void> } => {
  const begun = Promise.withResolvers<void>();
  const scripted = createScriptedModel([done, done]);
  const doStream: Model['doStream'] = (request) => {
    if (again(request.prompt)) return scripted.doStream(request);
    begun.resolve();
    return new Promise((_, reject) => request.abortSignal?.addEventListener('abort', () => reject(new Error('Gone.'))));
  };
  return { model: { ...scripted, doStream }, begun: begun.promise };
};

async function seen({ runtime, store }: RuntimeRig, name: string, type: RunEvent['type']): Promise<void> {
  const { runId } = await runtime.handle(name);
  await eventually(async () =>
    (await store.readEvents(runId, { after: 0, limit: 99 })).find((event) => event.type === type),
  );
}
async function called({ model }: RuntimeRig, times = 1): Promise<void> {
  await eventually(() => model.calls.length >= times || undefined);
}
const asksFirst = { toolPermissions: { risky: 'ask' } } as const;
const reached =
  ({ begun, open }: { readonly begun: Promise<void>; readonly open: () => void }) =>
  async (): Promise<Reached> => {
    await begun;
    return { complete: open };
  };
const pausable = () => {
  const work = held('work');
  const pausing = async ({ runtime }: RuntimeRig, runId: string) => {
    await work.begun;
    await runtime.pause(runId);
    work.open();
    await standing(runtime, runId, 'paused');
  };
  return { replies: [simpleCall('a', 'work', {}), done], parts: { tools: [work.tool] }, pausing };
};

const phases: Record<string, () => Phase> = {
  starting: () => ({ replies: [done] }),
  'left by its process before it began': () => ({ replies: [done], reach: async (rig) => rig.restart() }),
  'before the headers': () => {
    const { model, begun } = silent();
    return { replies: [], parts: { provider: model }, reach: async () => begun };
  },
  'between headers and first chunk': () => ({
    replies: [{ fault: { kind: 'stall', after: 'nothing' } }],
    reach: async (rig) => called(rig),
  }),
  streaming: () => {
    const model = heldModel(createScriptedModel(({ prompt }) => (again(prompt) ? done : simpleText('One ', 'two.'))));
    return { replies: [], parts: { provider: model.model }, reach: reached(model) };
  },
  'in a wait before another attempt': () => ({
    replies: [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '50' } } }, done],
    reach: async (rig, runId) => seen(rig, runId, 'attempt-reset'),
  }),
  'in a compaction': () => ({
    replies: [endless('In ', 'short')],
    config: { limits: { maxContextTokens: 3_000 }, maxTokens: 500, compaction: { summaryTokens: 200 } },
    before: 'A long story. '.repeat(1_500),
    reach: async (rig) => called(rig, 2),
  }),
  'in a tool': () => {
    const work = held('work');
    return { replies: [simpleCall('a', 'work', {}), done], parts: { tools: [work.tool] }, reach: reached(work) };
  },
  'in a tool that does not stop': () => ({
    replies: [simpleCall('a', 'deaf', {}), done],
    parts: { tools: [counted('deaf', { run: () => new Promise(() => {}) })] },
    reach: async (rig, runId) => seen(rig, runId, 'tool-dispatched'),
  }),
  'in one of several calls': () => {
    const work = held('work');
    return {
      replies: [simpleCalls(['a', 'quick', {}], ['b', 'work', {}], ['c', 'quick', {}]), done],
      parts: { tools: [work.tool, counted('quick', { concurrent: false })] },
      reach: reached(work),
    };
  },
  'waiting for an approval': () => ({
    replies: [simpleCalls(['a', 'risky', {}], ['b', 'risky', {}]), done],
    config: asksFirst,
    parts: { tools: [counted('risky')] },
    async reach(rig, runId) {
      await standing(rig.runtime, runId, 'awaiting-input');
      const [one, two] = await rig.runtime.approvals.list();
      await rig.runtime.approvals.decide(one?.approvalId ?? '', { decision: 'approve' });
      return { complete: () => rig.runtime.approvals.decide(two?.approvalId ?? '', { decision: 'approve' }) };
    },
  }),
  'waiting for an approval, over a restart': () => ({
    replies: [simpleCall('a', 'risky', {}), done],
    config: asksFirst,
    parts: { tools: [counted('risky')] },
    async reach(rig, runId) {
      await standing(rig.runtime, runId, 'awaiting-input');
      await rig.restart();
    },
  }),
  'waiting for an answer': () => ({
    replies: [simpleCall('q', 'ask_user_questions', { questions: [{ id: 'a', question: 'Why?' }] }), done],
    config: { questions: true },
    async reach(rig) {
      const { approvalId } = await theOpen(rig.runtime);
      return { complete: () => rig.runtime.approvals.answer(approvalId, 'declined') };
    },
  }),
  'waiting for a word on an unknown outcome': () => ({
    replies: [simpleCall('a', 'slow', {}), done],
    parts: { tools: [counted('slow', { timeoutSeconds: 0.1, run: () => new Promise(() => {}) })] },
    async reach(rig, runId) {
      await standing(rig.runtime, runId, 'awaiting-input');
      const { pending } = await theOpen(rig.runtime);
      return { complete: () => rig.runtime.recovery.resolve(pending.executionKey, 'abort') };
    },
  }),
  paused: () => {
    const { pausing, ...phase } = pausable();
    return {
      ...phase,
      async reach(rig, runId) {
        await pausing(rig, runId);
        return { complete: () => rig.runtime.resume(runId) };
      },
    };
  },
  resuming: () => {
    const { pausing, ...phase } = pausable();
    return {
      ...phase,
      async reach(rig, runId) {
        await pausing(rig, runId);
        await rig.runtime.resume(runId);
      },
    };
  },
  'just taken up after a restart': () => {
    const work = held('work', { replay: 'safe' });
    return {
      replies: [simpleCall('a', 'work', {}), done],
      parts: { tools: [work.tool] },
      async reach(rig) {
        await work.begun;
        await rig.restart();
      },
    };
  },
  'with a sub-agent at work': () => {
    const model = heldModel(createScriptedModel([simpleText('One ', 'two.')]));
    return {
      replies: [simpleCall('d', 'delegate_helper', { task: 'Think.' }), done],
      parts: { subagents: [{ name: 'helper', description: 'Helps.', parts: { provider: model.model } }] },
      reach: reached(model),
    };
  },
  finishing: () => ({ replies: [done], reach: async (rig, runId) => seen(rig, runId, 'turn-complete') }),
};

const ways = ['once', 'twice', 'together with what ends the phase'] as const;
const matrix = Object.keys(phases).flatMap((name) => ways.map((way) => ({ name, way })));

test.concurrent.each(matrix)('E-813, E-953: $name, $way', async ({ name, way }) => {
  const phase: Phase = phases[name]?.() ?? { replies: [] };
  const replies = phase.before === undefined ? [...phase.replies] : [done, ...phase.replies];
  const replyTo = ({ prompt }: ModelRequest): ScriptedReply => (again(prompt) ? done : (replies.shift() ?? done));
  const unheard = await unhandledIn(async () => {
    const { config = {}, parts = {} } = phase;
    await using rig = openRuntime(replyTo, { config, parts });
    if (phase.before !== undefined) await rig.runtime.run(phase.before, { sessionId: 'chat' });
    const { runId } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    const { complete } = (await phase.reach?.(rig, runId)) ?? {};
    const startedMs = performance.now();
    const [first] = await Promise.allSettled([
      rig.runtime.cancel(runId),
      ...(way === 'twice' ? [rig.runtime.cancel(runId)] : []),
      ...(way === 'together with what ends the phase' ? [complete?.()] : []),
    ]);
    expect(first.status).toBe('fulfilled');
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await expectStopped(rig, runId, name);
    await expectGoesOn(rig);
  });
  expect(unheard).toEqual([]);
});

/** No further model call, no dispatch, nothing open, and one result that says how it ended. */
async function expectStopped(rig: RuntimeRig, runId: string, name: string): Promise<void> {
  const handle = await rig.runtime.handle(runId);
  const { status, unstopped } = await handle.result();
  // What was stored before the flag stands (E-814).
  const allowed = name === 'finishing' ? ['cancelled', 'completed'] : ['cancelled'];
  expect(allowed).toContain(status);
  expect(unstopped.length > 0).toBe(name === 'in a tool that does not stop');
  const calls = rig.model.calls.length;
  const log = await collect(handle.stream({ follow: 'run' }));
  expect(checkLog(log)).toEqual([]);
  const cancelled = log.findLastIndex(({ type }) => type === 'run-started');
  expect(log.slice(cancelled).filter(({ type }) => type === 'tool-dispatched').length).toBeLessThanOrEqual(2);
  expect(await rig.runtime.approvals.list()).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 60)); // Longer than a scan takes.
  expect([rig.model.calls.length, await rig.store.unfinishedRuns()]).toEqual([calls, []]);
  expect(await rig.runtime.cancel(runId)).toBe(status);
}

/** E-565: the session works, and each call in what the provider is sent has exactly one answer. */
async function expectGoesOn(rig: RuntimeRig): Promise<void> {
  const next = await rig.runtime.run('Again.', { sessionId: 'chat' });
  expect([next.status, next.output]).toEqual(['completed', 'Done so far.']);
  const prompt = rig.model.calls.at(-1)?.prompt ?? [];
  const parts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : [...content]));
  const ids = (type: 'tool-call' | 'tool-result') =>
    parts.flatMap((part) => (part.type === type ? [part.toolCallId] : []));
  expect(ids('tool-result').toSorted()).toEqual(ids('tool-call').toSorted());
}

test('B092: a cancel through another process, of a stream that was taken up again, is answered at once and carried out', async () => {
  await using rig = openRuntime(() => endless('One ', 'two'));
  const other = rig.beside();
  const { runId } = await rig.runtime.submit('Go.');
  const unheard = await unhandledIn(async () => {
    const stream = await other.events(runId);
    const seenThere = collect(stream);
    await called(rig);
    const startedMs = performance.now();
    expect(['running', 'cancelled']).toContain(await other.cancel(runId));
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect((await seenThere).at(-1)).toMatchObject({ data: { status: 'cancelled' } });
    await standing(other, runId, 'cancelled');
  });
  expect([unheard, rig.model.calls[0]?.abortSignal?.aborted]).toEqual([[], true]);
});

test('E-815: of a run that is over, a hundred times, is a success and changes nothing', async () => {
  await using rig = openRuntime([done]);
  const { runId } = await rig.runtime.run('Go.');
  const before = await collect(await rig.runtime.events(runId));
  const statuses = await Promise.all(Array.from({ length: 100 }, () => rig.runtime.cancel(runId)));
  expect(new Set(statuses)).toEqual(new Set(['completed']));
  expect(await collect(await rig.runtime.events(runId))).toEqual(before);
});

test('E-814: in whatever moment of a run, it is cancelled or had ended, and nothing follows', async () => {
  for (let round = 0; round < 20; round++) {
    const each = counted('work', round % 2 === 0 ? {} : { permission: 'ask' });
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [each] } });
    const { runId, result, stream } = await rig.runtime.submit('Go.');
    for (let turn = 0; turn < round * 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    const told = await rig.runtime.cancel(runId);
    const { status } = await result();
    expect(told === 'running' ? ['cancelled', 'completed'] : [told]).toContain(status);
    expect(await rig.runtime.approvals.list()).toEqual([]);
    expect(checkLog(await collect(stream()))).toEqual([]);
  }
});
