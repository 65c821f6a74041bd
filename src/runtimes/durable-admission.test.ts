import { describe, expect, test } from 'vitest';
import { checkLog } from '../testing/check-log.ts';
import { collect, endless } from '../../test/support/agents.ts';
import { ConfigurationError, IdempotencyConflictError, RuntimeStateError, SessionBusyError } from '../core/errors.ts';
import { counted, held, openRuntime, standing } from '../../test/support/runtimes.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';

const done = simpleText('Done.');
const broken: ScriptedReply = { fault: { kind: 'status', status: 400 } };
const always = () => done;

describe('E-050: submit', () => {
  test('returns when the run, its key, its session and its first event are stored, and not before', async () => {
    await using rig = openRuntime([endless('Wor', 'king')]);
    const { runId, sessionId } = await rig.runtime.submit('Go.', { sessionId: 'chat', requestId: 'one' });
    expect(await rig.store.run(runId)).toMatchObject({ status: 'running', sessionId });
    expect(await rig.store.session(sessionId)).toMatchObject({ runningRunId: runId });
    expect(await rig.store.idempotency('library', 'one')).toMatchObject({ runId });
    const [first] = await rig.store.readEvents(runId, { after: 0, limit: 1 });
    const input = [{ content: [{ type: 'text', text: 'Go.' }] }];
    expect(first).toMatchObject({ seq: 1, type: 'run-started', data: { leg: 1, cause: 'submit', input } });
  });

  test('B113: a hundred at once with one key, through two processes and on a fresh store, make one run', async () => {
    await using rig = openRuntime(always);
    const other = rig.beside();
    const submit = (n: number) => (n % 2 === 0 ? rig.runtime : other).submit('Go.', { requestId: 'one' });
    const handles = await Promise.all(Array.from({ length: 100 }, (_, n) => submit(n)));
    expect(new Set(handles.map(({ runId }) => runId)).size).toBe(1);
    const results = await Promise.all(handles.map((handle) => handle.result()));
    expect(new Set(results.map(({ output }) => output))).toEqual(new Set(['Done.']));
    expect(rig.model.calls).toHaveLength(1);
  });

  test.each([
    ['another input', 'Stop.', {}],
    ['another session', 'Go.', { sessionId: 'chat' }],
    ['other limits', 'Go.', { limits: { maxSteps: 1 } }],
    ['other metadata', 'Go.', { metadata: { a: 1 } }],
  ])('the same key with %s is refused', async (_, input, change) => {
    await using rig = openRuntime(always);
    await rig.runtime.run('Go.', { requestId: 'one' });
    await expect(rig.runtime.submit(input, { requestId: 'one', ...change })).rejects.toBeInstanceOf(
      IdempotencyConflictError,
    );
    expect(rig.model.calls).toHaveLength(1);
  });

  test('a key holds over a restart, though its session has gone on and its agent has changed', async () => {
    await using rig = openRuntime(always);
    const options = { requestId: 'one', sessionId: 'chat' };
    const { runId } = await rig.runtime.submit('Go.', options);
    await (await rig.runtime.handle(runId)).result();
    await rig.runtime.run('And on.', { sessionId: 'chat' });
    await rig.restart({ config: { systemPrompt: 'Be brief.' } });
    expect((await rig.runtime.submit('Go.', options)).runId).toBe(runId);
    expect(rig.model.calls).toHaveLength(2);
  });

  test('an agent that is not named is the only one; a name that is none is refused', async () => {
    await using rig = openRuntime(always, {
      agents: [{ config: { name: 'other' }, parts: { provider: createScriptedModel(always) } }],
    });
    for (const options of [{}, { agent: 'nobody' }])
      await expect(rig.runtime.submit('Go.', options)).rejects.toThrow('this runtime has: worker, other');
    expect(await rig.runtime.run('Go.', { agent: 'other' })).toMatchObject({ output: 'Done.' });
    expect(rig.model.calls).toHaveLength(0);
  });

  test('what can never work is refused and leaves nothing behind', async () => {
    await using rig = openRuntime(always);
    await expect(rig.runtime.run('Go.', { model: 'no/such', requestId: 'one' })).rejects.toThrow('no/such');
    await expect(rig.runtime.run('Go.', { limits: { maxSteps: -1 } })).rejects.toBeInstanceOf(ConfigurationError);
    expect(await rig.runtime.run('Go.', { requestId: 'one' })).toMatchObject({ output: 'Done.' });
    expect(await rig.store.unfinishedRuns()).toEqual([]);
  });

  test('E-105: parts of a message keep their bytes with the run', async () => {
    await using rig = openRuntime(always);
    const data = new Uint8Array([137, 80, 78, 71]);
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data },
    ] as const;
    const { runId } = await rig.runtime.run({ content, messageId: 'mine' });
    const [first] = await rig.store.readEvents(runId, { after: 0, limit: 1 });
    const parts = first?.type === 'run-started' ? first.data.input?.[0]?.content : undefined;
    expect(parts?.[1]).toMatchObject({ type: 'media', bytes: 4 });
    expect(JSON.stringify(rig.model.calls[0]?.prompt)).toContain('image/png');
  });
});

describe('E-023: a session', () => {
  test('B106: takes one of fifty at once, also where it is new, and the rest are told who is at work', async () => {
    await using rig = openRuntime(() => endless('Wor'));
    const other = rig.beside();
    const submit = (n: number) => (n % 2 === 0 ? rig.runtime : other).submit(`${n}`, { sessionId: 'chat' });
    const settled = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => submit(n)));
    const [taken, ...more] = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect([taken !== undefined, more]).toEqual([true, []]);
    const refused = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    for (const reason of refused) expect(reason).toBeInstanceOf(SessionBusyError);
    expect(refused[0]).toMatchObject({ runId: taken?.runId, code: 'session_busy' });
  });

  test('carries the conversation on, run after run and over a restart and a change of its agent', async () => {
    await using rig = openRuntime((_, at) => simpleText(`Answer ${at}.`));
    const first = await rig.runtime.run('One.', { sessionId: 'chat' });
    await rig.restart({ config: { systemPrompt: 'Be brief.' } });
    const second = await rig.runtime.run('Two.', { sessionId: first.sessionId });
    expect(second.sessionId).toBe(first.sessionId);
    const prompt = JSON.stringify(rig.model.calls[1]?.prompt);
    for (const part of ['Be brief.', 'One.', 'Answer 0.', 'Two.']) expect(prompt).toContain(part);
    const runs = await rig.runtime.runs.list({ sessionId: 'chat' });
    expect(runs.map(({ runId, turn }) => [runId, turn])).toEqual([
      [first.runId, 1],
      [second.runId, 2],
    ]);
  });

  test('of an id that no runtime gave, or that is gone, is refused', async () => {
    await using rig = openRuntime(always);
    await expect(rig.runtime.run('Go.', { sessionId: 'hsess0815' })).rejects.toBeInstanceOf(RuntimeStateError);
  });

  test('cancel, then the next one at once: the transcripts never mix', async () => {
    await using rig = openRuntime(({ prompt }) => {
      const asked = [...JSON.stringify(prompt).matchAll(/Question (\d+)/g)].at(-1)?.[1];
      return Number(asked) % 2 === 0 ? endless('Never ', 'mind') : simpleText(`Answer ${asked}.`);
    });
    for (let round = 0; round < 6; round++) {
      const handle = await rig.runtime.submit(`Question ${round}.`, { sessionId: 'chat' });
      if (round % 2 === 0) await rig.runtime.cancel(handle.runId);
      const { status, output } = await handle.result();
      expect([status, output]).toEqual(round % 2 === 0 ? ['cancelled', ''] : ['completed', `Answer ${round}.`]);
      expect(checkLog(await collect(handle.stream()))).toEqual([]);
    }
    const last = rig.model.calls.at(-1)?.prompt.map(({ role }) => role);
    expect(last?.every((role, at) => role !== last[at + 1])).toBe(true);
  });
});

describe('E-052: retry', () => {
  test('goes on from what was said before, without a new message', async () => {
    const tool = counted('look');
    await using rig = openRuntime([simpleCall('a', 'look', {}), broken, done], { parts: { tools: [tool] } });
    const failed = await rig.runtime.run('Look.', {
      sessionId: 'chat',
      metadata: { mine: true },
      limits: { maxSteps: 7 },
    });
    expect(failed.status).toBe('failed');
    const handle = await rig.runtime.retry(failed.runId);
    expect(await handle.result()).toMatchObject({ status: 'completed', output: 'Done.', sessionId: failed.sessionId });
    expect([handle.runId === failed.runId, tool.runs()]).toEqual([false, 1]);
    const [first] = await collect(handle.stream());
    expect(first).toMatchObject({
      data: { cause: 'retry', limits: { maxSteps: 7 }, task: { metadata: { mine: true } } },
    });
    expect(first?.data).not.toHaveProperty('input');
    expect(rig.model.calls[2]?.prompt).toEqual(rig.model.calls[1]?.prompt);
  });

  test('E-213: has a budget of attempts of its own', async () => {
    const busy: ScriptedReply = { fault: { kind: 'status', status: 503 } };
    const retry = { attempts: 2, backoffSeconds: 0.001, maxBackoffSeconds: 0.002 };
    await using rig = openRuntime([busy, busy, busy, done], { config: { retry } });
    const failed = await rig.runtime.run('Go.');
    expect([failed.status, failed.attempts]).toEqual(['failed', 2]);
    expect(await (await rig.runtime.retry(failed.runId)).result()).toMatchObject({ status: 'completed', attempts: 2 });
  });

  test('over a restart, and with the agent as it is then', async () => {
    await using rig = openRuntime([broken, done]);
    const failed = await rig.runtime.run('Go.');
    await rig.restart({ config: { systemPrompt: 'Be brief.' } });
    expect(await (await rig.runtime.retry(failed.runId)).result()).toMatchObject({ output: 'Done.' });
    expect(JSON.stringify(rig.model.calls[1]?.prompt)).toContain('Be brief.');
  });

  test('of two at once one is a run; of what did not fail, or is not the newest, there is none', async () => {
    await using rig = openRuntime([broken, done, done]);
    const failed = await rig.runtime.run('Go.', { sessionId: 'chat' });
    const both = await Promise.allSettled([rig.runtime.retry(failed.runId), rig.runtime.retry(failed.runId)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    const [next] = (await rig.runtime.runs.list({ sessionId: 'chat' })).slice(-1);
    await standing(rig.runtime, next?.runId ?? '', 'completed');
    await expect(rig.runtime.retry(next?.runId ?? '')).rejects.toThrow('Only a failed run');
    await expect(rig.runtime.retry(failed.runId)).rejects.toMatchObject({ code: 'reins_not_session_tip' });
  });

  test('a failed run does not block its session', async () => {
    await using rig = openRuntime([broken, done]);
    await rig.runtime.run('Go.', { sessionId: 'chat' });
    expect(await rig.runtime.run('Again.', { sessionId: 'chat' })).toMatchObject({ output: 'Done.' });
  });
});

describe('E-040: the signal of a run', () => {
  test.each(['submit', 'runStream'] as const)(
    'that has aborted ends it before the first model call (%s)',
    async (verb) => {
      await using rig = openRuntime(always);
      const options = { signal: AbortSignal.abort() };
      const result =
        verb === 'submit'
          ? (await rig.runtime.submit('Go.', options)).result()
          : rig.runtime.runStream('Go.', options).result();
      expect(await result).toMatchObject({ status: 'cancelled', attempts: 0 });
      expect(rig.model.calls).toHaveLength(0);
    },
  );

  test('cancels it whenever it aborts, also while it waits for a person', async () => {
    const gate = new AbortController();
    const parts = { tools: [counted('risky', { permission: 'ask' })] };
    await using rig = openRuntime([simpleCall('a', 'risky', {})], { parts });
    const handle = await rig.runtime.submit('Go.', { signal: gate.signal });
    expect((await handle.result()).status).toBe('awaiting-input');
    gate.abort();
    await standing(rig.runtime, handle.runId, 'cancelled');
  });

  test('E-847: is let go of with the run', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => ((listeners += 1), add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => ((listeners -= 1), remove(...args));
    const { tool, open, begun } = held('work');
    await using rig = openRuntime([simpleCall('a', 'work', {}), done], { parts: { tools: [tool] } });
    const handle = await rig.runtime.submit('Go.', { signal, requestId: 'one' });
    await rig.runtime.submit('Go.', { signal, requestId: 'one' });
    await begun;
    expect(listeners).toBe(2);
    open();
    await handle.result();
    expect(listeners).toBe(0);
    await rig.runtime.submit('Go.', { signal, requestId: 'one' });
    expect(listeners).toBe(0);
  });
});
