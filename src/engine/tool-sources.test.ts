// Tools that come from sources beside those of the agent.

import { expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig } from '../testing/engine-rig.ts';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import type { Tool, ToolSource } from './tool.ts';

const sourceOf = (...tools: readonly Tool[]): ToolSource => {
  const listing = { tools, degraded: [] };
  return { list: async () => listing, async [Symbol.asyncDispose]() {} };
};

test('UP-38: of two sources with a tool of one name the later is meant, and the name is offered once', async () => {
  const [first, second, fixed] = [countingTool('one'), countingTool('one'), countingTool('two')];
  const rig = createEngineRig({
    replies: [simpleCall('a', 'one', {}), simpleText('Done.')],
    tools: [fixed],
    parts: { sources: [sourceOf(first), sourceOf(second, countingTool('two'))] },
  });
  await rig.run();
  expect([first.runs.length, second.runs.length]).toEqual([0, 1]);
  const offered = rig.model.calls[0]?.tools?.map(({ name }) => name) ?? [];
  expect(offered.toSorted()).toEqual([...new Set(offered)].toSorted());
  expect(offered).toEqual(expect.arrayContaining(['one', 'two']));
});

test.each(['fixture_echo', 'Fixture-Echo', 'functions.fixture_echo'])(
  'UT-27, U-130: a disabled tool of a source is not offered, and a call of %s runs nothing',
  async (name) => {
    const tool = countingTool('fixture_echo');
    const rig = createEngineRig({
      replies: [simpleCall('a', name, {}), simpleText('Done.')],
      config: { disabledTools: ['fixture_echo'] },
      parts: { sources: [sourceOf(tool)] },
    });
    expect(await rig.run()).toMatchObject({ status: 'completed' });
    expect(tool.runs).toEqual([]);
    expect(rig.model.calls[0]?.tools?.map((each) => each.name)).not.toContain('fixture_echo');
    expect(rig.events('tool-call-complete').map(({ data }) => data.outcome)).toEqual(['invalid']);
  },
);
