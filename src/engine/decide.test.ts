import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig } from '../testing/engine-rig.ts';
import { decide } from './decide.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { expect, test } from 'vitest';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';

test('E-008: a run goes from command to command, and each follows from the log as far as it is', async () => {
  const rig = createEngineRig({
    replies: [
      { fault: { kind: 'status', status: 503 } },
      simpleCall('a', 'gated', {}),
      simpleCall('b', 'free', {}),
      { pieces: [{ kind: 'tool-call', id: 'c', name: 'free', arguments: ['{'] }], finish: 'length' },
      simpleText('Done.'),
    ],
    tools: [countingTool('gated', { permission: 'ask' }), countingTool('free')],
  });
  await rig.run();
  rig.decide('a', { decision: 'approve' });
  expect(await rig.resume()).toMatchObject({ status: 'completed' });
  const { runId, sessionId } = rig.state();
  const commands = rig.commits.map((until) => {
    const { do: command } = decide(rig.log.slice(0, until).reduce(evolve, initialRunState(runId, sessionId)));
    return command;
  });
  const steps = commands.filter((command, index) => command !== commands[index - 1]);
  const call = ['open-step', 'call-model'];
  const work = ['run-tools', 'collect-tools'];
  // A failed attempt calls again, after its wait. What has to be asked is found when a batch is prepared; the leg ends there.
  const asked = [...call, 'run-tools', 'park', 'none', ...work];
  expect(steps).toEqual([
    ...asked,
    ...call,
    ...work,
    ...call,
    'refuse-calls',
    'collect-tools',
    ...call,
    'finish',
    'none',
  ]);
});
