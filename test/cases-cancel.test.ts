// Cancel against servers that owe an answer, programs that will not go, and work in the background.

import { createServer, type Server } from 'node:http';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { assembleOutput } from './support/event-stream.ts';
import { askedBy, eventually, startAsking } from './support/asking-server.ts';
import { call, hold, reply, text } from './support/model.ts';
import { createAgent } from '../src/agent.ts';
import { createRuntime } from '../src/runtime.ts';
import { createScriptedModel } from '../src/testing/scripted-model.ts';
import { defineTool } from '../src/engine/define-tool.ts';
import { ended, finalOf, key, whole } from './support/uhp.ts';
import { noSettings } from './support/agents.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { openStoreOf } from './support/rows.ts';
import { providers, startWith } from './support/provider.ts';
import { simpleCall } from '../src/testing/model-servers/reply-script.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { AgentParts } from '../src/agent.ts';
import type { RunResult } from '../src/core/run-result.ts';

/** Takes requests and answers none, not even with headers. */
async function startMute() {
  const server: Server = createServer((request) => void request.resume());
  const open = new Set<unknown>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { baseURL: `http://127.0.0.1:${port}/v1`, open };
}

test.each(providers)('B094: $name owes its headers: a cancel closes its sockets within a second', async (provider) => {
  const mute = await startMute();
  const data = temporaryFolder();
  const env = { [`${provider.prefix}_BASE_URL`]: mute.baseURL, [`${provider.prefix}_API_KEY`]: 'key' };
  await using server = await startServer({ data, env, settings: { models: { default: provider.model } } });
  const { uhp } = server;
  const body = { input: 'go' };
  const ends = [uhp.create(body).then((answer) => answer.body), whole(uhp.stream(body)).then(finalOf)];
  await eventually(() => mute.open.size === 2 || undefined);
  await using store = await openStoreOf(data);
  const ids = (await store.unfinishedRuns()).map(({ runId }) => runId);
  const askedMs = performance.now();
  for (const answer of await Promise.all(ids.map((id) => uhp.cancel(id))))
    expect(answer.body).toMatchObject({ status: 'cancelled', error: null });
  await eventually(() => mute.open.size === 0 || undefined);
  expect(performance.now() - askedMs).toBeLessThan(1_000);
  for (const end of await Promise.all(ends)) expect(end).toMatchObject({ status: 'cancelled', output: [] });
});

test.each(providers)('B094: $name owes its first token: the same, and nobody is asked again', async (provider) => {
  await using server = await startWith(provider, [{ ...reply(text('Never.')), fault: { kind: 'stall', after: 0 } }]);
  const { body } = await server.uhp.create({ input: 'go', background: true });
  await eventually(() => server.model.open === 1 || undefined);
  const askedMs = performance.now();
  await server.uhp.cancel(body.id);
  await eventually(() => server.model.open === 0 || undefined);
  expect(performance.now() - askedMs).toBeLessThan(1_000);
  expect(await ended(server.uhp, body.id)).toMatchObject({ status: 'cancelled' });
  expect(server.model.requests).toHaveLength(1);
});

const isAlive = (pid: number) => {
  try {
    // A zombie is nobody's work any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

/** Processes that wrote their numbers into a folder. */
const pidsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('pid.'))
    .map((name) => Number(name.slice(4)));

describe.skipIf(process.platform !== 'linux')('B096: a program that will not go', () => {
  const programs: Readonly<Record<string, string>> = {
    'is deaf to SIGINT and SIGTERM': `trap '' TERM INT; : > pid.$$; while :; do sleep 1; done`,
    'shuts its output and lives on': `: > pid.$$; exec >&- 2>&-; while :; do sleep 1; done`,
    'takes its time to go': `trap 'sleep 300' TERM; : > pid.$$; sleep 300 & wait`,
    'has gone into another session': `setsid sh -c ': > pid.$$; trap "" TERM; while :; do sleep 1; done' & wait`,
    'says much, also after the stop': `trap 'echo late; echo late > late' TERM; : > pid.$$; while :; do echo on; sleep 0.01; done`,
  };

  test.each(Object.entries(programs))('%s: it is gone, and what it says late is not heard', async (_, command) => {
    await using place = await startAsking({
      replies: { go: [reply(call('b', 'bash', { command }))] },
      permissions: { mode: 'allow-all' },
      settings: { agent: { shell: { kind: 'host' } } },
    });
    const { body: task } = await place.uhp.create({ input: 'go', background: true });
    const folder = join(place.data, 'workspaces', task.metadata.session_id);
    await eventually(() => (existsSync(folder) && pidsIn(folder).length > 0) || undefined);
    const frames = whole(place.uhp.attach(task.id));
    const askedMs = performance.now();
    expect(await place.uhp.cancel(task.id)).toMatchObject({ status: 200, body: { error: null } });
    expect(performance.now() - askedMs).toBeLessThan(1_000);
    const final = finalOf(await frames);
    expect(performance.now() - askedMs).toBeLessThan(5_000);
    expect(pidsIn(folder).filter(isAlive)).toEqual([]);
    expect(final).toMatchObject({ status: 'cancelled' });
    expect(final.metadata).not.toHaveProperty('reins_unstopped');
    expect(assembleOutput(await frames)).toEqual(final.output);
    await pause(300);
    expect((await place.uhp.get(task.id)).body).toEqual(final);
    const next = await place.uhp.create({ input: 'on', previous_response_id: task.id });
    expect(next.body.status).toBe('completed');
  });
});

test('B097: in whatever phase it came, stream, record, session and feed say cancelled, and none of them an error', async () => {
  const replies = {
    streaming: [reply(text('first '), hold)],
    gated: [reply(call('f', 'fetch_url', { url: 'http://127.0.0.1:1/' }))],
    working: [reply(text('So.'), call('b', 'bash', { command: 'sleep 30' }))],
    busy: [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } } }],
  } as const;
  await using place = await startAsking({
    replies,
    permissions: { mode: 'allow-all', tools: { fetch_url: 'ask' } },
    settings: { agent: { shell: { kind: 'host' } } },
  });
  const { uhp, model } = place;
  const [harness] = (await uhp.send('GET', '/v1/harnesses')).body['harnesses'] as { id: string }[];
  const gone = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const feed = await fetch(`${uhp.url}/v1/harnesses/${harness?.id}/events`, { headers, signal: gone.signal });
  let heard = '';
  const hearing = (async () => {
    for await (const chunk of feed.body?.pipeThrough(new TextDecoderStream()) ?? []) heard += chunk;
  })().catch(() => {});
  for (const input of Object.keys(replies)) {
    const { body: task } = await uhp.create({ input, background: true });
    const frames = whole(uhp.attach(task.id));
    await eventually(() => model.asked(input).length > 0 || undefined);
    if (input === 'gated') await askedBy(uhp, task.id);
    if (input === 'working') await eventually(async () => (await uhp.get(task.id)).body.output.length > 1 || undefined);
    const answer = await uhp.cancel(task.id);
    const cancelled = { status: 'cancelled', error: null, incomplete_details: null };
    expect((await frames).at(-1)?.event, input).toMatchObject({ type: 'response.failed', response: cancelled });
    expect((await frames).some(({ event }) => event.type === 'error')).toBe(false);
    expect([(await uhp.get(task.id)).body, answer.body], input).toMatchObject([cancelled, cancelled]);
    const session = await uhp.send('POST', `/v1/sessions/${task.metadata.session_id}/cancel`);
    expect(session.body).toMatchObject({ status: 'cancelled' });
    const last = await eventually(() =>
      heard.split('\n\n').find((each) => each.includes(task.id) && each.includes('"response.failed"')),
    );
    expect(last).toMatch(/"status":"cancelled".*"error":null|"error":null.*"status":"cancelled"/);
  }
  gone.abort();
  await hearing;
});

interface Begun extends AsyncDisposable {
  cancel(): Promise<RunResult>;
}

const quick = { tools: { abandonAfterSeconds: 2 } };
const drivers: Readonly<Record<string, (parts: AgentParts) => Promise<Begun>>> = {
  async 'in process'(parts) {
    const agent = createAgent(quick, parts);
    const stream = agent.runStream('Go.');
    void stream.result();
    return { cancel: () => stream.cancel(), [Symbol.asyncDispose]: () => agent.close() };
  },
  async 'over a store'(parts) {
    const path = join(temporaryFolder(), 'runs.sqlite');
    const runtime = createRuntime({ agents: [{ config: quick, parts }], driver: { kind: 'sqlite', path } });
    const handle = await runtime.submit('Go.');
    return {
      async cancel() {
        await runtime.cancel(handle.runId);
        const result = await handle.result();
        await using store = openSqlite(path);
        expect(await store.unfinishedRuns()).toEqual([]);
        return result;
      },
      [Symbol.asyncDispose]: () => runtime.close({ drainMs: 0 }),
    };
  },
};

describe.skipIf(process.platform !== 'linux').each(Object.keys(drivers))(
  'B099: what works for a run that is cancelled, %s',
  (name) => {
    const begin = async (parts: AgentParts, helper: AgentParts) => {
      const folder = temporaryFolder();
      const own = { shell: { kind: 'host' }, ...helper } as const;
      const subagents = [{ name: 'helper', description: 'Helps.', config: quick, parts: own }];
      const run = await drivers[name]?.({ settings: noSettings, workspace: folder, subagents, ...parts });
      if (run === undefined) throw new Error('There is no such driver.');
      return { run, folder };
    };
    const delegate = () => createScriptedModel([simpleCall('d', 'delegate_helper', { task: 'Help.' })]);

    test('a sub-agent, its shell, and what that has in the background: no process, no write, no token', async () => {
      const job = (stem: string) =>
        `${stem} sh -c ': > pid.$$; trap "" TERM; while :; do echo x >> ticks; sleep 0.05; done' &`;
      const command = `${job('')} ${job('setsid')} ${job('nohup')} wait`;
      const child = createScriptedModel([simpleCall('b', 'bash', { command })]);
      const provider = delegate();
      const { run, folder } = await begin({ provider }, { provider: child });
      await using _run = run;
      await eventually(() => (pidsIn(folder).length === 3 && existsSync(join(folder, 'ticks'))) || undefined);
      const result = await run.cancel();
      expect(result).toMatchObject({ status: 'cancelled', unstopped: [] });
      expect(pidsIn(folder).filter(isAlive)).toEqual([]);
      const { size } = statSync(join(folder, 'ticks'));
      const calls = [provider, child].map((model) => model.calls.length);
      await pause(2_000);
      expect([statSync(join(folder, 'ticks')).size, [provider, child].map((model) => model.calls.length)]).toEqual([
        size,
        calls,
      ]);
    });

    test('what could not be ended is named', async () => {
      const begun = Promise.withResolvers<void>();
      const endless = defineTool({
        name: 'endless',
        description: 'Never ends.',
        input: { type: 'object', properties: {} },
        run: () => (begun.resolve(), new Promise(() => {})),
      });
      const child = createScriptedModel([simpleCall('e', 'endless', {})]);
      const { run } = await begin({ provider: delegate() }, { provider: child, tools: [endless] });
      await using _run = run;
      await begun.promise;
      const result = await run.cancel();
      expect(result.status).toBe('cancelled');
      expect(result.unstopped).toContainEqual(expect.stringContaining('may still be running'));
    });
  },
);
