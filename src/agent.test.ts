import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkLog } from './testing/check-log.ts';
import { createAgent } from './agent.ts';
import { loadConfig } from './config.ts';
import type { RunEvent } from './core/run-event.ts';

function demoAgent(speed: 'full' | 'human' = 'full') {
  const cwd = mkdtempSync(join(tmpdir(), 'reins-agent-'));
  writeFileSync(join(cwd, 'notes.txt'), 'First thing. Second thing. Third thing.');
  const env = { REINS_DEMO_SPEED: speed };
  return createAgent({ model: 'demo', cwd, config: loadConfig({ env, readFile: () => null }) });
}

test('E-021: run and runStream give the same result, which the last event holds', async () => {
  await using agent = demoAgent();
  const whole = await agent.run('Summarise notes.txt in two bullets');
  expect(whole).toMatchObject({ status: 'completed', output: '- First thing.\n- Second thing.' });
  const stream = agent.runStream('Summarise notes.txt in two bullets');
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(checkLog(events)).toEqual([]);
  expect(events.at(-1)?.data).toEqual(await stream.result());
  expect((await stream.result()).output).toBe(whole.output);
});

test('E-032, E-033: leaving the loop cancels the run, and the result says so', async () => {
  await using agent = demoAgent('human');
  const stream = agent.runStream('Count slowly from 1 to 1000');
  for await (const event of stream) if (event.type === 'text-delta') break;
  expect(await stream.result()).toMatchObject({ status: 'cancelled', partialOutput: expect.stringMatching(/^1/) });
});

test('E-034: a second iteration starts at the first event and only watches', async () => {
  await using agent = demoAgent();
  const stream = agent.runStream('Reply with exactly: again');
  const first: number[] = [];
  for await (const { seq } of stream) first.push(seq);
  const second: number[] = [];
  for await (const { seq } of stream) second.push(seq);
  expect(second).toEqual(first);
});

test('E-040: a signal that is aborted already ends the run as cancelled', async () => {
  await using agent = demoAgent('human');
  expect(await agent.run('Count slowly from 1 to 1000', { signal: AbortSignal.abort() })).toMatchObject({
    status: 'cancelled',
  });
});

test('U-230: a model that cannot be served is refused before anything runs', async () => {
  await using agent = createAgent({ model: 'no-such-model', config: loadConfig({ env: {}, readFile: () => null }) });
  await expect(agent.run('Hello')).rejects.toMatchObject({ code: 'model_unavailable' });
});
