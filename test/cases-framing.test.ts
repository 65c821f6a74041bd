// What comes in pieces from a provider, and what does not come at all: real clients, real sockets.

import { connect } from 'node:net';
import { createRequire } from 'node:module';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Agent, fetch } from 'undici';
import { answerOf, assembleOutput, textOf } from './support/event-stream.ts';
import { call, reply, say, text } from './support/model.ts';
import { counted } from './support/runtimes.ts';
import { createAgent } from '../src/agent.ts';
import { createFastClock } from './support/fast-clock.ts';
import { createProviders } from '../src/engine/models/providers.ts';
import { dataFrame } from '../src/testing/model-servers/wire-protocol.ts';
import { ended, finalOf, key, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { loadConfig } from '../src/config.ts';
import { providerOf } from './support/provided-agent.ts';
import { providers, startWith } from './support/provider.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { needsOneServer } from './support/cluster-in-process.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { ModelRequest } from '../src/engine/model.ts';
import type { ProviderName } from '../src/core/provider-names.ts';
import type { RunEvent } from '../src/core/run-event.ts';

/** Answers each request as the test says, when it says so. */
async function startByHand(answer: (response: ServerResponse, index: number) => void = () => {}) {
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    answer(response, responses.push(response) - 1);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { baseURL: `http://127.0.0.1:${port}/v1`, responses };
}

const [high, low] = ['\ud83d', '\ude80'];

test.each(providers)(
  'B002: $name: a surrogate pair spread over two deltas is one character, everywhere',
  async (provider) => {
    const pieces = [`a${high}`, `${low}b`, high, low, ` ${high}`, ' end'];
    const written = { path: 'x.txt', content: `${high}${low}` };
    const json = JSON.stringify(written).replace('🚀', `${high}|${low}`).split('|');
    const byHalves = { kind: 'tool-call', id: 'w', name: 'write_file', arguments: json } as const;
    await using server = await startWith(provider, [reply(text(...pieces), byHalves), say('Done.')]);
    const frames = await whole(server.uhp.stream({ input: 'go' }));
    const final = finalOf(frames);
    expect(final.status).toBe('completed');
    for (const { event } of frames) expect((event.delta ?? '').isWellFormed()).toBe(true);
    expect(assembleOutput(frames)).toEqual(final.output);
    expect(final.output[0] && textOf(final.output[0])).toBe('a🚀b🚀 \ufffd end');
    expect(JSON.parse(final.output[1]?.arguments ?? '')).toEqual(written);
    expect((await server.uhp.get(final.id)).body).toEqual(final);
  },
);

test('B002: a result that is cut inside a character is well-formed, in the stream, in the store, and for the model', async () => {
  const provider = providerOf('ANTHROPIC');
  const data = temporaryFolder();
  const command = `for pad in a aa aaa aaaa; do printf $pad; done; printf '😀%.0s' $(seq 20000)`;
  await using model = await startModelServer(provider.protocol, [reply(call('b', 'bash', { command })), say('Done.')]);
  const settings = { models: { default: provider.model }, agent: { shell: { kind: 'host' } } };
  const env = { ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'key' };
  const start = () => startServer({ data, env, settings });
  let id: string;
  {
    await using server = await start();
    const frames = await whole(server.uhp.stream({ input: 'go' }));
    for (const frame of frames) expect(frame.text).not.toMatch(/\ufffd|\\ud[89a-f]/i);
    id = finalOf(frames).id;
  }
  await using server = await start();
  const { body } = await server.uhp.get(id);
  const output = body.output.find(({ type }) => type === 'function_call_output')?.output ?? '';
  expect([output.length > 10_000, output.isWellFormed(), output.includes('\ufffd')]).toEqual([true, true, false]);
  expect(JSON.stringify(model.requests[1]?.body)).not.toMatch(/\ufffd|\\ud[89a-f]/i);
});

test.each(['OPENROUTER', 'OPENAI_COMPATIBLE'].map(providerOf))(
  'B023: $name: arguments are shown piece by piece as they come, each with the call of its index',
  async ({ prefix, model }) => {
    const frame = (delta: object, finish: string | null = null) =>
      dataFrame({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: finish }],
      });
    const piece = (index: number, json: string, named: object = {}) =>
      frame({
        tool_calls: [{ index, ...named, function: { arguments: json, ...('id' in named ? { name: 'add' } : {}) } }],
      });
    const server = await startByHand((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
    });
    const settings = loadConfig({
      env: { [`${prefix}_BASE_URL`]: server.baseURL, [`${prefix}_API_KEY`]: 'key' },
      readFile: () => null,
    });
    const ran: unknown[] = [];
    const add = counted('add', { run: async (input) => (ran.push(input), { content: 'added' }) });
    await using agent = createAgent({ model }, { settings, tools: [add] });
    const seen: RunEvent[] = [];
    const stream = agent.runStream('Go.');
    const reading = (async () => {
      for await (const event of stream) seen.push(event);
    })();
    const shown = () => seen.flatMap((event) => (event.type === 'tool-call-delta' ? [event.data] : []));
    const sendOn = async (at: number, bytes: string) => {
      const response = await eventually(() => server.responses[at]);
      response.write(bytes);
    };
    const parts = [
      [0, 'one', '{"n"', true],
      [0, 'one', ':1', false],
      [1, 'two', '{"n', true],
      [1, 'two', '":', false],
      [1, 'two', '2', false],
    ] as const;
    for (const [index, id, json, first] of parts) {
      await sendOn(0, piece(index, json, first ? { id, type: 'function' } : {}));
      // The next piece is sent only once this one has been seen; OpenRouter's client keeps a call's first one until then.
      if (prefix === 'OPENROUTER' && first) continue;
      await eventually(() => shown().some((delta) => delta.id === id && delta.partialJson.endsWith(json)) || undefined);
    }
    await sendOn(0, `${piece(0, '}')}${piece(1, '}')}${frame({}, 'tool_calls')}data: [DONE]\n\n`);
    server.responses[0]?.end();
    await sendOn(1, `${frame({ content: 'Done.' })}${frame({}, 'stop')}data: [DONE]\n\n`);
    server.responses[1]?.end();
    await reading;
    const joined = (id: string) =>
      shown()
        .flatMap((delta) => (delta.id === id ? [delta.partialJson] : []))
        .join('');
    expect([joined('one'), joined('two')]).toEqual(['{"n":1}', '{"n":2}']);
    expect([ran, await stream.result()]).toMatchObject([[{ n: 1 }, { n: 2 }], { output: 'Done.' }]);
  },
);

/** The clock of the HTTP client, as its own tests move it on. */
const clientClock: { tick(ms: number): void } = createRequire(import.meta.url)('undici/lib/util/timers.js');
const clientNames: Readonly<Record<string, ProviderName>> = {
  ANTHROPIC: 'anthropic',
  OPENAI: 'openai',
  GOOGLE_GENERATIVE_AI: 'google',
  OPENROUTER: 'openrouter',
  OPENAI_COMPATIBLE: 'openai-compatible',
};

describe('B026: a quiet provider', () => {
  test.each(providers)("$name is not given up by the HTTP client's own limits", async ({ prefix }) => {
    const name = clientNames[prefix] ?? 'openai';
    for (const headers of ['owed', 'sent']) {
      const server = await startByHand((response) => {
        if (headers === 'sent') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      });
      await using clients = createProviders({ [name]: { apiKey: 'secret', baseURL: server.baseURL } });
      const model = await clients.open(name, 'm-1');
      // A client with the usual limits, in the same time.
      const usual = new Agent();
      onTestFinished(() => usual.destroy());
      const state = { ours: 'waits', theirs: 'waits' };
      const note = (who: keyof typeof state) => (cause: unknown) => void (state[who] = String(cause));
      fetch(server.baseURL, { dispatcher: usual })
        .then((response) => response.text())
        .catch(note('theirs'));
      const prompt: ModelRequest['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
      const asked = model.doStream({ prompt }).then(async ({ stream }) => Array.fromAsync(stream));
      asked.then(() => note('ours')('over'), note('ours'));
      await eventually(() => server.responses.length === 2 || undefined);
      await eventually(() => {
        clientClock.tick(301_000);
        return state.theirs !== 'waits' || undefined;
      });
      expect([headers, state]).toMatchObject([
        headers,
        { ours: 'waits', theirs: expect.stringMatching(/failed|terminated/) },
      ]);
      for (const response of server.responses) response.destroy();
      await eventually(() => state.ours !== 'waits' || undefined);
    }
  });

  test.each(providers)('$name: at our own limit the task fails with a name for it', async (provider) => {
    needsOneServer('its clock runs so fast that the database takes seconds');
    const silent = await startByHand();
    const env = { [`${provider.prefix}_BASE_URL`]: silent.baseURL, [`${provider.prefix}_API_KEY`]: 'key' };
    const settings = { models: { default: provider.model } };
    await using server = await startServer({ data: temporaryFolder(), env, settings, clock: createFastClock(1_000) });
    const { body } = await server.uhp.create({ input: 'go' });
    expect(body).toMatchObject({ status: 'failed', output: [], error: { code: 'provider_error' } });
    expect(body.error?.message).toMatch(/no (answer|sign)|nothing|stalled|silen/i);
    expect(body.error?.message).not.toContain('terminated');
    expect(silent.responses).toHaveLength(4);
  });
});

test('B027: a provider that bursts 5 MB and stalls is given up though nobody reads, and the task ends', async () => {
  const provider = providerOf('OPENAI_COMPATIBLE');
  const burst = say(...Array.from({ length: 5_000 }, (_, n) => `${n}${'x'.repeat(1_000)}`));
  await using model = await startModelServer(provider.protocol, [
    { ...burst, fault: { kind: 'stall', after: 5_000 } },
    say('After all.'),
  ]);
  const env = { OPENAI_COMPATIBLE_BASE_URL: model.baseURL };
  const settings = { models: { default: provider.model } };
  await using server = await startServer({ data: temporaryFolder(), env, settings, clock: createFastClock(100) });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const body = JSON.stringify({ input: 'go', stream: true });
  socket.write(
    `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let id: string | undefined;
  for (let seen = ''; id === undefined; id = /"id":"(resp_[^"]+)"/.exec(seen)?.[1])
    seen += String(((await once(socket, 'data')) as [Buffer])[0]);
  socket.pause();
  const final = await ended(server.uhp, id);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'After all.']);
  expect(model.requests).toHaveLength(2);
});
