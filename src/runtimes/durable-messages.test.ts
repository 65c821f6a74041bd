// Steering and follow-ups, as a program says them (E chapter 12).

import { checkLog } from '../testing/check-log.ts';
import {
  counted,
  eventually,
  held,
  heldModel,
  logOf,
  openRuntime,
  standing,
  theOpen,
} from '../../test/support/runtimes.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { describe, expect, test } from 'vitest';
import { IdempotencyConflictError, NotFoundError, RuntimeStateError } from '../core/errors.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Runtime } from './runtime.ts';

const done = simpleText('Done ', 'so far.');
const broken: ScriptedReply = { fault: { kind: 'status', status: 400 } };
const steer = { mode: 'steer' } as const;
const followUp = { mode: 'follow-up' } as const;
const steps = (log: readonly RunEvent[]) => log.filter(({ type }) => type === 'step-started').length;
const said = (log: readonly RunEvent[]) =>
  log.flatMap((event) => (event.type === 'user-message' ? [event.data.messageId] : []));

describe('E-660: a steering message', () => {
  test('E-662: while the model answers does not interrupt it, and is read in the next step', async () => {
    const model = heldModel(createScriptedModel([done, simpleText('Louder, then.')]));
    await using rig = openRuntime([], { parts: { provider: model.model } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await model.begun;
    const sent = await rig.runtime.send({ runId }, { content: 'Louder!', messageId: 'm' }, steer);
    expect(sent).toEqual({ messageId: 'm' });
    model.open();
    expect(await result()).toMatchObject({ output: 'Louder, then.', undelivered: [] });
    const log = await logOf(rig.runtime, runId);
    expect([steps(log), said(log), checkLog(log)]).toEqual([2, ['m'], []]);
  });

  test('while a tool works stands behind its result', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const { runId, result, sessionId } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    await begun;
    await rig.runtime.send({ sessionId: 'chat' }, { content: 'Faster!' }, steer);
    await rig.runtime.send({ sessionId }, { content: 'And louder!' }, steer);
    open();
    expect((await result()).ok).toBe(true);
    const roles = rig.model.calls[1]?.prompt.map(({ role }) => role);
    expect(roles?.slice(-2)).toEqual(['tool', 'user']);
    const asked = JSON.stringify(rig.model.calls[1]?.prompt.at(-1));
    expect(asked.indexOf('Faster!')).toBeLessThan(asked.indexOf('And louder!'));
    expect(runId).toBe((await rig.runtime.runs.list({ sessionId: 'chat' }))[0]?.runId);
  });

  test('E-665: while a person is waited for decides nothing, and is read behind the decision, over a restart', async () => {
    const tool = counted('risky', { permission: 'ask' });
    await using rig = openRuntime([simpleCall('a', 'risky', {}), done], { parts: { tools: [tool] } });
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    await rig.runtime.send({ runId }, { content: 'Take care!' }, steer);
    expect(await (await rig.runtime.handle(runId)).status()).toBe('awaiting-input');
    await rig.restart();
    await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
    await standing(rig.runtime, runId, 'completed');
    expect(JSON.stringify(rig.model.calls[1]?.prompt.at(-1))).toContain('Take care!');
    expect(tool.runs()).toBe(1);
  });

  test('E-661: in the tick of the end is in, and read, or refused: never neither', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 24; round++) {
      await using rig = openRuntime(() => done);
      const handle = await rig.runtime.submit('Go.');
      const at = round % 2 === 0 ? 'turn-complete' : 'step-finished';
      let outcome: Promise<string> | null = null;
      for await (const event of handle.stream())
        if (event.type === at && outcome === null) {
          for (let turn = 0; turn < round % 6; turn++) await new Promise((resolve) => setImmediate(resolve));
          outcome = rig.runtime.send(handle, { content: 'Wait!', messageId: 'm' }, steer).then(
            () => 'taken',
            (cause: unknown) => (cause instanceof RuntimeStateError ? 'refused' : String(cause)),
          );
        }
      const log = await logOf(rig.runtime, handle.runId);
      const taken = (await outcome) === 'taken';
      outcomes.add((await outcome) ?? '');
      expect([said(log), steps(log), checkLog(log)]).toEqual(taken ? [['m'], 2, []] : [[], 1, []]);
      expect((await handle.result()).undelivered).toEqual([]);
    }
    expect([...outcomes].filter((outcome) => outcome !== 'taken' && outcome !== 'refused')).toEqual([]);
  });

  test('E-662: twice under one id is stored once, also after the end; another text under it is refused', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.');
    await begun;
    const message = { content: 'Faster!', messageId: 'm' };
    await Promise.all(Array.from({ length: 9 }, () => rig.runtime.send({ runId }, message, steer)));
    const other = rig.runtime.send({ runId }, { ...message, content: 'Slower!' }, steer);
    await expect(other).rejects.toBeInstanceOf(IdempotencyConflictError);
    open();
    await result();
    expect(await rig.runtime.send({ runId }, message, steer)).toEqual({ messageId: 'm' });
    expect(said(await logOf(rig.runtime, runId))).toEqual(['m']);
  });

  test('after the end is refused, and one that no step read is named in the result', async () => {
    const { tool, begun } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {})], { parts: { tools: [tool] } });
    const { runId, result } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    await begun;
    await rig.runtime.send({ runId }, { content: 'Never mind.', messageId: 'm' }, steer);
    await rig.runtime.cancel(runId);
    expect(await result()).toMatchObject({ status: 'cancelled', undelivered: ['m'] });
    for (const target of [{ runId }, { sessionId: 'chat' }])
      await expect(rig.runtime.send(target, { content: 'Hello?' }, steer)).rejects.toBeInstanceOf(RuntimeStateError);
    const nobody = rig.runtime.send({ sessionId: 'nobody' }, { content: 'Hello?' }, steer);
    await expect(nobody).rejects.toBeInstanceOf(RuntimeStateError);
  });

  test('to a run of another process is read there', async () => {
    const { tool, begun, open } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const other = rig.beside();
    const { runId, result } = await rig.runtime.submit('Go.');
    await begun;
    await other.send({ runId }, { content: 'From afar.' }, steer);
    open();
    expect((await result()).ok).toBe(true);
    expect(JSON.stringify(rig.model.calls[1]?.prompt)).toContain('From afar.');
  });
});

describe('E-664: follow-ups', () => {
  const echo = ({ prompt }: { readonly prompt: unknown }) =>
    simpleText(`${[...JSON.stringify(prompt).matchAll(/Say (\w+)/g)].at(-1)?.[1]}.`);
  const outputs = async (runtime: Runtime) => {
    const runs = await runtime.runs.list({ sessionId: 'chat' });
    return Promise.all(runs.map(async ({ runId }) => (await (await runtime.handle(runId)).result()).output));
  };
  const numbered = async (runtime: Runtime, n: number) =>
    eventually(async () => {
      const runs = await runtime.runs.list({ sessionId: 'chat' });
      return (runs.length === n && runs.every(({ status }) => status === 'completed')) || undefined;
    });

  test('are runs of their own, in order, each with the conversation before it, over a restart', async () => {
    const first = heldModel(createScriptedModel(echo));
    await using rig = openRuntime(echo, { parts: { provider: first.model } });
    const { runId } = await rig.runtime.submit('Say one.', { sessionId: 'chat' });
    await first.begun;
    for (const word of ['two', 'three', 'four'])
      await rig.runtime.send({ runId }, { content: `Say ${word}.`, messageId: word }, followUp);
    const { entries, held: isHeld } = await rig.runtime.queue.list('chat');
    expect([isHeld, entries.map(({ messageId, status, position }) => [messageId, status, position])]).toEqual([
      false,
      [
        ['two', 'queued', 1],
        ['three', 'queued', 2],
        ['four', 'queued', 3],
      ],
    ]);
    await rig.runtime.queue.remove('chat', 'three');
    await rig.restart({ parts: {} });
    await numbered(rig.runtime, 3);
    expect(await outputs(rig.runtime)).toEqual(['one.', 'two.', 'four.']);
    expect(JSON.stringify(rig.model.calls.at(-1)?.prompt)).toMatch(/Say one.*two\..*Say four/);
    expect(await rig.runtime.queue.list('chat')).toEqual({ entries: [], held: false });
    await expect(rig.runtime.queue.remove('chat', 'two')).rejects.toBeInstanceOf(NotFoundError);
  });

  test('in a free session start at once; under one id once', async () => {
    await using rig = openRuntime(echo);
    await rig.runtime.run('Say one.', { sessionId: 'chat' });
    const message = { content: 'Say two.', messageId: 'm' };
    await Promise.all([1, 2, 3].map(() => rig.runtime.send({ sessionId: 'chat' }, message, followUp)));
    await numbered(rig.runtime, 2);
    const other = rig.runtime.send({ sessionId: 'chat' }, { ...message, content: 'Say three.' }, followUp);
    await expect(other).rejects.toBeInstanceOf(IdempotencyConflictError);
    expect(await outputs(rig.runtime)).toEqual(['one.', 'two.']);
  });

  test.each(['failed', 'cancelled'] as const)(
    'are held behind a run that was %s, over a restart, until they are let go',
    async (how) => {
      const { tool, begun, open } = held('work');
      const replies = [simpleCall('a', 'work', {}), ...(how === 'failed' ? [broken] : []), simpleText('two.')];
      await using rig = openRuntime(replies, { parts: { tools: [tool] } });
      const { runId, result } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
      await begun;
      await rig.runtime.send({ runId }, { content: 'Say two.', messageId: 'm' }, followUp);
      if (how === 'failed') open();
      else await rig.runtime.cancel(runId);
      expect((await result()).status).toBe(how);
      await rig.restart();
      await new Promise((resolve) => setTimeout(resolve, 150)); // Three scans.
      expect(await rig.runtime.queue.list('chat')).toMatchObject({ held: true, entries: [{ status: 'held' }] });
      await rig.runtime.queue.resume('chat');
      await eventually(async () => (await outputs(rig.runtime)).includes('two.') || undefined);
    },
  );

  test('wait for a run that waits for a person', async () => {
    const tool = counted('risky', { permission: 'ask' });
    await using rig = openRuntime([simpleCall('a', 'risky', {}), done, simpleText('two.')], {
      parts: { tools: [tool] },
    });
    const { runId } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    await standing(rig.runtime, runId, 'awaiting-input');
    await rig.runtime.send({ runId }, { content: 'Say two.' }, followUp);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await rig.runtime.runs.list({ sessionId: 'chat' })).toHaveLength(1);
    await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
    await numbered(rig.runtime, 2);
  });

  test('are done by the agent as it is when their turn comes', async () => {
    const { tool, begun } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), simpleText('two.')], { parts: { tools: [tool] } });
    const { runId } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
    await begun;
    await rig.runtime.send({ runId }, { content: 'Say two.' }, followUp);
    await rig.runtime.cancel(runId);
    await rig.restart({ config: { systemPrompt: 'Be brief.' } });
    await rig.runtime.queue.resume('chat');
    await eventually(async () => (await outputs(rig.runtime)).includes('two.') || undefined);
    expect(JSON.stringify(rig.model.calls.at(-1)?.prompt)).toContain('Be brief.');
  });
});
