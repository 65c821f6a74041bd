// What a task that says much leaves on the disk, on the wire and in the process. A tenth of the sizes that the cases name.

import { expect, test } from 'vitest';
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { answerOf } from './support/event-stream.ts';
import { call, reply, say, text } from './support/model.ts';
import { counted } from './support/runtimes.ts';
import { countingClock } from './support/counting-clock.ts';
import { createFastClock } from './support/fast-clock.ts';
import { eventually } from './support/asking-server.ts';
import { finalOf, whole } from './support/uhp.ts';
import { isLive } from '../src/core/run-event.ts';
import { openStoreOf } from './support/rows.ts';
import { outputsSince } from './support/strict-provider.ts';
import { providerOf, startAgent } from './support/provided-agent.ts';
import { runIds } from '../src/core/ids.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startProcess, startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const provider = providerOf('OPENAI_COMPATIBLE');
const toolBytes = 200_000;
const words = Array.from({ length: 400 }, (_, n) => `word ${n} `);
const wordBytes = words.join('').length;
const command = `head -c ${toolBytes} /dev/zero | tr '\\0' x`;

/** A model that says its words and calls the shell, step after step. */
function startTalkative(steps: number) {
  return startModelServer(provider.protocol, (request) => {
    const round = outputsSince(provider.protocol, request);
    if (round >= steps) return say('Done.');
    return reply(text(...words), call(`c${round}`, 'bash', { command: `${command} # ${round}` }));
  });
}

const settings = { models: { default: provider.model }, agent: { shell: { kind: 'host' } } };
/** Bytes that the task took in and gave out. */
const saidIn = (steps: number) => steps * (wordBytes + command.length + toolBytes);
const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

test('B132, E-840: 20,000 deltas and 10 MB from tools: frames, response, memory and disk are bounded, a replay is what was live', async () => {
  const steps = 50;
  await using model = await startTalkative(steps);
  const data = temporaryFolder();
  writeFileSync(join(data, 'config.json'), JSON.stringify(settings));
  const { uhp, process, kill } = await startProcess(data, { OPENAI_COMPATIBLE_BASE_URL: model.baseURL });
  const live = await whole(uhp.stream({ input: 'go' }));
  const final = finalOf(live);
  expect([final.status, model.requests.length]).toEqual(['completed', steps + 1]);
  const texts = live.map((frame) => frame.text);
  expect((await whole(uhp.attach(final.id))).map((frame) => frame.text)).toEqual(texts);
  expect(Math.max(...texts.slice(0, -1).map(({ length }) => length))).toBeLessThan(128 * 1024);
  expect(JSON.stringify(final).length).toBeLessThan(steps * (wordBytes + 16_000));
  if (globalThis.process.platform === 'linux') {
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${process.child.pid}/status`, 'latin1'))?.[1];
    expect(Number(peak) / 1024).toBeLessThan(512);
  }
  await kill();
  const kept = sizeOf(join(data, 'reins.db')) + sizeOf(join(data, 'reins.db-wal'));
  expect(kept).toBeLessThan(3 * saidIn(steps) + 4096 * steps);
});

test('B132, E-845: when its time is over the deltas are gone from the log, what came of them is not', async () => {
  const steps = 4;
  await using model = await startTalkative(steps);
  const data = temporaryFolder();
  const env = { OPENAI_COMPATIBLE_BASE_URL: model.baseURL };
  const clock = createFastClock(60);
  const retention = { streamSeconds: 60 };
  await using server = await startServer({ data, env, settings: { ...settings, retention }, clock });
  const { body } = await server.uhp.create({ input: 'go' });
  const runId = runIds.parse(body.id) ?? runIds.make('');
  await using store = await openStoreOf(data);
  const log = () => store.readEvents(runId, { after: 0, limit: 100_000 });
  const before = await log();
  expect(before.filter(({ type }) => isLive(type)).length).toBeGreaterThan(2 * steps);
  await eventually(async () => (await store.isPruned(runId)) || undefined, 10_000);
  await eventually(async () => (await log()).every(({ type }) => !isLive(type)) || undefined);
  expect(await log()).toEqual(before.filter(({ type }) => !isLive(type)));
  expect((await server.uhp.get(body.id)).body).toEqual(body);
  const next = await server.uhp.create({ input: 'on', previous_response_id: body.id });
  expect(answerOf(next.body)).toMatch(/Done\.$/);
});

test('B133, E-847: over 200 rounds on real sockets the listeners, timers and sockets of a run stay as many', async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const stop = new AbortController();
  const seen: string[] = [];
  const timers: number[] = [];
  const clock = countingClock();
  const tool = counted('count', {
    run: async (_, { signal }) => {
      const resources = process.getActiveResourcesInfo();
      const sockets = resources.filter((each) => each === 'TCPSocketWrap').length;
      const listeners = [stop.signal, signal].map((each) => getEventListeners(each, 'abort').length);
      seen.push(JSON.stringify({ listeners, sockets }));
      timers.push(clock.open());
      return { content: 'counted' };
    },
  });
  const rounds = 200;
  let asked = 0;
  const script = () => (asked++ < rounds ? reply(call(`c${asked}`, 'count', { asked })) : say('Done.'));
  await using rig = await startAgent([[provider, script]], {
    tools: [tool],
    config: { limits: { maxSteps: 0 } },
    clock,
  });
  const result = await rig.agent.run('Go.', { signal: stop.signal });
  expect([result.status, result.output, tool.runs()]).toEqual(['completed', 'Done.', rounds]);
  expect([...new Set(seen.slice(10))]).toHaveLength(1);
  // The run's own timers: the HTTP client has a coarse one that comes and goes.
  expect([...new Set(timers.slice(10))]).toHaveLength(1);
  expect([warnings, getEventListeners(stop.signal, 'abort')]).toEqual([[], []]);
  process.off('warning', note);
});
