// What comes in pieces from a provider, and what does not come at all: real clients, real sockets.

import { connect } from 'node:net';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
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
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
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
    for (const { event } of frames) expect(String(event.delta ?? '').isWellFormed()).toBe(true);
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
      [0, 'one', '', false],
    ] as const;
    for (const [index, id, json, first] of parts) {
      await sendOn(0, piece(index, json, first ? { id, type: 'function' } : {}));
      setTimeout(() => console.log(prefix, id, json, JSON.stringify(shown())), 1000);
      // The next piece is sent only once this one has been seen.
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

describe('B026: a quiet provider', () => {
  test.each(providers)("$name is not given up by the HTTP client's own limits", async ({ protocol, prefix, name }) => {
    const ids = {
      ANTHROPIC: 'anthropic',
      OPENAI: 'openai',
      GOOGLE_GENERATIVE_AI: 'google',
      OPENROUTER: 'openrouter',
      OPENAI_COMPATIBLE: 'openai-compatible',
    } as const;
    const id = Object.entries(ids).find(([each]) => each === prefix)?.[1];
    if (id === undefined) throw new Error(`There is no client for ${name}.`);
    await using answers = await startModelServer(protocol, [say('At last.')]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const headers of ['owed', 'sent']) {
      const server = await startByHand((response) => {
        if (headers === 'sent') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      });
      await using clients = createProviders({ [id]: { apiKey: 'secret', baseURL: server.baseURL } });
      const model = await clients.open(id, 'm-1');
      const state = { theirs: 'waits', ours: 'waits' };
      const prompt = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] as const;
      const read = async () => {
        const { stream } = await model.doStream({
          prompt: [...prompt].map((each) => ({ ...each, content: [...each.content] })),
        });
        for await (const _part of stream);
      };
      read().then(
        () => (state.ours = 'over'),
        (cause: unknown) => (state.ours = String(cause)),
      );
      // As a client with the usual limits fares, in the same time.
      const usual = new Agent();
      onTestFinished(() => usual.destroy());
      const usualRead = async () => (await fetch(server.baseURL, { dispatcher: usual })).text();
      usualRead().catch((cause: unknown) => (state.theirs = String(cause)));
      await vi.waitFor(() => expect(server.responses).toHaveLength(2));
      for (let second = 0; second < 305; second++) await vi.advanceTimersByTimeAsync(1_000);
      await vi.waitFor(() => expect(state.theirs).toMatch(/fetch failed|terminated/));
      expect(state.ours, `headers ${headers}`).toBe('waits');
      server.responses.forEach((response) => response.destroy());
      await vi.waitFor(() => expect(state.ours).not.toBe('waits'));
    }
    void answers;
  });

  test.each(providers)('$name: at our own limit the task fails with a name for it', async (provider) => {
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
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const id = /"id":"(resp_[^"]+)"/.exec(first.toString())?.[1] ?? '';
  const final = await ended(server.uhp, id);
  expect([final.status, answerOf(final)]).toEqual(['completed', 'After all.']);
  expect(model.requests).toHaveLength(2);
});
