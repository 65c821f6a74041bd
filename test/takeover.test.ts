// Whose a run is, when its owner goes, and what becomes of it when nobody here can work on it.

import { afterEach, describe, expect, test } from 'vitest';
import { allowAll } from '../src/core/run-config.ts';
import { begin, pass, passUntil, shareStore, type SharedStore, type StoreProcess } from './support/store-process.ts';
import { cancelTask } from '../src/tasks/cancel-task.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { countingTool } from '../src/testing/counting-tool.ts';
import { decideApproval } from '../src/tasks/decide-approval.ts';
import { pauseRun } from '../src/tasks/pause-run.ts';
import { resumeRun } from '../src/tasks/resume-run.ts';
import { takeOver } from '../src/tasks/take-over.ts';
import type { ModelRequest } from '../src/engine/model.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunId } from '../src/core/ids.ts';
import type { ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

const second = 1_000;
const text = (...chunks: string[]) => ({ kind: 'text', chunks }) as const;
const hold = (ms: number) => ({ kind: 'pause', ms }) as const;
const act = { kind: 'tool-call', id: 'c', name: 'act', arguments: ['{"n":1}'] } as const;

/** By the words of the task; the reply to a tool's answer ends it. */
function replyTo({ prompt }: ModelRequest): ScriptedReply {
  if (prompt.at(-1)?.role === 'tool') return { pieces: [text('Done.')] };
  const asked = JSON.stringify(prompt.findLast(({ role }) => role === 'user'));
  if (asked.includes('long')) return { pieces: [text('So '), hold(100 * second), text('long.')] };
  if (asked.includes('brief')) return { pieces: [text('So '), hold(3 * second), text('brief.')] };
  if (asked.includes('act')) return { pieces: [text('First.'), hold(3 * second), act] };
  return { pieces: [text('Said.')] };
}

const opened: SharedStore[] = [];
afterEach(async () => {
  for (const shared of opened.splice(0)) await shared[Symbol.asyncDispose]();
});

function share() {
  const tool = countingTool('act', { permission: 'ask' });
  const shared = shareStore({ replyTo, tools: () => [tool] });
  opened.push(shared);
  return { ...shared, tool };
}

const hasEnded = (shared: SharedStore, runId: RunId) => async () =>
  (await shared.store.run(runId))?.status !== 'running';
const inPhase = (shared: SharedStore, runId: RunId, phase: string) => async () =>
  (await shared.store.run(runId))?.phase === phase;
const started = (events: readonly RunEvent[]) => events.filter(({ type }) => type === 'run-started').length;
const resultOf = async ({ logOf }: SharedStore, runId: RunId) => {
  const events = await logOf(runId);
  expect(checkLog(events)).toEqual([]);
  const last = events.at(-1);
  return last?.type === 'run-result' ? last.data : null;
};

describe('whose a run is', () => {
  test('E-825: a living owner keeps its run for as long as it works, whoever else is there', async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const { runId } = await begin(a, 'long');
    await pass(95 * second, a, b);
    expect(await shared.store.run(runId)).toMatchObject({ owner: a.services.owner, generation: 1 });
    await passUntil(hasEnded(shared, runId), a, b);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed', output: 'So long.' });
    expect(b.model.calls).toEqual([]);
  });

  test('E-830, E-831: what a killed owner left goes on at the next look of another; of two one has it', async () => {
    const shared = share();
    const [a, b, c] = [await shared.start(), await shared.start(), await shared.start()];
    const { runId } = await begin(a, 'long');
    await pass(second, a, b, c);
    a.kill();
    await passUntil(async () => b.model.calls.length + c.model.calls.length > 0, b, c);
    await pass(2 * second, b, c);
    const { owner } = (await shared.store.run(runId)) ?? {};
    expect([b.services.owner, c.services.owner]).toContain(owner);
    expect(b.model.calls.length + c.model.calls.length).toBe(1);
    expect(started(await shared.logOf(runId))).toBe(2);
  });

  test('E-815: a cancel ends at once what a killed owner left', async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const { runId } = await begin(a, 'long');
    await pass(second, a, b);
    a.kill();
    expect(await cancelTask(b.services, 'ada', runId)).toMatchObject({ status: 'cancelled' });
    expect(b.model.calls).toEqual([]);
  });

  test('V1: two who want a run in one process take it once', async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const { runId } = await begin(a, 'long');
    a.kill();
    const run = await shared.store.run(runId);
    if (run === null) throw new Error('There is no run.');
    const taken = await Promise.all([takeOver(b.services, run), takeOver(b.services, run), takeOver(b.services, run)]);
    expect(taken.filter(Boolean)).toHaveLength(1);
    await pass(5 * second, b);
    expect(await shared.store.run(runId)).toMatchObject({ generation: 2 });
  });

  test('E-830: a run that its own process admitted and never began is begun after a while', async () => {
    const shared = share();
    const a = await shared.start();
    const idle = { ...a.services, runs: { ...a.services.runs, start: () => true } };
    const { runId } = await begin({ services: idle }, 'short');
    await pass(4 * second, a);
    expect(await resultOf(shared, runId)).toBeNull();
    await passUntil(hasEnded(shared, runId), a);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed' });
  });
});

describe('E-832: a run that brings its processes down is given up', () => {
  test('after ten crashes, not before', async () => {
    const shared = share();
    let process = await shared.start();
    const { runId } = await begin(process, 'long');
    for (let crash = 1; crash <= 10; crash++) {
      process.kill();
      process = await shared.start();
      await passUntil(async () => (await shared.store.run(runId))?.owner === process.services.owner, process);
    }
    await pass(second, process);
    expect(await resultOf(shared, runId)).toBeNull();
    process.kill();
    process = await shared.start();
    await passUntil(hasEnded(shared, runId), process);
    const error = { type: 'RecoveryExhaustedError' };
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'failed', error });
  });

  test('a shutdown in order is no crash', async () => {
    const shared = share();
    let process = await shared.start();
    const { runId } = await begin(process, 'long');
    for (let deploy = 1; deploy <= 12; deploy++) {
      await pass(second, process);
      await process.end();
      process = await shared.start();
    }
    await pass(second, process);
    expect(await shared.store.run(runId)).toMatchObject({ status: 'running', owner: process.services.owner });
    expect(await shared.store.owners()).toHaveLength(1);
  });
});

describe('E-833: a run whose agent is not here', () => {
  const alone = async () => {
    const shared = share();
    const a = await shared.start({ base: 'other' });
    const { runId, sessionId } = await begin(a, 'long');
    await pass(second, a);
    a.kill();
    const b = await shared.start();
    return { shared, a, b, runId, sessionId };
  };
  const warnings = ({ notes }: StoreProcess) => notes.filter((note) => note.includes('waits for a process')).length;

  test('is left alone, said once, and goes on where its agent is', async () => {
    const { shared, b, runId } = await alone();
    await pass(500 * second, b);
    expect([warnings(b), await resultOf(shared, runId)]).toEqual([1, null]);
    const c = await shared.start({ base: 'other' });
    await pass(99 * second, b, c);
    await passUntil(hasEnded(shared, runId), b, c);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed' });
    await pass(second, b);
    expect(b.services.ownership.agentless.size).toBe(0);
  });

  test('fails when nobody came for ten minutes, and each time is counted from its own beginning', async () => {
    const { shared, b, runId } = await alone();
    await pass(500 * second, b);
    const c = await shared.start({ base: 'other' });
    await pass(second, c);
    await pass(second, b, c);
    c.kill();
    await pass(598 * second, b);
    expect(await resultOf(shared, runId)).toBeNull();
    await passUntil(hasEnded(shared, runId), b);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'failed', error: { type: 'AgentUnavailableError' } });
  });

  test('a cancel needs no agent', async () => {
    const { b, runId } = await alone();
    await pass(second, b);
    expect(await cancelTask(b.services, 'ada', runId)).toMatchObject({ status: 'cancelled' });
  });

  test('what waits in its session is not held back by those who cannot start it', async () => {
    const shared = share();
    const [a, b] = [await shared.start({ base: 'other' }), await shared.start()];
    const harness = (await shared.store.harnesses('ada')).find(({ base }) => base === 'other');
    const { runId, sessionId } = await begin(a, 'short', { harnessId: harness?.harnessId ?? null });
    await pass(second, a);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed' });
    a.stop();
    const next = { messages: [{ content: [{ type: 'text', text: 'next' }] }] };
    await shared.store.enqueue(
      { sessionId, messageId: 'm', principal: 'ada', body: { ...queuedBody, ...next }, bodyHash: '' },
      9,
    );
    await pass(5 * second, b);
    expect(await shared.store.queue(sessionId)).toMatchObject({ held: false, tasks: [{ status: 'queued' }] });
    a.go();
    await passUntil(async () => (await shared.store.queue(sessionId)).tasks.length === 0, a);
  });
});

const queuedBody = {
  inputItems: [],
  instructions: null,
  model: null,
  harnessId: null,
  previousResponseId: null,
  store: true,
  background: true,
  maxOutputTokens: null,
  maxStep: null,
  timeoutSeconds: null,
  metadata: {},
  reinsEvents: false,
  ignoredFields: [],
};

describe('E-812: a word for a run that another process drives', () => {
  const asking = async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const [harness] = await shared.store.harnesses('ada');
    if (harness === undefined) throw new Error('There is no harness.');
    await shared.store.putHarness({ ...harness, permissions: { ...allowAll, mode: 'allow-reads' } });
    return { shared, a, b };
  };
  const verdict = { verb: 'decide', decision: 'approve', argsDigest: null, note: null, remember: null } as const;

  test('a pause parks it; a resume elsewhere goes on there, and nothing is done twice', async () => {
    const { shared, a, b } = await asking();
    const { runId } = await begin(a, 'act');
    await pass(second, a, b);
    await pauseRun(b.services, 'ada', runId);
    await passUntil(inPhase(shared, runId, 'paused'), a, b);
    await pass(5 * second, a, b);
    expect(await shared.store.run(runId)).toMatchObject({ phase: 'paused', owner: null });
    expect(await resumeRun(b.services, 'ada', runId)).toBe(true);
    await passUntil(inPhase(shared, runId, 'waiting'), a, b);
    expect([a.model.calls.length, b.model.calls.length]).toEqual([1, 0]);
  });

  test('a decision is acted on where it is said, the effect is had once', async () => {
    const { shared, a, b } = await asking();
    const { runId } = await begin(a, 'act');
    await passUntil(inPhase(shared, runId, 'waiting'), a, b);
    const [asked] = await shared.store.approvals({ principal: 'ada', runId, status: 'open', limit: 9 });
    await decideApproval(b.services, 'ada', { approvalId: asked?.approvalId ?? '', verdict });
    await passUntil(hasEnded(shared, runId), a, b);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(shared.tool.runs).toHaveLength(1);
    expect([a.model.calls.length, b.model.calls.length]).toEqual([1, 1]);
  });

  test('E-601, E-830: said where its agent is not, it is stored there and acted on elsewhere', async () => {
    const { shared, a } = await asking();
    const c = await shared.start({ base: 'other' });
    const { runId } = await begin(a, 'act');
    await passUntil(inPhase(shared, runId, 'waiting'), a, c);
    const [asked] = await shared.store.approvals({ principal: 'ada', runId, status: 'open', limit: 9 });
    await decideApproval(c.services, 'ada', { approvalId: asked?.approvalId ?? '', verdict });
    expect(await shared.store.run(runId)).toMatchObject({ phase: 'waiting', owner: null });
    await passUntil(hasEnded(shared, runId), a, c);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(shared.tool.runs).toHaveLength(1);
  });

  test('E-816: a cancel reaches the owner within a second', async () => {
    const { shared, a, b } = await asking();
    const { runId } = await begin(a, 'long');
    await pass(second, a, b);
    const cancelled = cancelTask(b.services, 'ada', runId);
    await passUntil(hasEnded(shared, runId), a, b);
    await cancelled;
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'cancelled' });
    expect(b.model.calls).toEqual([]);
  });
});

describe('E-834: a process that goes', () => {
  test('lets end what it has, takes nothing new, and leaves at once what another can have', async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const [short, long] = [await begin(a, 'brief'), await begin(a, 'long')];
    await pass(second, a, b);
    const drained = a.services.runs.drain({ withinMs: 10 * second });
    await expect(begin(a, 'new')).rejects.toMatchObject({ status: 503, code: 'harness_unavailable' });
    const left = await begin(b, 'long');
    b.kill();
    await pass(9 * second, a);
    expect(await resultOf(shared, short.runId)).toMatchObject({ status: 'completed' });
    expect(await shared.store.run(left.runId)).toMatchObject({ owner: b.services.owner });
    await pass(2 * second, a);
    await drained;
    expect(await shared.store.run(long.runId)).toMatchObject({ status: 'running', owner: null });
    await a.end();
  });

  test('hears of a cancel from elsewhere while it waits', async () => {
    const shared = share();
    const [a, b] = [await shared.start(), await shared.start()];
    const { runId } = await begin(a, 'long');
    await pass(second, a, b);
    const drained = a.services.runs.drain({ withinMs: 10 * second });
    const cancelled = cancelTask(b.services, 'ada', runId);
    await passUntil(hasEnded(shared, runId), a, b);
    await Promise.all([cancelled, drained]);
    expect(await resultOf(shared, runId)).toMatchObject({ status: 'cancelled' });
  });
});
