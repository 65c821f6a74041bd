import { createServer, request as send, type RequestOptions } from 'node:http';
import { once } from 'node:events';
import { digits, type Benchmark } from '../row.ts';
import { openRelay } from '../../src/harnesses/relay/relay.ts';
import { percentile } from '../statistics.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { systemClock, systemRandom } from '../../src/system.ts';

const events = 400;
const atOnce = 10;

/** Row 9: a model's replies straight from the provider, and through the relay that stands before it for other agents. */
export const relayed: Benchmark = async ({ quick }) => {
  await using provider = await startProvider();
  const upstreams = { anthropic: { baseURL: `${provider.url}/v1`, apiKey: 'key' } };
  await using relay = await openRelay({ upstreams, clock: systemClock, random: systemRandom, logger: silentLogger });
  using lease = relay.lease({ provider: 'anthropic', models: null, onFact() {} });
  const measured = { direct: new Array<number>(), relayed: new Array<number>() };
  for (let round = -1; round < (quick ? 5 : 20); round++) {
    const direct = await readReplies(provider.url, 'key');
    const through = await readReplies(relay.url, lease.token);
    if (round < 0) continue; // Warm-up.
    measured.direct.push(direct);
    measured.relayed.push(through);
  }
  const [direct, through] = [percentile(measured.direct, 50), percentile(measured.relayed, 50)];
  const show = (ms: number) => `${digits((ms * 1_000) / (events * atOnce))} µs an event`;
  return [
    {
      what: `9 Replies of a model through the relay, ${atOnce} at a time, all in one process`,
      bare: show(direct),
      reins: show(through),
      ratio: digits(through / direct),
      target: '–',
      met: null,
    },
  ];
};

const frame = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const delta = frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'some words of it' } });

/** Sends each event by itself, as fast as they are taken. */
async function startProvider(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(async (message, response) => {
    message.resume();
    await once(message, 'end');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame('message_start', { message: { model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } }));
    for (let sent = 0; sent < events; sent++) {
      if (!response.write(delta)) await once(response, 'drain');
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end(frame('message_stop', {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Milliseconds until all of them have been read. */
async function readReplies(url: string, key: string): Promise<number> {
  const options = { method: 'POST', headers: { 'x-api-key': key } };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, () => readReply(`${url}/v1/messages`, options)));
  return performance.now() - startedAt;
}

async function readReply(url: string, options: RequestOptions): Promise<void> {
  const asked = send(url, options).end('{"model":"m","stream":true}');
  const [response] = await once(asked, 'response');
  response.resume();
  await once(response, 'end');
}
