import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChainRig, streamOf, type ChainResult } from '../testing/chain-rig.ts';
import { simpleText, type ReplyPiece, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { Middleware, ModelRequestDraft, TextTransform } from './middleware.ts';
import type { ModelPart } from './models/model-part.ts';

const text = (...chunks: string[]): ReplyPiece => ({ kind: 'text', chunks });
const thinking = (...chunks: string[]): ReplyPiece => ({ kind: 'thinking', chunks });
const call = (id: string, ...pieces: string[]): ReplyPiece => ({
  kind: 'tool-call',
  id,
  name: 'add',
  arguments: pieces,
});
const shout: Middleware = { afterModel: (reply) => ({ ...reply, text: reply.text.toUpperCase() }) };

function rigOf(reply: ScriptedReply, middleware: readonly Middleware[]) {
  return createChainRig({ members: { one: { replies: [reply] } }, middleware });
}

function replyOf({ outcome }: ChainResult) {
  if (outcome.type !== 'reply') throw new Error(`The outcome is '${outcome.type}'.`);
  return outcome.reply;
}

/** L6: the deltas joined by block are the parts of the whole texts, and the arguments of the calls. */
function expectDeltasOfReply(result: ChainResult): void {
  const { parts, calls, ...texts } = replyOf(result);
  const joined = new Map<number, string>();
  for (const { type, data, block = -1 } of result.drafts) {
    const piece =
      type === 'tool-call-delta' ? data.partialJson : type === 'text-delta' || type === 'thinking-delta' ? data : null;
    if (piece !== null) joined.set(block, (joined.get(block) ?? '') + piece);
  }
  for (const part of parts) {
    const whole =
      part.kind === 'tool-call'
        ? calls.find(({ id }) => id === part.id)?.arguments
        : texts[part.kind].slice(part.start, part.end);
    expect(joined.get(part.block) ?? '').toBe(whole);
    joined.delete(part.block);
  }
  expect([...joined.values()].join('')).toBe('');
}

describe('E-113, E-900: afterModel', () => {
  test('shows nothing before the reply is whole; then one text delta with the processed text, and never the text before', async () => {
    const result = await rigOf(simpleText('sec', 'ret'), [shout]).call();
    expect(result.drafts.map(({ type, data }) => [type, data])).toEqual([['text-delta', 'SECRET']]);
    expect(replyOf(result).text).toBe('SECRET');
    expect(JSON.stringify(result)).not.toContain('sec');
    expectDeltasOfReply(result);
  });

  test('notices still come, and E-332 holds', async () => {
    const result = await rigOf({ pieces: [text('a'), { kind: 'pause', ms: 12_000 }, text('b')] }, [shout]).call();
    expect(result.drafts.map(({ type }) => type)).toEqual(['waiting', 'text-delta']);
    expectDeltasOfReply(result);
  });

  test('blocks, reasoning and calls keep their places; several texts become one part', async () => {
    const pieces = [thinking('hm', 'm'), text('one '), call('a', '{"n"', ':1}'), text('two')];
    const change: Middleware = {
      afterModel: ({ calls, ...reply }) => ({
        ...reply,
        text: `${reply.text}!`,
        calls: calls.map((each) => ({ ...each, arguments: '{"n":2}' })),
      }),
    };
    const result = await rigOf({ pieces }, [change]).call();
    expect(result.drafts.map(({ type, block }) => [type, block])).toEqual([
      ['thinking-delta', 0],
      ['text-delta', 1],
      ['tool-call-delta', 2],
      ['tool-call-delta', 2],
    ]);
    expect(replyOf(result)).toMatchObject({
      text: 'one two!',
      thinking: 'hmm',
      calls: [{ id: 'a', arguments: '{"n":2}' }],
    });
    expect(replyOf(result).parts.map(({ kind }) => kind)).toEqual(['thinking', 'text', 'tool-call']);
    expectDeltasOfReply(result);
  });

  test('text may be added where there was none, and taken away whole', async () => {
    const added = await rigOf({ pieces: [call('a', '{}')] }, [
      { afterModel: (reply) => ({ ...reply, text: 'Added.' }) },
    ]).call();
    expect(replyOf(added).parts).toMatchObject([
      { kind: 'tool-call', block: 0 },
      { kind: 'text', block: 1, start: 0, end: 6 },
    ]);
    expectDeltasOfReply(added);
    const gone = await rigOf(simpleText('x'), [{ afterModel: (reply) => ({ ...reply, text: '' }) }]).call();
    expect([gone.drafts, replyOf(gone).parts]).toEqual([[], []]);
  });

  test('what a provider wants back with a text block stays, also where its text went elsewhere', async () => {
    const finish: ModelPart = {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
    };
    const block = (id: string): ModelPart[] => [
      { type: 'text-start', id, providerMetadata: { p: { item: id } } },
      { type: 'text-delta', id, delta: `${id} ` },
      { type: 'text-end', id },
    ];
    const rig = createChainRig({
      members: { one: { model: streamOf([...block('a'), ...block('b'), finish]) } },
      middleware: [shout],
    });
    const result = await rig.call();
    expect(replyOf(result).parts).toEqual([
      { block: 0, kind: 'text', start: 0, end: 4, _provider: { p: { item: 'a' } } },
      { block: 1, kind: 'text', start: 4, end: 4, _provider: { p: { item: 'b' } } },
    ]);
    expectDeltasOfReply(result);
  });

  test('until it is shown, another member may take over: nothing was seen', async () => {
    const cut: ScriptedReply = { ...simpleText('a', 'b', 'c'), fault: { kind: 'cut', after: 2 } };
    const rig = createChainRig({
      members: { one: { replies: [cut] }, two: { replies: [simpleText('whole')] } },
      middleware: [shout],
    });
    const result = await rig.call();
    expect(result.drafts.map(({ type }) => type)).toEqual(['model-switched', 'text-delta']);
    expect(replyOf(result).text).toBe('WHOLE');
  });
});

describe('I2: what has to stay as it is', () => {
  test.each<[string, Middleware]>([
    ['a call is taken away', { afterModel: (reply) => ({ ...reply, calls: [] }) }],
    [
      'an id is changed',
      { afterModel: (reply) => ({ ...reply, calls: reply.calls.map((each) => ({ ...each, id: 'other' })) }) },
    ],
    ['signed reasoning is changed', { afterModel: (reply) => ({ ...reply, thinking: 'else' }) }],
  ])('E-900: a ConfigurationError when %s', async (_, middleware) => {
    const rig = rigOf({ pieces: [thinking('hm'), call('a', '{}')] }, [middleware]);
    await expect(rig.call()).rejects.toMatchObject({ type: 'ConfigurationError' });
    expect(rig.clock.pending).toBe(0);
  });

  const prompt: ModelRequestDraft['prompt'] = [
    { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { p: { signature: 's' } } },
        { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'add', output: { type: 'text', value: 'secret' } }],
    },
  ];

  test('E-900: a request may be changed, within that', async () => {
    const redact: Middleware = {
      beforeModel: (request) => ({
        ...request,
        prompt: JSON.parse(JSON.stringify(request.prompt).replaceAll('secret', '***')) as typeof prompt,
      }),
    };
    const rig = createChainRig({
      members: { one: { replies: [simpleText('x')] } },
      request: { prompt },
      middleware: [redact],
    });
    await rig.call();
    expect(JSON.stringify(rig.models['one']?.calls[0]?.prompt)).toContain('***');
    for (const kept of [
      prompt.slice(0, 2),
      [prompt[0], prompt[2]],
      JSON.parse(JSON.stringify(prompt).replace('"s"', '"t"')),
    ]) {
      const bad: Middleware = { beforeModel: (request) => ({ ...request, prompt: kept as typeof prompt }) };
      const failing = createChainRig({ members: { one: {} }, request: { prompt }, middleware: [bad] });
      await expect(failing.call()).rejects.toMatchObject({ type: 'ConfigurationError' });
      expect(failing.models['one']?.calls).toHaveLength(0);
    }
  });

  test("I1: what a middleware throws is thrown on, once, as the cause of its own error: it is no provider's failure to retry", async () => {
    const boom = new Error('rate limit'); // Words that would be transient of a provider.
    const throws = () => {
      throw boom;
    };
    for (const middleware of [
      { beforeModel: throws },
      { afterModel: throws },
      { transform: () => ({ push: throws, flush: () => '' }) },
    ]) {
      const rig = rigOf(simpleText('x'), [middleware]);
      await expect(rig.call()).rejects.toMatchObject({ name: 'MiddlewareError', cause: boom });
      expect(rig.clock.pending).toBe(0);
    }
  });
});

/** Holds back up to `keep` characters, so that a word which spans chunks can be replaced. */
function replacing(word: string, by: string): () => TextTransform {
  return () => {
    let held = '';
    return {
      push(piece) {
        const all = (held + piece).replaceAll(word, by);
        const keep = Math.min(all.length, word.length - 1);
        held = all.slice(all.length - keep);
        return all.slice(0, all.length - keep);
      },
      flush: () => held,
    };
  };
}

describe('E-900: a stream transform', () => {
  test('sees text in order, may hold back and change it, and flushes at the end of each block', async () => {
    const result = await rigOf(
      { pieces: [thinking('a key'), text('the k', 'ey is ', 'ke'), call('c', '"key"'), text('key')] },
      [{ transform: replacing('key', '***') }],
    ).call();
    expect(replyOf(result)).toMatchObject({
      text: 'the *** is ke***',
      thinking: 'a key',
      calls: [{ arguments: '"key"' }],
    });
    // The rest of a block comes at its end, before what follows it.
    const blocks = result.drafts.map(({ block = -1 }) => block);
    expect(blocks).toEqual(blocks.toSorted((a, b) => a - b));
    expect(result.drafts.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(2);
    expectDeltasOfReply(result);
  });

  test('text that is held back is not shown: another member may still take over', async () => {
    const cut: ScriptedReply = { ...simpleText('k', 'e', 'y'), fault: { kind: 'cut', after: 2 } };
    const rig = createChainRig({
      members: { one: { replies: [cut] }, two: { replies: [simpleText('ok')] } },
      middleware: [{ transform: replacing('key', '***') }],
    });
    expect(replyOf(await rig.call()).text).toBe('ok');
  });

  test('E-125: however the text is cut, several in a row give what each gives of the whole, and the deltas are the reply', async () => {
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'ab', '🚀', ' ') }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(chunks, async (pieces) => {
        const middleware = [{ transform: replacing('ab', 'x') }, { transform: replacing('xx', 'yyy') }];
        const result = await rigOf(simpleText(...pieces), middleware).call();
        const [first, second] = middleware.map(({ transform }) => transform());
        const whole = pieces.join('');
        const once = (first?.push(whole) ?? '') + (first?.flush() ?? '');
        if (whole !== '') expect(replyOf(result).text).toBe((second?.push(once) ?? '') + (second?.flush() ?? ''));
        expectDeltasOfReply(result);
      }),
      { numRuns: 100 },
    );
  });

  test('I4: beside an afterModel both work on the whole, in the order given', async () => {
    const tag = (mark: string): Middleware => ({ afterModel: (reply) => ({ ...reply, text: reply.text + mark }) });
    const result = await rigOf(simpleText('ke', 'y'), [
      tag('1 key'),
      { transform: replacing('key', 'K') },
      tag(' key2'),
    ]).call();
    expect(replyOf(result).text).toBe('K1 K key2');
  });
});
