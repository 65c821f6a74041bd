// The chain over the real provider clients and real sockets: broken streams and quiet ones.

import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { anthropicWire } from '../testing/model-servers/anthropic-wire.ts';
import {
  beatsBeforeFault,
  simpleText,
  type ReplyFault,
  type ScriptedReply,
} from '../testing/model-servers/reply-script.ts';
import { callChain } from './call-chain.ts';
import { createModelHealth } from './model-health.ts';
import { createProviders } from './models/providers.ts';
import { defaultPolicies } from './policies.ts';
import { googleWire } from '../testing/model-servers/google-wire.ts';
import { openaiChatWire } from '../testing/model-servers/openai-chat-wire.ts';
import { openaiResponsesWire } from '../testing/model-servers/openai-responses-wire.ts';
import { silentLogger } from '../core/logger.ts';
import { startModelServer } from '../testing/model-servers/model-server.ts';
import { systemClock } from '../system.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Model, ModelTraits } from './model.ts';
import type { ModelOutcome } from './model-outcome.ts';
import type { ProviderName } from '../core/provider-names.ts';
import type { WireProtocol } from '../testing/model-servers/wire-protocol.ts';

const protocols = {
  anthropic: anthropicWire,
  'openai-responses': openaiResponsesWire,
  'openai-chat': openaiChatWire,
  google: googleWire,
};
/** What Azure speaks is what OpenAI speaks. */
const providers: readonly [ProviderName, keyof typeof protocols][] = [
  ['anthropic', 'anthropic'],
  ['openai', 'openai-responses'],
  ['google', 'google'],
  ['openrouter', 'openai-chat'],
  ['openai-compatible', 'openai-chat'],
];

interface Attempt {
  readonly drafts: readonly EventDraft[];
  readonly outcome: ModelOutcome;
}

async function callOnce(
  model: Model,
  o: { readonly attempt: number; readonly idleSeconds: number; readonly traits?: ModelTraits },
): Promise<Attempt> {
  const { attempt, idleSeconds, traits = {} } = o;
  const { retry, progress } = defaultPolicies;
  const calling = callChain({
    step: 1,
    attempt,
    members: [{ ref: { provider: 'p', model: 'm-1' }, open: async () => ({ model, traits, maxOutputTokens: null }) }],
    pinned: null,
    signal: new AbortController().signal,
    clock: systemClock,
    logger: silentLogger,
    policies: {
      ...defaultPolicies,
      retry: { ...retry, streamIdleTimeoutSeconds: idleSeconds },
      progress: { ...progress, firstAfterSeconds: 0.2, repeatEverySeconds: 10 },
    },
    health: createModelHealth({ clock: systemClock }),
    request: async () => ({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      maxOutputTokens: 100,
    }),
  });
  const drafts: EventDraft[] = [];
  for (;;) {
    const { done, value } = await calling.next();
    if (done === true) return { drafts, outcome: value };
    drafts.push(...value);
  }
}

const shownIn = ({ drafts }: Attempt) =>
  drafts.flatMap((draft) => (draft.type === 'text-delta' ? [draft.data] : [])).join('');

/** Answers every request by hand; frames are written as they are given. */
async function startRawServer(answer: (response: ServerResponse, index: number) => Promise<void> | void) {
  let requests = 0;
  let open = 0;
  const server = createServer((message, response) => {
    message.resume();
    open++;
    response.once('close', () => open--);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void answer(response, requests++);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    open: () => open,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const chunks = ['One ', 'two ', 'three ', 'four.'];
const framesOf = (wire: WireProtocol, reply: ScriptedReply, fault?: ReplyFault) =>
  beatsBeforeFault(wire.beats(reply, 'm-1'), fault).flatMap((beat) => (beat.kind === 'pause' ? [] : [beat.item]));

describe.each(providers)('E-311, B068: %s', (provider, protocol) => {
  const wire = protocols[protocol];
  const cases = [0, 1, 2, 4].flatMap((after) =>
    (['error-event', 'cut', 'stall', 'no-end-mark', 'malformed'] as const).map((kind) => [kind, after] as const),
  );

  test.concurrent.each(cases)(
    '%s after %i chunks: what was shown is a beginning of the accepted text, which comes once',
    async (kind, after) => {
      await using server =
        kind === 'malformed'
          ? await startRawServer((response, index) => {
              const frames =
                index > 0
                  ? framesOf(wire, simpleText(...chunks))
                  : [...framesOf(wire, simpleText(...chunks), { kind: 'cut', after }), 'data: {"broken": \n\n'];
              response.end(frames.join(''));
            })
          : await startModelServer(protocol, [
              { ...simpleText(...chunks), fault: { kind, after } },
              simpleText(...chunks),
            ]);
      await using clients = createProviders({ [provider]: { apiKey: 'secret', baseURL: server.baseURL } });
      const model = await clients.open(provider, 'm-1');
      const first = await callOnce(model, { attempt: 1, idleSeconds: kind === 'stall' ? 0.6 : 20 });
      expect(first.outcome).toMatchObject({ type: 'failed', failure: { class: 'transient', retryAtOnce: false } });
      const expected = {
        'error-event': 'transient-error',
        cut: 'transient-error',
        stall: 'stalled',
        'no-end-mark': 'incomplete',
        malformed: 'malformed-reply',
      };
      expect(first.outcome).toMatchObject({ failure: { reason: expected[kind] } });
      expect(shownIn(first)).toBe(chunks.slice(0, after).join(''));
      const second = await callOnce(model, { attempt: 2, idleSeconds: 20 });
      expect(second.outcome).toMatchObject({ type: 'reply', reply: { text: chunks.join('') } });
      expect(shownIn(second)).toBe(chunks.join(''));
      await vi.waitFor(() => expect(typeof server.open === 'function' ? server.open() : server.open).toBe(0));
    },
  );
});

test('E-302: a server that sends comments while it reads a long prompt is waited for only where its entry says that this is progress', async () => {
  const readLong = async (response: ServerResponse, wire: WireProtocol) => {
    for (let comment = 0; comment < 16; comment++) {
      response.write(': still reading\n\n');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    response.end(framesOf(wire, simpleText('Hi.')).join(''));
  };
  const askBoth = async ([provider, protocol]: (typeof providers)[number]) => {
    await using server = await startRawServer((response) => readLong(response, protocols[protocol]));
    await using clients = createProviders({ [provider]: { apiKey: 'secret', baseURL: server.baseURL } });
    const model = await clients.open(provider, 'm-1');
    const [given, waited] = await Promise.all([
      callOnce(model, { attempt: 1, idleSeconds: 1 }),
      callOnce(model, { attempt: 1, idleSeconds: 1, traits: { keepAliveIsProgress: true } }),
    ]);
    expect(given.outcome, provider).toMatchObject({ type: 'failed', failure: { reason: 'stalled' } });
    expect(waited.outcome, provider).toMatchObject({ type: 'reply', reply: { text: 'Hi.' } });
    const notice = waited.drafts.find((draft) => draft.type === 'waiting');
    expect(notice?.data.lastByteMs, provider).toEqual(expect.any(Number));
  };
  await Promise.all(providers.map(askBoth));
});

test('E-309: a stream whose end was never read does not hold its connection, nor the next call', async () => {
  await using server = await startRawServer((response, index) => {
    const frames = framesOf(anthropicWire, simpleText(...chunks));
    response.write(frames.join(''));
    if (index > 0) response.end();
  });
  await using clients = createProviders({ anthropic: { apiKey: 'secret', baseURL: server.baseURL } });
  const model = await clients.open('anthropic', 'm-1');
  const startMs = performance.now();
  const first = await callOnce(model, { attempt: 1, idleSeconds: 20 });
  expect(first.outcome).toMatchObject({ type: 'reply', reply: { text: chunks.join('') } });
  expect(performance.now() - startMs).toBeLessThan(5000);
  await expect.poll(server.open).toBe(0);
  expect((await callOnce(model, { attempt: 1, idleSeconds: 20 })).outcome.type).toBe('reply');
});
