import { describe, expect, test, vi } from 'vitest';
import { createManualClock } from '../manual-clock.ts';
import { createProviders } from '../../engine/models/providers.ts';
import { startHarnessModel, type HarnessModel } from './start-harness-model.ts';
import { systemClock } from '../../system.ts';
import type { ModelPart } from '../../engine/models/model-part.ts';
import type { ModelRequest } from '../../engine/model.ts';
import type { ProviderName } from '../../core/provider-names.ts';

type Prompt = ModelRequest['prompt'];
const user = (text: string): Prompt[number] => ({ role: 'user', content: [{ type: 'text', text }] });
const tool = (name: string, ...fields: string[]) => ({
  type: 'function' as const,
  name,
  inputSchema: {
    type: 'object' as const,
    properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' as const }])),
  },
});
const shell = tool('bash', 'command');
/** What a runtime sends after it ran the calls. */
const afterCalls = (prompt: Prompt, calls: readonly Extract<ModelPart, { type: 'tool-call' }>[]): Prompt => [
  ...prompt,
  {
    role: 'assistant',
    content: calls.map(({ toolCallId, toolName, input }) => ({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: JSON.parse(input) as unknown,
    })),
  },
  {
    role: 'tool',
    content: calls.map(({ toolCallId, toolName }, index) => ({
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: 'text', value: `done ${index}` },
    })),
  },
];

interface Answer {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly Extract<ModelPart, { type: 'tool-call' }>[];
  readonly finish: Extract<ModelPart, { type: 'finish' }> | undefined;
}

async function withModel(
  provider: ProviderName,
  use: (
    ask: (prompt: Prompt | string, tools?: ModelRequest['tools']) => Promise<Answer>,
    model: HarnessModel,
  ) => unknown,
) {
  await using server = await startHarnessModel({ clock: systemClock });
  const baseURL = `${server.url}${provider === 'google' ? '/v1beta' : '/v1'}`;
  await using providers = createProviders({ [provider]: { apiKey: 'secret', baseURL } });
  const model = await providers.open(provider, 'test-model');
  await use(async (asked, tools = [shell]) => {
    const prompt = typeof asked === 'string' ? [user(asked)] : asked;
    const { stream } = await model.doStream({ prompt, tools, maxOutputTokens: 1000 });
    const parts = await Array.fromAsync(stream);
    const joined = (type: 'text-delta' | 'reasoning-delta') =>
      parts.map((part) => (part.type === type ? part.delta : '')).join('');
    return {
      text: joined('text-delta'),
      thinking: joined('reasoning-delta'),
      calls: parts.filter((part) => part.type === 'tool-call'),
      finish: parts.find((part) => part.type === 'finish'),
    };
  }, server);
}

const wires: readonly ProviderName[] = ['anthropic', 'openai', 'openai-compatible', 'google'];

describe.each(wires)('as %s asks', (provider) => {
  test('text and thinking arrive whole, and every reply has the same usage', () =>
    withModel(provider, async (ask) => {
      const answer = await ask('[[think]]');
      expect(answer).toMatchObject({ thinking: 'Let me think about it.', text: 'I thought.' });
      expect(answer.finish).toMatchObject({
        finishReason: { unified: 'stop' },
        usage: { inputTokens: { total: 11 }, outputTokens: { total: 7 } },
      });
    }));

  test('H-914: a line separator, joined emoji and CJK come as they are', () =>
    withModel(provider, async (ask) => {
      expect((await ask('[[unicode]]')).text).toBe('Line\u2028separator, 👩‍👩‍👧 family, 漢字 and é.');
    }));

  test('H-801: the offered tools are called, their results are the next step, and all of it is recorded', () =>
    withModel(provider, async (ask, server) => {
      const prompt = [user('[[parallel]]')];
      const first = await ask(prompt);
      expect(first.text.trim()).toBe('Two at once.');
      expect(first.calls.map(({ toolName, input }) => [toolName, JSON.parse(input)])).toEqual([
        ['bash', { command: 'echo one > one.txt' }],
        ['bash', { command: 'echo two > two.txt' }],
      ]);
      expect(first.finish?.finishReason.unified).toBe('tool-calls');
      expect((await ask(afterCalls(prompt, first.calls))).text).toBe('Both done.');
      expect(server.requests).toMatchObject([
        {
          model: 'test-model',
          stream: true,
          script: 'parallel',
          tools: ['bash'],
          calls: ['bash', 'bash'],
          results: [],
        },
        { calls: [], results: [expect.stringContaining('done 0'), expect.stringContaining('done 1')] },
      ]);
      expect(new Set(first.calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    }));

  test('H-801: a request that offers no tools is answered with a text, one that offers others says so', () =>
    withModel(provider, async (ask) => {
      expect(await ask('[[tool]]', [])).toMatchObject({ text: 'A title', calls: [] });
      const { text, calls } = await ask('[[tool]]', [tool('draw', 'what')]);
      expect([text, calls]).toEqual(['Writing it now. (No such tool is offered.)', []]);
    }));

  test('H-800: the marker of the last marked text counts, and a title request uses up no failure', () =>
    withModel(provider, async (ask) => {
      expect((await ask([user('[[think]]'), user('<context> [[length]] </context>'), user('Remember!')])).text).toBe(
        'This is cut by leng',
      );
      await expect(ask('[[e500once]]', [])).rejects.toMatchObject({ statusCode: 500 });
      await expect(ask('[[e500once]]')).rejects.toMatchObject({ statusCode: 500 });
      expect((await ask('[[e500once]]')).text).toBe('Worked after a 500.');
      await expect(ask('[[e500once:another]]')).rejects.toMatchObject({ statusCode: 500 });
    }));

  test('what earlier turns said is recalled, without their markers', () =>
    withModel(provider, async (ask) => {
      const { text } = await ask([user('[[text]] The word is plum.'), user('[[recall]] Which word?')]);
      expect(text).toBe('I was told:\nThe word is plum.');
    }));

  test('refusals have the status of the script, and 429 says when to come again', () =>
    withModel(provider, async (ask) => {
      for (const statusCode of [400, 401, 404, 429])
        await expect(ask(`[[e${statusCode}]]`)).rejects.toMatchObject({ statusCode });
      await expect(ask('[[e429once]]')).rejects.toMatchObject({ responseHeaders: { 'retry-after': '1' } });
      expect((await ask('[[e429once]]')).text).toBe('Worked after a 429.');
    }));

  test('a reply that is cut by length says so; one without end mark ends without a reason of its own', () =>
    withModel(provider, async (ask) => {
      expect((await ask('[[length]]')).finish?.finishReason.unified).toBe('length');
      expect((await ask('[[noend]]')).finish?.finishReason.raw).toBeUndefined();
    }));

  test('a connection cut in the middle breaks the reply once', () =>
    withModel(provider, async (ask, server) => {
      await expect(ask('[[cutonce]]')).rejects.toThrow();
      expect((await ask('[[cutonce]]')).text).toBe('This one is whole.');
      expect(server.requests.map(({ closedEarly }) => closedEarly)).toEqual([false, false]);
    }));

  test('H-915: many deltas', () =>
    withModel(provider, async (ask) => {
      const { text } = await ask('[[deltas:2000]]');
      expect(text.trim().split(' ')).toHaveLength(2000);
    }));
});

const paths = {
  messages: ['/v1/messages?beta=true', { messages: [{ role: 'user', content: '[[think]]' }] }],
  responses: ['/v1/responses', { input: '[[think]]' }],
  chat: ['/v1/chat/completions', { messages: [{ role: 'user', content: '[[think]]' }] }],
  gemini: ['/v1beta/models/g-1:generateContent', { contents: [{ parts: [{ text: '[[think]]' }] }] }],
} as const;

async function post(server: HarnessModel, path: string, body: unknown, signal: AbortSignal | null = null) {
  return await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
}

describe('H-803', () => {
  test.each(Object.entries(paths))('%s: without a stream the reply is one object', async (_, [path, body]) => {
    await using server = await startHarnessModel({ clock: systemClock });
    const response = await post(server, path, body);
    expect(response.headers.get('content-type')).toBe('application/json');
    const text = await response.text();
    expect(text).toContain('I thought.');
    expect(text).toMatch(/"(input_tokens|prompt_tokens|promptTokenCount)":11/);
    expect(server.requests).toMatchObject([{ path, stream: false, script: 'think', closedEarly: false }]);
  });

  test('models and token counts are there; anything else is not, and what is no request is refused', async () => {
    await using server = await startHarnessModel({ clock: systemClock });
    expect(await (await fetch(`${server.url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'test-model' }] });
    expect(await (await post(server, '/v1/messages/count_tokens', {})).json()).toMatchObject({ input_tokens: 11 });
    expect((await post(server, '/v1/other', {})).status).toBe(404);
    for (const [path] of Object.values(paths)) expect((await post(server, path, { wrong: 1 })).status).toBe(400);
    expect(server.requests).toHaveLength(7);
  });

  test.each(['html', 'garbage'])('%s is a body of status 200', async (name) => {
    await using server = await startHarnessModel({ clock: systemClock });
    const response = await post(server, '/v1/responses', { input: `[[${name}]]`, stream: true });
    expect([response.status, await response.text()]).toEqual([200, expect.stringMatching(/^(<html|data: \{not)/)]);
  });
});

describe('H-802: the client that leaves before the end is recorded', () => {
  test.each([
    ['before headers', '[[noheaders]]', false],
    ['before the first delta', '[[silence:0]]', true],
    ['in text', '[[silence]]', true],
  ])('%s', async (_, input, hasHeaders) => {
    await using server = await startHarnessModel({ clock: systemClock });
    const leave = new AbortController();
    const answer = post(server, '/v1/responses', { input, stream: true }, leave.signal);
    const settled = answer.catch(() => null);
    if (hasHeaders) expect((await answer).status).toBe(200);
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    expect(server.requests[0]).toMatchObject({ closedEarly: false, endedAt: null });
    leave.abort();
    await settled;
    await vi.waitFor(() =>
      expect(server.requests[0]).toMatchObject({ closedEarly: true, endedAt: expect.any(Number) }),
    );
  });
});

test('slow text comes at the pace that its marker names, by the clock of the server', async () => {
  const clock = createManualClock();
  await using server = await startHarnessModel({ clock });
  const response = await post(server, '/v1/chat/completions', {
    messages: [{ role: 'user', content: '[[slowtext:1000]]' }],
    stream: true,
  });
  let text = '';
  const reading = response.body?.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(chunk) {
        text += chunk;
      },
    }),
  );
  for (let word = 0; word < 40; word++) {
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    await vi.waitFor(() => expect(text).toContain(`word${word} `));
    expect(text).not.toContain(`word${word + 1} `);
    await clock.advance(1000);
  }
  await reading;
  expect(text).toContain('[DONE]');
});
