// Events that are as large as what was said, from the provider through the server to the client, and those that are held small.

import { deflateSync, crc32 } from 'node:zlib';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { text as bodyOf } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call, reply, say, startModel, type Replies } from './support/model.ts';
import { manage } from './support/managed.ts';
import { connect, type TaskEvent } from '../src/client/index.ts';
import { answerOf } from './support/event-stream.ts';
import { finalOf, key, whole } from './support/uhp.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const mb = 1_000_000;

async function start(replies: Replies) {
  const model = await startModel((asked) => replies[asked]);
  const server = await startServer({
    data: temporaryFolder(),
    env: model.env,
    settings: { ...model.settings, agent: { fetchHosts: ['127.0.0.1'] } },
  });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
  });
  return { ...server, model, ...countedClient(server.url) };
}

/** A client that notes what it asks for: one that has to try again shows here. */
function countedClient(url: string) {
  const requests: string[] = [];
  const client = connect(url, key, {
    fetch(input, init) {
      requests.push(`${init?.method ?? 'GET'} ${new URL(input instanceof Request ? input.url : input).pathname}`);
      return fetch(input, init);
    },
  });
  return { client, requests };
}

async function read(task: AsyncIterable<TaskEvent>): Promise<readonly TaskEvent[]> {
  const seen: TaskEvent[] = [];
  for await (const event of task) seen.push(event);
  return seen;
}

const sizeOf = (event: object) => JSON.stringify(event).length;

test.each([5, 20])(
  'B015: what a model says in one piece of %i MB reaches the client in one event, over one connection, and once more on replay',
  { timeout: 60_000 },
  async (megabytes) => {
    // It holds what JSON and an event stream have to escape.
    const said = Array.from({ length: megabytes * 50_000 }, (_, n) => `${n}`.padStart(17, '.') + '\n"\\').join('');
    const { client, requests, uhp } = await start({ big: [say(said)] });
    const task = client.run({ input: 'big' });
    const seen = await read(task);
    expect(requests).toEqual(['POST /v1/responses']);
    expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_, n) => n));
    const deltas = seen.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
    expect([deltas.length, deltas[0] === said]).toEqual([1, true]);
    const { status, text: result } = await task.result();
    expect([status, result === said]).toEqual(['completed', true]);
    const id = await task.responseId;
    let next = 0;
    for await (const event of client.attach(id)) {
      const live = seen[next++];
      // Whole events are compared where they are small: the five copies of the text are too much for that.
      if (event.type === 'response.output_text.delta') expect(event.delta === said).toBe(true);
      expect([event.type, event.sequence_number]).toEqual([live?.type, live?.sequence_number]);
    }
    expect(next).toBe(seen.length);
    expect(answerOf((await uhp.get(id)).body) === said).toBe(true);
  },
);

describe('B015: what is not said by the model is held small', () => {
  test.each([1, 5, 20])(
    'a result of %i MB is in no event: its beginning and end are, with a marker',
    async (megabytes) => {
      const tool = await startBigTool(megabytes * mb);
      const { client, requests, uhp, model } = await start({
        big: [reply(call('c', 'big_make', {})), say('Done.')],
      });
      const harness = await manage(uhp.url).create({ mcp_servers: [{ name: 'big', url: tool.url }] });
      const task = client.run({ input: 'big', metadata: { harness_id: harness.id, reins_events: true } });
      const seen = await read(task);
      expect((await task.result()).text).toBe('Done.');
      expect(requests).toEqual(['POST /v1/responses']);
      expect(Math.max(...seen.map(sizeOf))).toBeLessThan(64 * 1024);
      const results = seen.flatMap((event) =>
        event.type === 'response.output_item.done' && event.item.type === 'function_call_output'
          ? [event.item.output]
          : [],
      );
      expect(results).toEqual([expect.stringMatching(/^first .*\[.*\].* last$/s)]);
      // Nor is it sent to the model.
      expect(JSON.stringify(model.asked('big').at(-1)?.body).length).toBeLessThan(128 * 1024);
    },
  );

  test('an image in the input is shown to the model, and is in no event', async () => {
    const image = noise(1_100).toString('base64');
    expect(image.length).toBeGreaterThan(4 * mb);
    const model = await startModelServer('anthropic', [say('Noise.')]);
    onTestFinished(() => model.close());
    const env = { ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'key' };
    await using server = await startServer({
      data: temporaryFolder(),
      env,
      settings: { models: { default: 'claude-opus-4.6' } },
    });
    const { client, requests } = countedClient(server.url);
    const content = [
      { type: 'input_text', text: 'What is it?' },
      { type: 'input_image', image_url: `data:image/png;base64,${image}` },
    ] as const;
    const task = client.run({ input: [{ role: 'user', content }] });
    const seen = await read(task);
    expect((await task.result()).text).toBe('Noise.');
    expect(requests).toEqual(['POST /v1/responses']);
    expect(Math.max(...seen.map(sizeOf))).toBeLessThan(4 * 1024);
    expect(finalOf(await whole(server.uhp.attach(await task.responseId))).status).toBe('completed');
    expect(JSON.stringify(model.requests[0]?.body)).toContain(image);
  });
});

/** A real PNG of so many pixels in square, which no compression makes smaller. */
function noise(side: number): Buffer {
  const rows = Buffer.alloc(side * (side * 3 + 1));
  let seed = 1;
  for (let at = 0; at < rows.length; at++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    rows[at] = at % (side * 3 + 1) === 0 ? 0 : seed >>> 24;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const chunk = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** An MCP server whose one tool gives so many bytes. */
async function startBigTool(bytes: number): Promise<{ readonly url: string }> {
  const answers: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'big', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'make', description: 'Makes much.', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: `first ${'x'.repeat(bytes)} last` }] }),
  };
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const { id, method = '' } = body === '' ? { id: undefined } : JSON.parse(body);
    const answer = answers[method];
    if (request.method !== 'POST') return response.writeHead(405).end();
    if (id === undefined || answer === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer() }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/mcp` };
}
