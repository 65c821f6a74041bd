// Which model a turn of `POST /api/agent` has, and which it may not have (A-010, rows 12 to 14).

import { describe, expect, test } from 'vitest';
import { asJson, asStream } from './support/agent-call.ts';
import { accepted, done, scriptedRuntime, type ScriptedRuntime } from './support/scripted-runtime.ts';
import { startAgentServer } from './support/agent-server.ts';
import { temporaryFolder } from './support/folders.ts';
import { connectTo } from './support/uhp.ts';
import type { ForeignAdapter } from '../src/harnesses/foreign/foreign-adapter.ts';

const ours = 'openai-compatible/m';

function settingsOf(models: readonly string[]) {
  return { models: { default: ours }, limits: { principals: { ann: { models } } } };
}

/** Serves `test-model` alone. */
function withOneModel({ adapter }: ScriptedRuntime): ForeignAdapter {
  return {
    ...adapter,
    chooseModel: async (name) =>
      name === null || name === 'test-model'
        ? adapter.chooseModel(name)
        : { available: false, id: name, why: 'It is unknown.' },
  };
}

describe('A-010, row 13: a model that the caller may not use', () => {
  test('is refused by its name, in both forms; without a name the default is, and nothing is begun', async () => {
    await using place = await startAgentServer({ settings: settingsOf(['claude-opus-4.6']) });
    const made = await place.uhp.send('POST', '/v1/reins/keys', { body: { principal: 'ann' } });
    const ann = { token: String(made.body['key']) };
    const refused = { status: 403, body: { error: `Model not allowed: ${ours}` } };
    expect(await asJson(place.url, { prompt: 'hi', modelId: ours }, ann)).toEqual(refused);
    expect(await asJson(place.url, { prompt: 'hi' }, ann)).toEqual(refused);
    const stream = await asStream(place.url, { prompt: 'hi', modelId: ours }, ann);
    expect([stream.status, await stream.json()]).toEqual([403, refused.body]);
    // Row 12 comes before, row 14 after.
    const told = async (modelId: string) => (await asJson(place.url, { prompt: 'hi', modelId }, ann)).body['error'];
    expect(await told('unheard-of')).toBe('Unknown model: unheard-of');
    expect(await told('claude-opus-4-6')).toBe('No model is available.');
    expect(await told('claude-sonnet-4.6')).toBe('Model not allowed: claude-sonnet-4.6');
    expect(await told('claude-sonnet-4-6')).toBe('Model not allowed: claude-sonnet-4-6');
    expect((await asJson(place.url, { prompt: 'hi' })).status).toBe(200);
    expect(place.model.server.requests).toHaveLength(1);
  });

  test('is no model of a task either, nor listed', async () => {
    await using place = await startAgentServer({ settings: settingsOf(['claude-opus-4.6']) });
    const made = await place.uhp.send('POST', '/v1/reins/keys', { body: { principal: 'ann' } });
    const ann = connectTo(place.url, String(made.body['key']));
    const refused = await ann.create({ input: 'hi', model: ours });
    expect([refused.status, refused.code, refused.param]).toEqual([422, 'model_unavailable', 'model']);
    const { body } = await ann.send('GET', '/v1/models');
    const { native } = body['backends'] as Record<string, { models: readonly { id: string }[] }>;
    expect(native?.models.map(({ id }) => id)).toEqual(['claude-opus-4.6']);
  });

  test('an allowed one is served', async () => {
    await using place = await startAgentServer({ settings: settingsOf([ours]) });
    const made = await place.uhp.send('POST', '/v1/reins/keys', { body: { principal: 'ann' } });
    const { status } = await asJson(place.url, { prompt: 'hi' }, { token: String(made.body['key']) });
    expect(status).toBe(200);
  });
});

test('A-010, row 12: a model that another harness of the caller serves is known, and that harness has the turn', async () => {
  const runtime = scriptedRuntime(temporaryFolder(), async (turn) => {
    turn.say({ is: 'reply-begun' }, { is: 'text', key: 't', text: 'Scripted.' }, accepted(), done);
  });
  await using place = await startAgentServer({ adapters: [withOneModel(runtime)] });
  expect(await asJson(place.url, { prompt: 'hi', modelId: 'test-model' })).toEqual({
    status: 200,
    body: { text: 'Scripted.' },
  });
  expect(await asJson(place.url, { prompt: 'hi' })).toEqual({ status: 200, body: { text: 'You said: hi' } });
  expect((await asJson(place.url, { prompt: 'hi', modelId: 'other' })).body).toEqual({ error: 'Unknown model: other' });
});

test('U-211: what was asked can be read in the session', async () => {
  await using place = await startAgentServer();
  await asJson(place.url, { prompt: ' hi\nyou ' });
  const { body } = await place.uhp.send('GET', '/v1/sessions?limit=1');
  const [session] = body['sessions'] as readonly { id: string }[];
  const listed = (await place.uhp.send('GET', `/v1/sessions/${session?.id}/turns`)).body['turns'];
  const [turn] = listed as readonly { id: string }[];
  expect(turn).toMatchObject({ user: 'hi\nyou', assistant: 'You said: hi\nyou' });
  const content = [{ type: 'input_text', text: 'hi\nyou' }];
  expect((await place.uhp.send('GET', `/v1/responses/${turn?.id}/input_items`)).body['data']).toEqual([
    { type: 'message', role: 'user', content },
  ]);
});
