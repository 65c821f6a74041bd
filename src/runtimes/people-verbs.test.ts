import { afterEach, describe, expect, test } from 'vitest';
import { ApprovalClosedError, ApprovalConflictError, InvalidInputError, NotFoundError } from '../core/errors.ts';
import { checkLog } from '../testing/check-log.ts';
import { collect } from '../../test/support/agents.ts';
import { counted, eventually, logOf, ofType, openRuntime, standing, theOpen } from '../../test/support/runtimes.ts';
import { join } from 'node:path';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { tmpdir } from 'node:os';
import type { Decision, Runtime } from './runtime.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RuntimeRig, RuntimeRigOptions } from '../../test/support/runtimes.ts';

const done = simpleText('Done.');
const approve: Decision = { decision: 'approve' };
const opened: RuntimeRig[] = [];
afterEach(async () => {
  for (const rig of opened.splice(0)) await rig[Symbol.asyncDispose]();
});

/** A run whose one call of `risky` waits for a person. */
async function asking(
  options: RuntimeRigOptions = {},
  replies: readonly ScriptedReply[] = [simpleCall('a', 'risky', { n: 1 }), done],
) {
  const tool = counted('risky', { permission: 'ask' });
  const rig = openRuntime(replies, { ...options, parts: { tools: [tool], ...options.parts } });
  opened.push(rig);
  const { runId, result } = await rig.runtime.submit('Go.', { sessionId: 'chat' });
  await standing(rig.runtime, runId, 'awaiting-input');
  return { rig, tool, runId, result, asked: await theOpen(rig.runtime) };
}

const resultOf = async (runtime: Runtime, runId: string) => (await runtime.handle(runId)).result();
const answerOf = (events: readonly RunEvent[]) => ofType(events, 'tool-result').at(-1)?.data;

describe('E-600: an approval', () => {
  test('B083: is a stored object: listed by run, session, kind and status, in every process, over a restart, and then decided', async () => {
    const { rig, runId, asked, tool, result } = await asking();
    expect(asked).toMatchObject({
      runId,
      decided: null,
      pending: { kind: 'approval', status: 'pending', call: { name: 'risky', input: { n: 1 } } },
    });
    expect((await result()).pending).toMatchObject([{ approvalId: asked.approvalId }]);
    await rig.restart();
    const other = rig.beside();
    for (const { approvals } of [rig.runtime, other]) {
      expect(await approvals.get(asked.approvalId)).toEqual(asked);
      for (const filter of [
        {},
        { runId },
        { sessionId: 'chat' },
        { kind: 'approval' as const },
        { status: 'all' as const },
      ])
        expect(await approvals.list(filter)).toEqual([asked]);
      const others = [
        { sessionId: 'else' },
        { runId: 'resp_none' },
        { runId: 'nonsense' },
        { kind: 'question' as const },
      ];
      for (const filter of [...others, { status: 'approved' as const }])
        expect(await approvals.list(filter)).toEqual([]);
    }
    await other.approvals.decide(asked.approvalId, approve);
    expect(await resultOf(rig.runtime, runId)).toMatchObject({ output: 'Done.' });
    expect([tool.runs(), await rig.runtime.approvals.list()]).toEqual([1, []]);
    expect(rig.model.calls).toHaveLength(2);
  });

  test('E-613: keeps request, decision, who and when, and the call that followed says which one it was', async () => {
    const { rig, runId, asked, result } = await asking();
    const decided = await rig.runtime.approvals.decide(asked.approvalId, approve);
    expect(decided).toMatchObject({
      pending: { status: 'approved' },
      decided: { decision: 'approve', by: 'library', atMs: expect.any(Number) },
    });
    await result();
    const log = await logOf(rig.runtime, runId);
    expect(ofType(log, 'tool-dispatched')[0]?.data).toMatchObject({ authority: `approval:${asked.approvalId}` });
    expect(checkLog(log)).toEqual([]);
  });

  test('E-604, B085: a denial is told to the model with its note; that readers come and go decides nothing', async () => {
    const { rig, runId, asked, tool, result } = await asking();
    for await (const _ of await rig.runtime.events(runId, { follow: 'run' })) break;
    expect(await rig.runtime.approvals.get(asked.approvalId)).toEqual(asked);
    await rig.runtime.approvals.decide(asked.approvalId, { decision: 'deny', note: 'Not on a Friday.' });
    expect((await result()).status).toBe('completed');
    expect(answerOf(await logOf(rig.runtime, runId))).toMatchObject({
      isError: true,
      content: expect.stringContaining('Not on a Friday.'),
    });
    expect(tool.runs()).toBe(0);
  });

  test('E-602: the same word again gives the stored record; another one is told of the winner', async () => {
    const { rig, asked, result, tool } = await asking();
    const { approvals } = rig.runtime;
    const first = await approvals.decide(asked.approvalId, approve);
    expect(await approvals.decide(asked.approvalId, approve)).toEqual(first);
    await result();
    expect(await approvals.decide(asked.approvalId, approve)).toEqual(first);
    const other = approvals.decide(asked.approvalId, { decision: 'deny' });
    await expect(other).rejects.toBeInstanceOf(ApprovalConflictError);
    await expect(other).rejects.toMatchObject({
      detail: { approval: { status: 'approved', decision: { decision: 'approve' } } },
    });
    expect(tool.runs()).toBe(1);
  });

  test('E-602, E-947: of thirty decisions at once, in two processes, one wins, and the call runs as it says', async () => {
    for (let round = 0; round < 4; round++) {
      const { rig, asked, result, tool, runId } = await asking();
      const other = rig.beside();
      const settled = await Promise.allSettled(
        Array.from({ length: 30 }, (_, n) =>
          (n % 2 === 0 ? rig.runtime : other).approvals.decide(asked.approvalId, {
            decision: (n + round) % 3 === 0 ? 'deny' : 'approve',
          }),
        ),
      );
      const words = new Set(
        settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value.decided?.decision] : [])),
      );
      expect(words.size).toBe(1);
      await result();
      expect(tool.runs()).toBe(words.has('approve') ? 1 : 0);
      expect(ofType(await logOf(rig.runtime, runId), 'approval-decided')).toHaveLength(1);
    }
  });

  test('E-603: holds for the arguments that were seen', async () => {
    const { rig, asked, tool } = await asking();
    const stale = rig.runtime.approvals.decide(asked.approvalId, { ...approve, argsDigest: 'other' });
    await expect(stale).rejects.toBeInstanceOf(ApprovalClosedError);
    expect((await rig.runtime.approvals.get(asked.approvalId)).decided).toBeNull();
    await rig.runtime.approvals.decide(asked.approvalId, { ...approve, argsDigest: asked.pending.argsDigest });
    await eventually(() => tool.runs() === 1 || undefined);
  });

  test('E-602, E-607: of a run that was cancelled is closed, and says so', async () => {
    const { rig, asked, runId } = await asking();
    await rig.runtime.cancel(runId);
    await standing(rig.runtime, runId, 'cancelled');
    const late = rig.runtime.approvals.decide(asked.approvalId, approve);
    await expect(late).rejects.toBeInstanceOf(ApprovalClosedError);
    await expect(late).rejects.toMatchObject({ detail: { approval: { status: 'cancelled' } } });
  });

  test('E-606: expires by the policy of its agent, as a denial', async () => {
    const { rig, asked, result, tool } = await asking({ config: { approvals: { expiresAfterSeconds: 2 } } });
    expect(asked.pending.expiresAtMs).toBe(asked.pending.requestedAtMs + 2_000);
    await eventually(async () => (await result()).status === 'completed' || undefined);
    expect(await rig.runtime.approvals.get(asked.approvalId)).toMatchObject({
      pending: { status: 'expired' },
      decided: { by: 'engine' },
    });
    await expect(rig.runtime.approvals.decide(asked.approvalId, approve)).rejects.toBeInstanceOf(ApprovalClosedError);
    expect(tool.runs()).toBe(0);
  });

  test('E-606: or cancels its run, and never does without a limit', async () => {
    const { rig, runId } = await asking({ config: { approvals: { expiresAfterSeconds: 1, onExpiry: 'cancel-run' } } });
    await standing(rig.runtime, runId, 'cancelled');
    expect((await asking()).asked.pending.expiresAtMs).toBeNull();
  });

  test('E-608: a committed reply is used; what was said of one call stays while others are open, and they are not asked for again', async () => {
    const tools = [counted('one', { permission: 'ask' }), counted('two', { permission: 'ask' })];
    const rig = openRuntime([simpleCalls(['a', 'one', {}], ['b', 'two', {}]), done], { parts: { tools } });
    opened.push(rig);
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    for (const left of [1, 0]) {
      const [newest] = await rig.runtime.approvals.list();
      await rig.runtime.approvals.decide(newest?.approvalId ?? '', approve);
      await rig.restart();
      expect(await rig.runtime.approvals.list()).toHaveLength(left);
    }
    expect((await resultOf(rig.runtime, runId)).ok).toBe(true);
    const log = await logOf(rig.runtime, runId);
    expect([
      ofType(log, 'approval-required').length,
      rig.model.calls.length,
      ...tools.map(({ runs }) => runs()),
    ]).toEqual([2, 2, 1, 1]);
    expect(checkLog(log)).toEqual([]);
  });

  test('a decision in the moment of the park is never lost', async () => {
    for (let round = 0; round < 12; round++) {
      const tool = counted('risky', { permission: 'ask' });
      const rig = openRuntime([simpleCall('a', 'risky', {}), done], { parts: { tools: [tool] } });
      opened.push(rig);
      const handle = await rig.runtime.submit('Go.');
      for await (const event of handle.stream({ follow: 'run' })) {
        if (event.type !== 'approval-required') continue;
        for (let turn = 0; turn < round % 6; turn++) await new Promise((resolve) => setImmediate(resolve));
        void rig.runtime.approvals.decide(event.data.approvalId, approve);
      }
      expect([tool.runs(), (await handle.result()).output]).toEqual([1, 'Done.']);
      expect(checkLog(await collect(handle.stream({ follow: 'run' })))).toEqual([]);
    }
  });

  test('a name that is none is not found, and a verb that is for another kind is refused', async () => {
    const { rig, asked } = await asking();
    await expect(rig.runtime.approvals.decide('apr_none', approve)).rejects.toBeInstanceOf(NotFoundError);
    await expect(rig.runtime.approvals.answer(asked.approvalId, 'declined')).rejects.toBeInstanceOf(InvalidInputError);
  });
});

describe('E-609: a remembered decision', () => {
  const calls = (n: number) =>
    simpleCalls(...Array.from({ length: n }, (_, at) => [`c${at}`, 'risky', { n: at }] as const));
  /** Decides the first call so, and gives how many of the next two asked for nothing. */
  async function remembering(scope: 'run' | 'session' | 'agent', match: 'tool' | 'exact-args') {
    const replies = [
      simpleCall('a', 'risky', { n: 1 }),
      simpleCall('b', 'risky', { n: 1 }),
      simpleCall('c', 'risky', { n: 2 }),
      done,
    ];
    const { rig, asked, runId, tool } = await asking({}, replies);
    await rig.runtime.approvals.decide(asked.approvalId, { ...approve, remember: { scope, match } });
    return { rig, runId, tool };
  }

  test('of the same arguments, or of the tool, is used for later calls of its run', async () => {
    const exact = await remembering('run', 'exact-args');
    expect((await theOpen(exact.rig.runtime)).pending.call.id).toBe('c');
    const whole = await remembering('run', 'tool');
    await standing(whole.rig.runtime, whole.runId, 'completed');
    const log = await logOf(whole.rig.runtime, whole.runId);
    const [rule] = await whole.rig.runtime.rules.list();
    expect(rule).toMatchObject({
      scope: 'run',
      match: 'tool',
      toolName: 'risky',
      effect: 'allow',
      by: 'library',
      runId: whole.runId,
    });
    const said = ofType(log, 'tool-dispatched').map(({ data }) => data);
    expect(said.slice(1)).toMatchObject([{ authority: `rule:${rule?.ruleId}` }, { authority: `rule:${rule?.ruleId}` }]);
  });

  test.each(['run', 'session', 'agent'] as const)(
    'of scope %s reaches as far as that and no further, over a restart',
    async (scope) => {
      const replies = Array.from({ length: 3 }, () => [calls(1), done]).flat();
      const { rig, asked, runId } = await asking({}, replies);
      await rig.runtime.approvals.decide(asked.approvalId, { ...approve, remember: { scope, match: 'tool' } });
      await standing(rig.runtime, runId, 'completed');
      await rig.restart({ config: { systemPrompt: 'Changed.' } });
      const same = await rig.runtime.run('Go.', { sessionId: 'chat' });
      expect(same.status).toBe(scope === 'run' ? 'awaiting-input' : 'completed');
      if (scope === 'run') return;
      const other = await rig.runtime.run('Go.', { sessionId: 'other' });
      expect(other.status).toBe(scope === 'agent' ? 'completed' : 'awaiting-input');
    },
  );

  test('that is taken back is asked about again, and is gone from the list', async () => {
    const { rig, asked, runId } = await asking({}, [calls(1), done, calls(1), done]);
    await rig.runtime.approvals.decide(asked.approvalId, { ...approve, remember: { scope: 'agent', match: 'tool' } });
    await standing(rig.runtime, runId, 'completed');
    const [rule] = await rig.runtime.rules.list({ sessionId: 'chat' });
    await rig.runtime.rules.revoke(rule?.ruleId ?? '');
    expect(await rig.runtime.rules.list()).toEqual([]);
    await expect(rig.runtime.rules.revoke(rule?.ruleId ?? '')).rejects.toBeInstanceOf(NotFoundError);
    expect((await rig.runtime.run('Go.')).status).toBe('awaiting-input');
  });

  test('never across tools, and never over a `deny`', async () => {
    const other = counted('other', { permission: 'ask' });
    const tool = counted('risky', { permission: 'ask' });
    const { rig, asked, runId } = await asking({ parts: { tools: [tool, other] } }, [
      calls(1),
      done,
      calls(1),
      simpleCall('o', 'other', {}),
      done,
    ]);
    await rig.runtime.approvals.decide(asked.approvalId, { ...approve, remember: { scope: 'agent', match: 'tool' } });
    await standing(rig.runtime, runId, 'completed');
    await rig.restart({ config: { toolPermissions: { risky: 'deny' } } });
    const result = await rig.runtime.run('Go.');
    expect(result.pending).toMatchObject([{ call: { name: 'other' } }]);
    expect(tool.runs()).toBe(1);
  });

  test('of a folder holds for what is in it once links are resolved', async () => {
    const workspace = mkdtempSync(join(tmpdir(), 'reins-rules-'));
    for (const name of ['notes', 'secret', 'notes2']) mkdirSync(join(workspace, name));
    symlinkSync(join(workspace, 'secret'), join(workspace, 'notes', 'out'));
    const write = (id: string, path: string) => simpleCall(id, 'write_file', { path, content: 'x' });
    const paths = ['notes/a', 'notes/b', 'notes/out/c', 'notes2/d'];
    const config = { permissionMode: 'allow-reads' } as const;
    const rig = openRuntime([...paths.map((path, at) => write(`${at}`, path)), done], { config, parts: { workspace } });
    opened.push(rig);
    const { runId, result } = await rig.runtime.submit('Go.');
    const first = await theOpen(rig.runtime);
    await rig.runtime.approvals.decide(first.approvalId, {
      ...approve,
      remember: { scope: 'run', match: { pathPrefix: 'notes' } },
    });
    for (const path of ['notes/out/c', 'notes2/d']) {
      const asked = await theOpen(rig.runtime, { runId });
      expect(asked.pending.call.input).toMatchObject({ path });
      await rig.runtime.approvals.decide(asked.approvalId, { decision: 'deny' });
    }
    expect((await result()).ok).toBe(true);
    rmSync(workspace, { recursive: true });
  });
});

describe('E-611: a question', () => {
  const questions = [{ id: 'colour', question: 'Which colour?', options: ['red', 'blue'] }];
  const asks = [simpleCall('q', 'ask_user_questions', { questions }), done];
  const options = { config: { questions: true } } as const;

  test('is answered over a restart, and its answers are what the model reads', async () => {
    const { rig, asked, runId } = await asking(options, asks);
    expect(asked.pending).toMatchObject({ kind: 'question', questions: [{ id: 'colour' }] });
    await rig.restart();
    const { approvals } = rig.runtime;
    await expect(approvals.answer(asked.approvalId, [{ id: 'size', text: 'big' }])).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    await expect(approvals.answer(asked.approvalId, [{ id: 'colour', selected: ['green'] }])).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    await approvals.answer(asked.approvalId, [{ id: 'colour', selected: ['blue'] }]);
    await standing(rig.runtime, runId, 'completed');
    const log = await logOf(rig.runtime, runId);
    expect(answerOf(log)).toMatchObject({ isError: false, content: expect.stringContaining('blue') });
    expect(ofType(log, 'tool-dispatched')).toEqual([]);
  });

  test('that is declined, or that nobody answers in time, is told as that', async () => {
    const declined = await asking(options, asks);
    await declined.rig.runtime.approvals.answer(declined.asked.approvalId, 'declined');
    const expired = await asking({ config: { questions: true, approvals: { expiresAfterSeconds: 1 } } }, asks);
    for (const { rig, runId } of [declined, expired]) {
      await standing(rig.runtime, runId, 'completed');
      expect(answerOf(await logOf(rig.runtime, runId))).toMatchObject({
        isError: false,
        content: expect.stringMatching(/declined/i),
      });
    }
  });

  test('B088: what was done before two questions that are answered one by one was done once, and each was put once', async () => {
    const tool = counted('effect', { concurrent: false });
    const ask = (id: string) => [id, 'ask_user_questions', { questions }] as const;
    const rig = openRuntime([simpleCall('e', 'effect', {}), simpleCalls(ask('q1'), ask('q2')), done], {
      ...options,
      parts: { tools: [tool] },
    });
    opened.push(rig);
    const { runId } = await rig.runtime.submit('Go.');
    await standing(rig.runtime, runId, 'awaiting-input');
    for (const { approvalId } of await rig.runtime.approvals.list()) {
      await rig.runtime.approvals.answer(approvalId, [{ id: 'colour', selected: ['red'] }]);
      await rig.restart();
    }
    await standing(rig.runtime, runId, 'completed');
    const log = await logOf(rig.runtime, runId);
    expect([tool.runs(), ofType(log, 'approval-required').length, rig.model.calls.length]).toEqual([1, 2, 3]);
  });
});
