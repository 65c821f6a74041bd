// Who did what (UR-42, UR-54).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo, key, type Answer, type Uhp } from './support/uhp.ts';
import { rowsOf } from './support/rows.ts';
import { hashKey } from '../src/auth/keys.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

interface Entry {
  readonly id: string;
  readonly at: number;
  readonly principal: string;
  readonly key_id: string;
  readonly action: string;
  readonly object: string;
  readonly request_id: string;
}

let data: string;
let server: TestServer;
let uhp: Uhp;
beforeAll(async () => {
  data = temporaryFolder();
  server = await startServer({ data, settings: { webhooks: { allowLoopback: true } } });
  ({ uhp } = server);
});
afterAll(() => server[Symbol.asyncDispose]());

const audit = async (query = '', by = uhp) =>
  (await by.send('GET', `/v1/reins/audit?${query}`)).body as unknown as {
    readonly entries: readonly Entry[];
    readonly next_cursor: string | null;
  };
const ownerKeyId = `key_${hashKey(key).slice(0, 24)}`;
const secretWord = 'canary-7f3a';

/** Everything that is written down when it is done, in order, with the object that its entry has to name. */
async function doEverything(): Promise<readonly (readonly [string, string, Answer])[]> {
  const done: (readonly [string, string, Answer])[] = [];
  const send = async (action: string, method: string, path: string, o: { body?: object; object?: string } = {}) => {
    const answer = await uhp.send(method, path, o.body === undefined ? {} : { body: o.body });
    expect([action, answer.status]).toEqual([action, 200]);
    done.push([action, o.object ?? answer.body.id, answer]);
    return answer.body.id;
  };
  const made = await send('key.create', 'POST', '/v1/reins/keys', { body: { principal: 'p', name: secretWord } });
  await send('key.revoke', 'DELETE', `/v1/reins/keys/${made}`);
  const mcp = { name: 's', url: 'https://mcp.example/x', auth: secretWord };
  const body = { base: 'native', name: secretWord, mcpServers: [mcp] };
  const harness = await send('harness.create', 'POST', '/v1/harnesses', { body });
  await send('harness.update', 'PUT', `/v1/harnesses/${harness}`, { body: { name: 'other' } });
  await send('harness.delete', 'DELETE', `/v1/harnesses/${harness}`);
  const hook = { url: `http://127.0.0.1:9/${secretWord}` };
  const webhook = await send('webhook.create', 'POST', '/v1/reins/webhooks', { body: hook });
  await send('webhook.update', 'PUT', `/v1/reins/webhooks/${webhook}`, { body: { enabled: false } });
  await send('webhook.delete', 'DELETE', `/v1/reins/webhooks/${webhook}`);
  const { body: task } = await uhp.create({ input: `Reply with exactly: ${secretWord}` });
  const session = task.metadata.session_id;
  const share = { object: session };
  await send('share.set', 'POST', `/v1/sessions/${session}/share`, { ...share, body: { enabled: true } });
  await send('share.revoke', 'DELETE', `/v1/sessions/${session}/share`, share);
  await send('response.delete', 'DELETE', `/v1/responses/${task.id}`);
  await send('session.delete', 'DELETE', `/v1/sessions/${session}`);
  return done;
}

test('UR-54: each deed is written down once, with who, what, to what and in which request, and nothing of its content', async () => {
  const startedAt = Math.floor(Date.now() / 1_000);
  const done = await doEverything();
  const { entries } = await audit('limit=100');
  expect(entries).toEqual(
    done
      .map(([action, object, { headers }]) => ({
        id: expect.stringMatching(/^aud_/),
        at: expect.any(Number),
        principal: 'owner',
        key_id: ownerKeyId,
        action,
        object,
        request_id: headers.get('x-request-id'),
      }))
      .toReversed(),
  );
  for (const { at } of entries) expect(at).toBeGreaterThanOrEqual(startedAt);
  expect(JSON.stringify(rowsOf(data).get('audit'))).not.toContain(secretWord);
});

test('UR-54: what was refused, and what only reads, is not written down', async () => {
  const before = await audit();
  await uhp.send('DELETE', '/v1/sessions/hsessnever');
  await uhp.send('POST', '/v1/reins/keys', { body: {} });
  await connectTo(server.url, 'wrong').send('POST', '/v1/reins/keys', { body: { principal: 'x' } });
  await uhp.send('GET', '/v1/harnesses');
  expect(await audit()).toEqual(before);
});

test('UR-42: pages hang together, newest first, and filters hold', async () => {
  const { entries: all } = await audit('limit=100');
  const pages: Entry[] = [];
  let cursor = '';
  for (;;) {
    const page = await audit(`limit=5&cursor=${cursor}`);
    pages.push(...page.entries);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  expect(pages).toEqual(all);
  const { entries: made } = await audit('action=key.create');
  expect(made).toEqual(all.filter(({ action }) => action === 'key.create'));
  expect(await audit('principal=nobody')).toEqual({ entries: [], next_cursor: null });
  for (const query of ['limit=0', 'limit=x', 'cursor=wrong'])
    expect((await uhp.send('GET', `/v1/reins/audit?${query}`)).status).toBe(400);
});
