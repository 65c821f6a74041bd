import { describe, expect, test } from 'vitest';
import { createProviders, hasCredential } from './providers.ts';
import type { ProviderName } from '../../core/provider-names.ts';
import { MalformedReplyError } from '../../core/errors.ts';
import { startModelServer, type ModelServerProtocol } from '../../testing/model-servers/model-server.ts';
import type { ModelPart } from './model-part.ts';
import type { ModelRequest } from '../model.ts';
import type { ReplyPiece, ReplyScript, ScriptedReply } from '../../testing/model-servers/reply-script.ts';
import type { RecordedRequest } from '../../testing/model-servers/model-server.ts';

const wires: readonly [ProviderName, ModelServerProtocol][] = [
  ['anthropic', 'anthropic'],
  ['openai', 'openai-responses'],
  ['azure', 'openai-responses'],
  ['google', 'google'],
  ['openrouter', 'openai-chat'],
  ['openai-compatible', 'openai-chat'],
];
/** Announce a failure before the first event by rejecting; the others send it as a part. */
const rejectsEarly = new Set<ProviderName>(['anthropic', 'openai', 'azure']);
const chatWires = wires.filter(([, protocol]) => protocol === 'openai-chat');

const request: ModelRequest = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  maxOutputTokens: 100,
  tools: [{ type: 'function', name: 'add', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }],
};
const text = (...chunks: string[]): ReplyPiece => ({ kind: 'text', chunks });
const call = (id: string | null, ...pieces: string[]): ReplyPiece => ({
  kind: 'tool-call',
  id,
  name: 'add',
  arguments: pieces,
});

async function withModel<T>(
  [provider, protocol]: (typeof wires)[number],
  script: ReplyScript<RecordedRequest>,
  use: (
    ask: (changes?: Partial<ModelRequest>) => Promise<Answer>,
    server: { requests: readonly RecordedRequest[] },
  ) => Promise<T>,
): Promise<T> {
  await using server = await startModelServer(protocol, script);
  await using providers = createProviders({ [provider]: { apiKey: 'secret', baseURL: server.baseURL } });
  const model = await providers.open(provider, 'm-1');
  return await use(async (changes) => read((await model.doStream({ ...request, ...changes })).stream), server);
}

interface Answer {
  readonly parts: readonly ModelPart[];
  readonly thrown: unknown;
}

async function read(stream: ReadableStream<ModelPart>): Promise<Answer> {
  const parts: ModelPart[] = [];
  try {
    for await (const part of stream) parts.push(part);
  } catch (thrown) {
    return { parts, thrown };
  }
  return { parts, thrown: null };
}

type PartOf<T> = Extract<ModelPart, { type: T }>;
function partsOf<T extends ModelPart['type']>({ parts }: Answer, type: T): PartOf<T>[] {
  return parts.filter((part): part is PartOf<T> => part.type === type);
}
const joined = (answer: Answer, type: 'text-delta' | 'reasoning-delta') =>
  partsOf(answer, type)
    .map(({ delta }) => delta)
    .join('');
const finishOf = (answer: Answer) => partsOf(answer, 'finish')[0]?.finishReason;
const callsOf = (answer: Answer) => partsOf(answer, 'tool-call').map(({ toolCallId, input }) => [toolCallId, input]);

describe.each(wires)('E-300: %s', (...wire) => {
  const [provider] = wire;
  const once = (reply: ScriptedReply) => withModel(wire, [reply], (ask) => ask());

  test('text comes in the pieces that were sent, with usage, served model and a raw finish reason', async () => {
    const usage = { inputTokens: 3, outputTokens: 4 };
    const answer = await once({ pieces: [text('Hel', 'lo ', '€😀')], usage, modelId: 'm-1-dated' });
    expect(partsOf(answer, 'text-delta').map(({ delta }) => delta)).toEqual(['Hel', 'lo ', '€😀']);
    expect(finishOf(answer)).toMatchObject({ unified: 'stop', raw: expect.any(String) });
    expect(partsOf(answer, 'finish')[0]?.usage).toMatchObject({
      inputTokens: { total: 3 },
      outputTokens: { total: 4 },
    });
    const served = partsOf(answer, 'response-metadata').map(({ modelId }) => modelId);
    expect(served).toContain(provider === 'google' ? undefined : 'm-1-dated');
  });

  test('thinking comes apart from text', async () => {
    const answer = await once({ pieces: [{ kind: 'thinking', chunks: ['hm', 'm'] }, text('x')] });
    expect([joined(answer, 'reasoning-delta'), joined(answer, 'text-delta')]).toEqual(['hmm', 'x']);
  });

  test('B023, B079: a call whose arguments come in pieces is one call with the whole text', async () => {
    const answer = await once({ pieces: [call('c1', '{"a', '":1', '2,"b":"\\u00', 'e9€"}')] });
    expect(callsOf(answer).map(([, input]) => JSON.parse(String(input)) as unknown)).toEqual([{ a: 12, b: 'é€' }]);
    expect(finishOf(answer)?.unified).toBe('tool-calls');
    expect(finishOf(answer)?.raw).toBeDefined();
  });

  test("a call without arguments has '' or {} for input", async () => {
    const answer = await once({ pieces: [call('c1', '')] });
    expect(callsOf(answer).map(([, input]) => input || '{}')).toEqual(['{}']);
    expect(finishOf(answer)?.raw).toBeDefined();
  });

  test('parallel calls stay apart and in order', async () => {
    const answer = await once({ pieces: [call('c1', '{"a":1}'), call('c2', '{"a":', '2}')] });
    expect(callsOf(answer)).toEqual([
      ['c1', '{"a":1}'],
      ['c2', '{"a":2}'],
    ]);
  });

  test('B001, E-310: bytes cut anywhere give the same text', async () => {
    const pieces = [text('é€', '😀')];
    const cuts = [1, 2, 3].map((every): ScriptedReply => ({ pieces, bytes: { every } }));
    // Far enough to cover every byte of every delta; what Azure speaks is what OpenAI speaks.
    if (provider !== 'azure')
      for (let splitAt = 1; splitAt < 1000; splitAt++) cuts.push({ pieces, bytes: { splitAt } });
    await withModel(wire, cuts, async (ask) => {
      const texts = new Set<string>();
      for (let asked = 0; asked < cuts.length; asked++) texts.add(joined(await ask(), 'text-delta'));
      expect([...texts]).toEqual(['é€😀']);
    });
  });

  test('a refused request rejects with status and headers, and is not repeated (E-200, E-203)', async () => {
    const refused: ScriptedReply = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' } } };
    await withModel(wire, [refused, refused], async (ask, { requests }) => {
      await expect(ask()).rejects.toMatchObject({ statusCode: 429, responseHeaders: { 'retry-after': '7' } });
      expect(requests).toHaveLength(1);
    });
  });

  test('B066: an error event before anything else rejects or is an error part', async () => {
    const asked = once({ fault: { kind: 'error-event', after: 'nothing' } });
    if (rejectsEarly.has(provider)) await expect(asked).rejects.toMatchObject({ message: 'Overloaded' });
    else expect(partsOf(await asked, 'error')).toHaveLength(1);
  });

  test.each([0, 1, 2])('B066, B068: an error event after %i deltas is an error part after them', async (after) => {
    const answer = await once({ pieces: [text('a', 'b')], fault: { kind: 'error-event', after } });
    expect(joined(answer, 'text-delta')).toBe('ab'.slice(0, after));
    expect(partsOf(answer, 'error')).toMatchObject([{ error: { message: 'Overloaded' } }]);
    expect(finishOf(answer)?.unified ?? 'error').toBe('error');
  });

  test('a cut connection throws or is an error part, never a finish with a reason', async () => {
    const answer = await once({ pieces: [text('a', 'b')], fault: { kind: 'cut', after: 1 } });
    expect(joined(answer, 'text-delta')).toBe('a');
    expect(answer.thrown ?? partsOf(answer, 'error')[0]?.error).toMatchObject({
      name: 'AI_APICallError',
      isRetryable: true,
    });
    expect(finishOf(answer)?.raw).toBeUndefined();
  });

  test.each([
    ['text', [text('a', 'b')], 1],
    ['a whole call', [call('c1', '{"a":1}')], 1],
    ['half a call', [call('c1', '{"a"', ':1}')], 1],
  ])('E-306: a stream that ends without its end mark after %s has no raw finish reason', async (_, pieces, after) => {
    const answer = await once({ pieces, fault: { kind: 'no-end-mark', after } });
    expect(finishOf(answer)).toMatchObject({ raw: undefined });
    expect(callsOf(answer)).not.toContainEqual(['c1', '{}']);
  });

  test('an abort during the stream throws the reason and closes the connection', async () => {
    await using server = await startModelServer(wire[1], [
      { pieces: [text('a', 'b')], fault: { kind: 'stall', after: 1 } },
    ]);
    await using providers = createProviders({ [provider]: { apiKey: 'secret', baseURL: server.baseURL } });
    const model = await providers.open(provider, 'm-1');
    const stop = new AbortController();
    const { stream } = await model.doStream({ ...request, abortSignal: stop.signal });
    const reader = stream.getReader();
    const seen: ModelPart[] = [];
    const reading = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        seen.push(next.value);
        if (next.value.type === 'text-delta') stop.abort(new DOMException('stopped', 'AbortError'));
      }
    })();
    const failure = await reading.then(
      () => seen.find((part) => part.type === 'error')?.error,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ name: 'AbortError' });
    await expect.poll(() => server.open).toBe(0);
  });

  test('the key goes out once, in a header, and the environment is not read', async () => {
    await withModel(wire, [{ pieces: [text('x')] }], async (ask, { requests }) => {
      await ask();
      expect(JSON.stringify(requests[0]?.headers)).toContain('secret');
      expect(JSON.stringify(requests[0]?.body)).not.toContain('secret');
    });
  });
});

describe.each(chatWires)('chat completions through %s', (...wire) => {
  const once = (pieces: readonly ReplyPiece[]) => withModel(wire, [{ pieces }], (ask) => ask());

  test.each([
    ['distinct', ['c1', 'c2', 'c3']],
    ['null', [null, null, null]],
    ['equal', ['c1', 'c1', 'c1']],
  ])('B077: three calls under one index with %s ids are three calls or a loud failure', async (_, ids) => {
    const answer = await once(ids.map((id, at) => ({ ...call(id, `{"a":${at}}`), index: 0 }) as ReplyPiece));
    const apart = new Set(callsOf(answer).map(([id]) => id)).size === 3;
    const loud = answer.thrown !== null || callsOf(answer).some(([, input]) => !isJson(input));
    expect(apart || loud).toBe(true);
  });

  test.each(['{"a":1}{"a":2}', '{"a":', 'nonsense'])(
    'B079: arguments that are no JSON stay as they are: %s',
    async (input) => {
      for (const pieces of [[input], [input.slice(0, 3), input.slice(3)]]) {
        const answer = await once([call('c1', ...pieces)]);
        if (answer.thrown === null) expect(callsOf(answer)).toEqual([['c1', input]]);
        else expect(answer.thrown).toBeInstanceOf(MalformedReplyError);
      }
    },
  );
});

function isJson(input: string | undefined): boolean {
  try {
    return input !== undefined && JSON.parse(input) !== undefined;
  } catch {
    return false;
  }
}

test('a compatible server needs an address, everyone else a key, Azure both', () => {
  expect(hasCredential('openai-compatible', { baseURL: 'http://127.0.0.1:11434/v1' })).toBe(true);
  expect(hasCredential('openai-compatible', { apiKey: 'k' })).toBe(false);
  expect(hasCredential('anthropic', { apiKey: 'k' })).toBe(true);
  expect(hasCredential('openai')).toBe(false);
  expect(hasCredential('azure', { apiKey: 'k' })).toBe(false);
  expect(hasCredential('azure', { apiKey: 'k', resourceName: 'r' })).toBe(true);
});

test('a compatible server without a key is asked without one', async () => {
  await using server = await startModelServer('openai-chat', [{ pieces: [text('x')] }]);
  await using providers = createProviders({ 'openai-compatible': { baseURL: server.baseURL } });
  const model = await providers.open('openai-compatible', 'llama');
  await read((await model.doStream(request)).stream);
  expect(server.requests[0]?.headers.authorization).toBeUndefined();
});
