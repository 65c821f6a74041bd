import { expect, test } from 'vitest';
import { buildPrompt } from './build-prompt.ts';
import { createProviders } from './models/providers.ts';
import { initialRunState } from '../core/run-state.ts';
import { simpleText } from '../testing/model-servers/reply-script.ts';
import { startModelServer, type ModelServerProtocol } from '../testing/model-servers/model-server.ts';
import { testRunId, testSessionId } from '../testing/log-builder.ts';
import type { AssistantPart, Message, ToolAnswer } from '../core/transcript.ts';
import type { ContentStore } from './content-store.ts';
import type { ProviderName } from '../core/provider-names.ts';
import type { RunConfig } from '../core/run-config.ts';

const wires: readonly (readonly [ProviderName, ModelServerProtocol, string])[] = [
  ['anthropic', 'anthropic', 'claude'],
  ['openai', 'openai-responses', 'gpt'],
  ['azure', 'openai-responses', 'gpt'],
  ['google', 'google', 'gemini'],
  ['openrouter', 'openai-chat', 'anthropic/claude'],
  ['openai-compatible', 'openai-chat', 'local'],
];

const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
const base64 = Buffer.from(bytes).toString('base64');
const content: ContentStore = { putContent: async () => ({ ref: 'r', bytes: 8 }), content: async () => bytes };
const picture = { mediaType: 'image/png', ref: 'r', bytes: 8 };

const call = (id: string): AssistantPart => ({ kind: 'tool-call', call: { id, name: 'look', arguments: '{"at":1}' } });
const answer = (toolCallId: string, more: Partial<ToolAnswer> = {}): ToolAnswer => ({
  toolCallId,
  name: 'look',
  content: `seen by ${toolCallId}`,
  isError: false,
  ...more,
});
const messages: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'media', filename: 'a.png', ...picture },
    ],
  },
  { role: 'assistant', parts: [{ kind: 'text', text: ' ' }, call('a'), call('b'), call('c')] },
  { role: 'tool', answers: [answer('a'), answer('b', { isError: true }), answer('c', { media: [picture] })] },
  { role: 'assistant', parts: [call('d')] },
  { role: 'tool', answers: [answer('d', { content: '' })] },
];

/** The body of the request that a provider's own package makes of it. */
async function bodyFor(
  [provider, protocol, name]: (typeof wires)[number],
  accepts: readonly string[],
): Promise<string> {
  await using server = await startModelServer(protocol, [simpleText('Fine.')]);
  await using providers = createProviders({ [provider]: { apiKey: 'secret', baseURL: server.baseURL } });
  const model = await providers.open(provider, name);
  const start = initialRunState(testRunId, testSessionId);
  const config = { systemPrompt: 'You are.', instructions: null, planning: true } as RunConfig;
  const todos = [{ content: 'Look twice', status: 'pending' }] as const;
  const state = { ...start, config, todos, transcript: { ...start.transcript, messages } };
  const opened = { model, traits: {}, maxOutputTokens: null, accepts };
  const prompt = await buildPrompt(state, { history: [], content, opened, cache: { ttl: '5m' } });
  const { stream } = await model.doStream({ prompt, maxOutputTokens: 100 });
  for await (const part of stream) if (part.type === 'error') throw part.error;
  return JSON.stringify(server.requests[0]?.body);
}

const count = (text: string, part: string) => text.split(part).length - 1;

test.each(wires)('E-552: %s is sent the picture as itself, once for each place, and every word', async (...wire) => {
  const body = await bodyFor(wire, ['image/*']);
  expect(count(body, base64)).toBe(wire[0] === 'openai-compatible' ? 1 : 2);
  for (const word of ['You are.', 'Look.', 'seen by a', 'seen by b', 'seen by c', 'Look twice'])
    expect(body).toContain(word);
  expect(body).not.toContain('"0":137');
});

test.each(wires)('E-552: %s is sent words where its model takes no pictures', async (...wire) => {
  const body = await bodyFor(wire, []);
  expect(count(body, base64)).toBe(0);
  expect(count(body, 'cannot be shown to this model')).toBe(2);
});

test.each(wires)('the marks of %s are as many as it was meant to get: three, or none', async (...wire) => {
  const marked = wire[0] === 'anthropic' || wire[0] === 'openrouter';
  expect(count(await bodyFor(wire, []), '"cache_control"')).toBe(marked ? 3 : 0);
});
