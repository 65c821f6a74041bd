import { afterEach, describe, expect, test } from 'vitest';
import { ApprovalClosedError, ApprovalConflictError, UnknownExecutionKey } from '../core/errors.ts';
import { checkLog } from '../testing/check-log.ts';
import { held, logOf, ofType, openRuntime, standing, theOpen } from '../../test/support/runtimes.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RuntimeRig, RuntimeRigOptions } from '../../test/support/runtimes.ts';

const done = simpleText('Done.');
const answerOf = (events: readonly RunEvent[]) => ofType(events, 'tool-result').at(-1)?.data;
const opened: RuntimeRig[] = [];
afterEach(async () => {
  for (const rig of opened.splice(0)) await rig[Symbol.asyncDispose]();
});

describe('E-543: a call whose outcome nobody knows', () => {
  /** A manual call that a timeout has cut off (E-541). */
  async function unknown(facts: Parameters<typeof held>[1] = {}, config: RuntimeRigOptions['config'] = {}) {
    const { tool, open } = held('pay', { timeoutSeconds: 1, ...facts });
    const rig = openRuntime([simpleCall('a', 'pay', {}), done], { config, parts: { tools: [tool] } });
    opened.push(rig);
    const { runId, result } = await rig.runtime.submit('Go.');
    return { rig, runId, result, tool, open };
  }

  test('E-541, E-542: waits for a word, is listed as such over a restart, and is not run again', async () => {
    const { rig, runId, tool } = await unknown();
    await standing(rig.runtime, runId, 'awaiting-input');
    await rig.restart();
    const [entry] = await rig.runtime.recovery.list();
    expect(entry?.pending).toMatchObject({ kind: 'recovery', status: 'uncertain', call: { name: 'pay' } });
    const executionKey = entry?.pending.executionKey ?? '';
    await rig.runtime.recovery.resolve(executionKey, { result: { content: 'It was paid.' } });
    await standing(rig.runtime, runId, 'completed');
    const log = await logOf(rig.runtime, runId);
    expect(answerOf(log)).toMatchObject({ content: 'It was paid.', isError: false });
    expect([tool.runs(), checkLog(log)]).toEqual([1, []]);
  });

  test('is run again under the same key where a person says so', async () => {
    const { rig, runId, tool, open, result } = await unknown();
    await standing(rig.runtime, runId, 'awaiting-input');
    open();
    const { pending } = await theOpen(rig.runtime);
    await rig.runtime.recovery.resolve(pending.executionKey, 'retry');
    expect((await result()).ok).toBe(true);
    const keys = ofType(await logOf(rig.runtime, runId), 'tool-dispatched').map(({ data }) => data);
    expect(keys).toMatchObject([
      { executionKey: pending.executionKey, toolAttempt: 1 },
      { executionKey: pending.executionKey, toolAttempt: 2 },
    ]);
    expect(tool.runs()).toBe(2);
  });

  test('is given up as an error that the model reads; the same word again is a success, another one a conflict', async () => {
    const { rig, runId } = await unknown();
    await standing(rig.runtime, runId, 'awaiting-input');
    const { pending } = await theOpen(rig.runtime);
    const { recovery } = rig.runtime;
    const first = await recovery.resolve(pending.executionKey, 'abort');
    expect(await recovery.resolve(pending.executionKey, 'abort')).toEqual(first);
    await expect(recovery.resolve(pending.executionKey, 'retry')).rejects.toBeInstanceOf(ApprovalConflictError);
    await standing(rig.runtime, runId, 'completed');
    expect(answerOf(await logOf(rig.runtime, runId))).toMatchObject({
      isError: true,
      content: expect.stringContaining('unknown'),
    });
  });

  test('nobody can say anything of a key that is none, or of a run that is over', async () => {
    const { rig, runId } = await unknown();
    await standing(rig.runtime, runId, 'awaiting-input');
    const { pending } = await theOpen(rig.runtime);
    for (const key of ['', 'nonsense', `${runId}:1:z`, 'resp_none:1:a'])
      await expect(rig.runtime.recovery.resolve(key, 'abort')).rejects.toBeInstanceOf(UnknownExecutionKey);
    await rig.runtime.cancel(runId);
    await standing(rig.runtime, runId, 'cancelled');
    await expect(rig.runtime.recovery.resolve(pending.executionKey, 'abort')).rejects.toBeInstanceOf(
      ApprovalClosedError,
    );
  });

  test('E-542: is told to the model where the tool, or else the agent, says so', async () => {
    const cases = [
      await unknown({ onUnknown: 'tell-model' }),
      await unknown({}, { approvals: { onUnknown: 'tell-model' } }),
    ];
    for (const { rig, runId } of cases) {
      await standing(rig.runtime, runId, 'completed');
      expect(answerOf(await logOf(rig.runtime, runId))).toMatchObject({ isError: true });
    }
  });

  test('E-606: and is given up when nobody says anything in time', async () => {
    const { rig, runId } = await unknown({}, { approvals: { expiresAfterSeconds: 1 } });
    await standing(rig.runtime, runId, 'completed');
    expect(ofType(await logOf(rig.runtime, runId), 'approval-decided')[0]?.data).toMatchObject({
      kind: 'recovery',
      decision: 'expired',
    });
  });
});
