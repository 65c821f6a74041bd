// The verbs of the client for whoever keeps cursor and patience, such as a page: one connection, one try.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Client, type ParsedEvent, type StreamOptions, type StreamSource } from '../src/client/index.ts';
import { key } from './support/uhp.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startServer({ data: temporaryFolder() });
  client = connect(server.url, key, { maxAttempts: 1 });
});
afterAll(() => server[Symbol.asyncDispose]());

const request = { input: 'hello', metadata: { reins_events: true } };
const read = async (source: StreamSource, options?: StreamOptions) => {
  const seen: ParsedEvent[] = [];
  for await (const event of client.streamOnce(source, options)) seen.push(event);
  return seen;
};
const nameOf = ({ raw }: ParsedEvent) => (raw['response'] as { readonly id: string }).id;

test('streamOnce: all events of a new task; under the same key the same ones again; after a number those behind it', async () => {
  const source = { request, idempotencyKey: 'once-1' };
  const [first, again] = [await read(source), await read(source)];
  expect(first.map(({ number }) => number)).toEqual(first.map((_, at) => at));
  expect(again).toEqual(first);
  const [created] = first;
  if (created === undefined) throw new Error('Nothing came.');
  const rest = await read({ responseId: nameOf(created), after: 3, reinsEvents: true });
  expect(rest).toEqual(first.slice(4));
});

test('streamOnce: it says when the stream is open, ends without that where all was seen, and throws what is refused', async () => {
  const { id } = await client.responses.create(request, { idempotencyKey: 'once-2' });
  expect((await client.responses.create(request, { idempotencyKey: 'once-2' })).id).toBe(id);
  let opened = 0;
  const onOpen = () => void opened++;
  const events = await read({ responseId: id, after: -1, reinsEvents: true }, { onOpen });
  expect(opened).toBe(1);
  const last = events.at(-1)?.number ?? -1;
  expect(await read({ responseId: id, after: last, reinsEvents: true }, { onOpen })).toEqual([]);
  expect(opened).toBe(1);
  await expect(read({ responseId: id, after: last + 9, reinsEvents: true })).rejects.toMatchObject({
    code: 'reins_cursor_out_of_range',
  });
  await expect(read({ responseId: 'resp_nobody', after: -1, reinsEvents: true })).rejects.toMatchObject({
    status: 404,
  });
});

test('agent: the events of a turn up to its end; a refusal in the words of the server', async () => {
  const events: unknown[] = [];
  for await (const event of client.agent({ prompt: 'hello' })) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'done', text: expect.any(String) });
  const refused = client.agent({ prompt: 'hello', cwd: '/etc' });
  await expect(refused.next()).rejects.toMatchObject({ status: 400, message: expect.stringMatching(/^Invalid cwd/) });
});
