import { createServer } from 'node:http';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { getGlobalDispatcher, MockAgent, setGlobalDispatcher } from 'undici';
import { createProviders } from './providers.ts';
import type { ModelRequest } from '../model.ts';

const request: ModelRequest = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] };

/** Refuses everything; knows which connection each request came over. */
async function startCounting() {
  const ports: (number | undefined)[] = [];
  const server = createServer((message, response) => {
    ports.push(message.socket.remotePort);
    message.resume();
    response.writeHead(400, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  return { ports, baseURL: `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/v1` };
}

test("E-308: the process's own HTTP client is neither used nor changed", async () => {
  const [closed, before] = [new MockAgent(), getGlobalDispatcher()];
  closed.disableNetConnect();
  setGlobalDispatcher(closed);
  onTestFinished(() => setGlobalDispatcher(before));
  const { ports, baseURL } = await startCounting();
  await using providers = createProviders({ openai: { apiKey: 'k', baseURL } });
  const model = await providers.open('openai', 'm-1');
  await expect(model.doStream(request)).rejects.toMatchObject({ statusCode: 400 });
  expect(ports).toHaveLength(1);
  expect(getGlobalDispatcher()).toBe(closed);
});

test('E-308: models of one provider share its connections, those of two do not', async () => {
  const { ports, baseURL } = await startCounting();
  await using providers = createProviders({ openai: { apiKey: 'k', baseURL }, azure: { apiKey: 'k', baseURL } });
  const portsOf = async (provider: 'openai' | 'azure') => {
    const from = ports.length;
    for (let n = 0; n < 6; n++)
      await expect((await providers.open(provider, `m-${n}`)).doStream(request)).rejects.toThrow();
    return new Set(ports.slice(from));
  };
  const [openai, azure] = [await portsOf('openai'), await portsOf('azure')];
  expect(ports).toHaveLength(12);
  expect(openai.size).toBeLessThan(6);
  expect(openai.isDisjointFrom(azure)).toBe(true);
});
