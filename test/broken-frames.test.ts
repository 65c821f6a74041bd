// A frame that breaks off and runs into the next one, which is of another response: from a provider, and from a server of ours.

import { createServer, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { once } from 'node:events';
import { answerOf, assembleOutput } from './support/event-stream.ts';
import { anthropicWire } from '../src/testing/model-servers/anthropic-wire.ts';
import { beatsBeforeFault } from '../src/testing/model-servers/reply-script.ts';
import { connect, type TaskEvent } from '../src/client/index.ts';
import { createFastClock } from './support/fast-clock.ts';
import { eventsOf, frame, frames, replay, startStub, stream } from './support/stub-uhp.ts';
import { finalOf, whole } from './support/uhp.ts';
import { googleWire } from '../src/testing/model-servers/google-wire.ts';
import { openaiChatWire } from '../src/testing/model-servers/openai-chat-wire.ts';
import { openaiResponsesWire } from '../src/testing/model-servers/openai-responses-wire.ts';
import { providers, type Provider } from './support/provider.ts';
import { say } from './support/model.ts';
import { silentLogger } from '../src/core/logger.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const wires = {
  anthropic: anthropicWire,
  'openai-responses': openaiResponsesWire,
  'openai-chat': openaiChatWire,
  google: googleWire,
};

/** What breaks off, how the next line follows it, and whether there were whole pieces before. */
const breaks = (['', '\n'] as const).flatMap((between) => ([0, 2] as const).map((kept) => ({ between, kept })));

const framesOf = ({ protocol }: Provider, ...pieces: readonly string[]) =>
  beatsBeforeFault(wires[protocol].beats(say(...pieces), 'm'), undefined).flatMap((beat) =>
    beat.kind === 'pause' ? [] : [beat],
  );

/** The frames of one reply up to the middle of a piece, then those of another from a piece on. */
function broken(provider: Provider, { between, kept }: (typeof breaks)[number]): string {
  const own = framesOf(provider, 'One ', 'two ', 'three.');
  const foreign = framesOf(provider, 'Of ', 'somebody ', 'else.');
  const at = own.map(({ kind }, index) => (kind === 'delta' ? index : -1)).filter((index) => index >= 0)[kept] ?? 0;
  const cut = own[at]?.item ?? '';
  const rest = foreign.slice(at).map(({ item }) => item.slice(item.indexOf('data: ')));
  const before = own.slice(0, at).map(({ item }) => item);
  // Inside of the piece's own text.
  return [...before, cut.slice(0, cut.lastIndexOf('"', cut.length - 20) - 1), between, ...rest].join('');
}

async function startProvider(answer: (response: ServerResponse, index: number) => void) {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    answer(response, requests++);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return {
    baseURL: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/v1`,
    requests: () => requests,
  };
}

test.each(providers)(
  'B013: $name: of a frame that runs into the next nothing is said, the reply begins again, and the log has it',
  async (provider) => {
    for (const how of breaks) {
      const upstream = await startProvider((response, index) =>
        response.end(
          index > 0
            ? framesOf(provider, 'Whole.')
                .map(({ item }) => item)
                .join('')
            : broken(provider, how),
        ),
      );
      const lines: string[] = [];
      const note = (message: string, facts: object = {}) => void lines.push(`${message} ${JSON.stringify(facts)}`);
      await using server = await startServer({
        data: temporaryFolder(),
        env: { [`${provider.prefix}_BASE_URL`]: upstream.baseURL, [`${provider.prefix}_API_KEY`]: 'key' },
        settings: { models: { default: provider.model } },
        clock: createFastClock(50),
        logger: { ...silentLogger, warn: note, error: note },
      });
      const seen = await whole(server.uhp.stream({ input: 'go' }));
      const final = finalOf(seen);
      expect([final.status, answerOf(final), upstream.requests()]).toEqual(['completed', 'Whole.', 2]);
      expect(assembleOutput(seen)).toEqual(final.output);
      expect(JSON.stringify(seen)).not.toMatch(/somebody|else\./);
      // The operator reads the frame as it came.
      expect(lines.join('\n')).toMatch(/parsing failed: Text: .*(?:Of |else\.)/);
    }
  },
);

test('B013: of a frame of a server that runs into the next one nothing is taken, and what is missing is fetched', async () => {
  const [own, foreign] = [eventsOf('One ', 'two ', 'three.'), eventsOf('Of ', 'somebody ', 'else.')];
  for (const between of ['', '\n', '\r\n'])
    for (let at = 1; at < own.length - 1; at++) {
      const cut = frame(own[at] ?? {});
      const post = stream(frames(own.slice(0, at)), cut.slice(0, cut.length / 2), between, frames(foreign.slice(at)));
      await using stub = await startStub({ 'POST /v1/responses': post, 'GET /v1/responses/resp_1': replay(own) });
      const task = connect(stub.url, 'key', { backoffMs: 1 }).run({ input: 'x' });
      const seen: TaskEvent[] = [];
      for await (const event of task) seen.push(event);
      expect([between, at, seen]).toEqual([between, at, own]);
      expect((await task.result()).text).toBe('One two three.');
    }
});
