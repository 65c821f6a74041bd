// How long a stream may take: to its first byte, between two pieces, in silence, and after its end.

import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { once } from 'node:events';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { finalOf, key } from './support/uhp.ts';
import { isDelta, isTerminal, type SeenFrame } from './support/event-stream.ts';
import { nodeServerOf } from './support/node-servers.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

/** A harness that shows its next piece when it is told to, and ends after the last. */
function steppedHarness(pieces: readonly string[]) {
  const steps = pieces.map(() => Promise.withResolvers<void>());
  return {
    steps,
    adapter: turnHarness(async function* () {
      for (const [n, text] of pieces.entries()) {
        await steps[n]?.promise;
        yield [piece(0, text)];
      }
    }),
  };
}

async function openSocket(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const soon = { timeout: 10_000 };
const standing = `host: x\r\nauthorization: Bearer ${key}\r\n`;

test('UT-20: the first frame comes before the agent has said a word, each piece before the next one is there, and nothing after the end', async () => {
  const { steps, adapter } = steppedHarness(['one', 'two', 'three']);
  await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters: [adapter] });
  const { frames } = await server.uhp.stream({ input: 'go' });
  const seen: SeenFrame[] = [];
  const readTo = async (fits: (frame: SeenFrame) => boolean) => {
    for (;;) {
      const { value, done } = await frames.next();
      if (done === true) throw new Error('The stream is over.');
      seen.push(value);
      if (fits(value)) return value.event;
    }
  };
  expect((await readTo(() => true)).type).toBe('response.created');
  for (const [n, text] of ['one', 'two', 'three'].entries()) {
    steps[n]?.resolve();
    // Nothing else makes it come: the next one waits for this test.
    expect((await readTo(isDelta)).delta).toBe(text);
  }
  await readTo(isTerminal);
  expect(await frames.next()).toMatchObject({ done: true });
  expect(finalOf(seen).status).toBe('completed');
});

test(
  'B030: who drips its headers is cut; a POST on a connection that was idle for 5 s is answered; a stream lives through 6 silent minutes',
  { timeout: 60_000 },
  async () => {
    const clock = createManualClock(Date.now());
    const { steps, adapter } = steppedHarness(['after all']);
    await using server = await startServer({
      data: temporaryFolder(),
      settings: turnSettings,
      adapters: [adapter],
      clock,
    });
    const { url } = server;
    /** What there is, after a little more of the server's time: it commits by its clock. */
    const passing = async <T>(look: () => T) => {
      await clock.advance(10);
      return look();
    };
    const node = await nodeServerOf(url);
    // As it is set: receiving is limited, idleness outlasts that of proxies, and answers may take any time.
    expect([node.headersTimeout, node.requestTimeout, node.timeout]).toEqual([15_000, 300_000, 0]);
    expect(node.keepAliveTimeout).toBeGreaterThan(60_000);
    const [silent, idle] = [await openSocket(url), await openSocket(url)];
    const body = JSON.stringify({ input: 'go', stream: true });
    silent.write(
      `POST /v1/responses HTTP/1.1\r\n${standing}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    let streamed = '';
    silent.on('data', (chunk) => (streamed += String(chunk)));
    await expect.poll(() => passing(() => streamed), soon).toContain('response.created');
    idle.write(`GET /healthz HTTP/1.1\r\n${standing}\r\n`);
    expect(String((await once(idle, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/);
    const idleSinceMs = performance.now();
    // And as it works, with the two that would take too long in haste: were one of them to hold for answers, the stream would go as the dripper does.
    node.headersTimeout = 50;
    node.requestTimeout = 100;
    const dripping = await openSocket(url);
    dripping.write('POST /v1/responses HTTP/1.1\r\nhost:');
    let refusal = '';
    dripping.on('data', (chunk) => (refusal += String(chunk)));
    const drip = setInterval(() => dripping.write(' '), 20);
    onTestFinished(() => clearInterval(drip));
    await once(dripping, 'close');
    clearInterval(drip);
    [node.headersTimeout, node.requestTimeout] = [15_000, 300_000];
    expect(refusal).toMatch(/^HTTP\/1\.1 4\d\d /);
    await expect.poll(() => performance.now() - idleSinceMs, soon).toBeGreaterThan(5_500);
    await clock.advance(6 * 60_000);
    await expect.poll(() => streamed.split(': keep-alive\n\n').length, soon).toBeGreaterThan(23);
    expect(silent.destroyed).toBe(false);
    const small = JSON.stringify({ input: 'go', background: true });
    idle.write(
      `POST /v1/responses HTTP/1.1\r\n${standing}content-type: application/json\r\ncontent-length: ${small.length}\r\n\r\n${small}`,
    );
    let answer = '';
    idle.on('data', (chunk) => (answer += String(chunk)));
    await expect.poll(() => passing(() => answer), soon).toMatch(/^HTTP\/1\.1 200/);
    steps[0]?.resolve();
    await expect.poll(() => passing(() => streamed), soon).toMatch(/"delta":"after all"[^]*response\.completed/);
    // A task that is still being written down as the server closes would wait for its time.
    const id = /resp_\w+/.exec(answer)?.[0] ?? '';
    await expect.poll(() => passing(async () => (await server.uhp.get(id)).body.status), soon).toBe('completed');
  },
);
