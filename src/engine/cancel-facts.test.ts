// What a run that is cancelled says it has done and used: no more than is known, and no less (E-062, E-541, E-818).

import { describe, expect, test } from 'vitest';
import { closeRun } from '../core/closing.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig } from '../testing/engine-rig.ts';
import { runIds } from '../core/ids.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import { StopTurn } from '../core/stop-turn.ts';

const done = simpleText('Done.');
const used = { usage: { inputTokens: 10, outputTokens: 1 } };

describe('E-062: a cancel before the model was called leaves no unknown usage', () => {
  test('in the tick in which the step opens', async () => {
    const rig = createEngineRig({ replies: [done] });
    const result = await rig.run({ onEvent: ({ type }) => type === 'step-started' && rig.stop.abort() });
    expect([rig.model.calls.length, result?.status, result?.usageIncomplete]).toEqual([0, 'cancelled', false]);
  });

  test('of a run that was paused there', async () => {
    const rig = createEngineRig({ replies: [done] });
    await rig.run({ onEvent: ({ type }) => type === 'step-started' && rig.pause.abort() });
    rig.stop.abort();
    expect(await rig.resume('resume')).toMatchObject({ status: 'cancelled', usageIncomplete: false });
    expect(rig.model.calls).toHaveLength(0);
  });

  test('of a paused run that its host ends without its engine', async () => {
    const rig = createEngineRig({ replies: [done] });
    await rig.run({ onEvent: ({ type }) => type === 'step-started' && rig.pause.abort() });
    const drafts = closeRun(rig.state(), { status: 'cancelled', wasParked: true }, rig.clock.now() + 5000);
    expect(drafts.at(-1)?.data).toMatchObject({ status: 'cancelled', usageIncomplete: false });
  });

  test('but one that is under way has used what nobody knows', async () => {
    const rig = createEngineRig({ replies: [{ ...simpleText('a', 'b'), fault: { kind: 'stall', after: 1 } }] });
    rig.clock.timer(2500, () => rig.stop.abort());
    expect(await rig.run()).toMatchObject({ status: 'cancelled', usageIncomplete: true });
  });
});

test('E-905: what the run of a call has used, a cancelled parent does not know', async () => {
  const child = countingTool('child', {
    replay: 'idempotent',
    childRunId: () => runIds.make('child'),
    run: () => new Promise(() => {}),
  });
  const rig = createEngineRig({ replies: [{ ...simpleCall('a', 'child', {}), ...used }, done], tools: [child] });
  await rig.run({ leaveAt: 'tool-dispatched' });
  rig.stop.abort();
  const result = await rig.recover();
  expect(result).toMatchObject({ status: 'cancelled', usage: { inputTokens: 10 }, usageIncomplete: true });
});

describe('E-541: a manual call that ends well in the tick of the stop has its own outcome', () => {
  test.each(['cancel', 'time', 'shutdown'] as const)('%s', async (how) => {
    const tool = countingTool('send', {
      run: async () => (rig.stop.abort(new StopTurn(how)), { content: 'Mail 17 was sent.' }),
    });
    const rig = createEngineRig({ replies: [simpleCall('a', 'send', {}), done], tools: [tool] });
    const result = await rig.run();
    expect(result?.pending ?? []).toEqual([]);
    const [complete] = rig.events('tool-call-complete');
    expect(complete?.data).toMatchObject({ outcome: 'ok', _raw: 'Mail 17 was sent.' });
  });
});
