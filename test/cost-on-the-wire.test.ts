// What tasks cost, as clients read it (UD-48, UR-43): by the price of their model, and not at all where nobody knows it.

import { expect, test } from 'vitest';
import { say } from './support/model.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

const reply: ScriptedReply = { ...say('Hi.'), usage: { inputTokens: 1_000, outputTokens: 100 } };

async function open() {
  const data = temporaryFolder();
  const model = await startModelServer('anthropic', () => reply);
  const env = { ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'provider-key-of-the-test' };
  const { url, uhp, ...server } = await startServer({
    data,
    env,
    settings: { models: { default: 'claude-opus-4.6' } },
  });
  const ask = async (body: object) => {
    const answer = await uhp.send('POST', '/v1/responses', { body: { input: 'Hello', ...body } });
    expect(answer.status).toBe(200);
    return answer.body as {
      readonly id: string;
      readonly usage: Record<string, number>;
      readonly metadata: Record<string, unknown>;
    };
  };
  return {
    url,
    ask,
    read: async (path: string) => (await uhp.send('GET', path)).body,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

test('UD-48: a response says what it has cost; so do the turns of its session, one by one and together, and the day of its principal', async () => {
  await using place = await open();
  const first = await place.ask({});
  const dollars = (1_000 * 5 + 100 * 25) / 1e6;
  expect(first.metadata['reins_cost']).toEqual({ dollars, estimated: false });
  expect((await place.read(`/v1/responses/${first.id}`))['metadata']).toEqual(first.metadata);
  await place.ask({ previous_response_id: first.id });
  const listed = await place.read(`/v1/sessions/${String(first.metadata['session_id'])}/turns`);
  const [turn] = listed['turns'] as readonly object[];
  expect(turn).toMatchObject({ reins_usage: first.usage, reins_cost: { dollars, estimated: false } });
  expect(listed).toMatchObject({
    reins_usage: { input_tokens: 2_000, output_tokens: 200, total_tokens: 2_200 },
    reins_cost: { dollars: 2 * dollars, estimated: false },
  });
  expect(await place.read('/v1/reins/usage')).toMatchObject({
    tokens: { used: 2_200 },
    dollars: { used: 2 * dollars },
  });
});

test('UD-48: where the price of a model is unknown, no cost is told, and what is told of a session is a part of it', async () => {
  await using place = await open();
  const first = await place.ask({ model: 'anthropic/unheard-of' });
  expect(first.usage).toMatchObject({ input_tokens: 1_000 });
  expect(first.metadata).not.toHaveProperty('reins_cost');
  const path = `/v1/sessions/${String(first.metadata['session_id'])}/turns`;
  expect(await place.read(path)).not.toHaveProperty('reins_cost');
  await place.ask({ previous_response_id: first.id, model: 'claude-opus-4.6' });
  expect(await place.read(path)).toMatchObject({
    reins_usage: { input_tokens: 2_000 },
    reins_cost: { dollars: 0.0075, estimated: true },
  });
});
