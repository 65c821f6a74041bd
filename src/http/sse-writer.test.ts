import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { createManualClock, type ManualClock } from '../testing/manual-clock.ts';
import { createOpenCalls } from './open-calls.ts';
import { writeSse, type SseBatch } from './sse-writer.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Source = (signal: AbortSignal) => AsyncIterable<SseBatch>;

interface Bench {
  readonly port: number;
  readonly clock: ManualClock;
  readonly calls: ReturnType<typeof createOpenCalls>;
  readonly responses: ServerResponse[];
  /** Settled streams: `null`, or what the writer threw. */
  readonly ended: unknown[];
}

async function serve(source: Source): Promise<Bench> {
  const [clock, calls] = [createManualClock(), createOpenCalls()];
  const bench = { clock, calls, responses: new Array<ServerResponse>(), ended: new Array<unknown>() };
  const server = createServer((_request: IncomingMessage, response: ServerResponse) => {
    const signal = calls.signalOf(response);
    bench.responses.push(response);
    writeSse(response, source(signal), { clock, signal }).then(
      () => bench.ended.push(null),
      (cause: unknown) => bench.ended.push(cause),
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { ...bench, port: (server.address() as AddressInfo).port };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  return socket;
}

/** Resolves when the condition holds; whatever makes it hold is under way on real sockets. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const frame = (n: number, size = 0) => `id: ${n}\ndata: {"n":${n},"pad":"${'x'.repeat(size)}"}\n\n`;

/** Ends on its signal, as the contract asks (W6). */
function silent(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

describe('the SSE writer', () => {
  test('UD-16: headers go out before the first event, and the connection ends after the last', async () => {
    const released = Promise.withResolvers<void>();
    const { port } = await serve(async function* () {
      await released.promise;
      yield { text: frame(0) };
      yield { text: frame(1) + frame(2) };
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(answer.headers.get('content-encoding')).toBeNull();
    released.resolve();
    expect(await answer.text()).toBe(frame(0) + frame(1) + frame(2));
  });

  test('UD-80: a comment comes every 15 s from the headers on, and the timer is gone with the stream', async () => {
    const wake = new AbortController();
    const { port, clock } = await serve(async function* (signal) {
      await Promise.race([silent(signal), silent(wake.signal)]);
      yield { text: frame(0) };
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    await clock.advance(40_000);
    wake.abort();
    expect(await answer.text()).toBe(`: keep-alive\n\n: keep-alive\n\n${frame(0)}`);
    await until(() => clock.pending === 0);
  });

  test('B042, B044: under backpressure each frame comes once, in order, and whole', async () => {
    const count = 2_000;
    const { port } = await serve(async function* () {
      for (let n = 0; n < count; n++) yield { text: frame(n, 3_000) };
      yield { text: frame(count, 400_000) };
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    const frames = (await answer.text()).split('\n\n').filter((text) => text !== '');
    expect(frames.map((text) => Number(/^id: (\d+)\n/.exec(text)?.[1]))).toEqual([...Array(count + 1).keys()]);
    for (const text of frames) expect(() => JSON.parse(text.slice(text.indexOf('data: ') + 6))).not.toThrow();
  });

  test('B043: a reader that takes nothing for 60 s is cut off, and the source is not read further', async () => {
    let asked = 0;
    let returned = false;
    const { port, clock, ended, responses } = await serve(async function* () {
      try {
        for (;;) yield { text: frame(asked++, 50_000) };
      } finally {
        returned = true;
      }
    });
    const socket = await open(port);
    socket.pause();
    await until(() => responses[0]?.socket?.writableNeedDrain === true);
    await blocked(() => asked);
    const before = asked;
    await clock.advance(59_000);
    expect([ended.length, asked]).toEqual([0, before]);
    await clock.advance(2_000);
    await until(() => ended.length === 1);
    expect([ended[0], asked, returned, clock.pending]).toEqual([null, before, true, 0]);
    socket.destroy();
  });

  test('B042: a reader that destroys its socket while the writer waits for it ends the wait, a hundred times', async () => {
    const { port, clock, ended, responses, calls } = await serve(async function* () {
      for (let n = 0; ; n++) yield { text: frame(n, 200_000) };
    });
    for (let round = 0; round < 100; round++) {
      const socket = await open(port);
      socket.pause();
      await until(() => responses[round]?.socket?.writableNeedDrain === true);
      socket.destroy();
    }
    await until(() => ended.length === 100);
    expect([...new Set(ended), clock.pending, calls.size]).toEqual([null, 0, 0]);
    for (const response of responses)
      expect([response.listenerCount('drain'), response.listenerCount('close')]).toEqual([0, 0]);
  });

  test('B039, B040, B045: a thousand readers that drop leave no timer, no listener and no open call', async () => {
    let running = 0;
    const { port, clock, ended, responses, calls } = await serve(async function* (signal) {
      running++;
      try {
        yield { text: frame(0) };
        await silent(signal);
        yield { text: frame(1) };
      } finally {
        running--;
      }
    });
    for (let round = 0; round < 20; round++) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => open(port)));
      await Promise.all(sockets.map((socket) => once(socket, 'data')));
      for (const socket of sockets) socket.destroy();
    }
    await until(() => ended.length === 1_000);
    expect([...new Set(ended), running, clock.pending, calls.size]).toEqual([null, 0, 0, 0]);
    for (const response of responses) expect(response.listenerCount('close')).toBe(0);
  });

  test('B040: a reader that drops in the last write settles the writer', async () => {
    const { port, clock, ended } = await serve(async function* () {
      yield { text: frame(0) };
    });
    for (let round = 0; round < 100; round++) (await open(port)).destroy();
    await until(() => ended.length >= 1 && clock.pending === 0);
  });

  test('a source that fails breaks the connection, so that nobody takes it for the end', async () => {
    const { port, clock, ended } = await serve(async function* () {
      yield { text: frame(0) };
      throw new Error('the log is gone');
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    await expect(answer.text()).rejects.toThrow();
    await until(() => ended.length === 1);
    expect(ended).toEqual([new Error('the log is gone')]);
    expect(clock.pending).toBe(0);
  });

  test('closing ends a stream after a whole frame, and the answer is complete HTTP', async () => {
    const { port, calls, ended } = await serve(async function* (signal) {
      yield { text: frame(0) };
      await silent(signal);
      signal.throwIfAborted();
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    await until(() => calls.size === 1);
    await calls.close();
    expect(await answer.text()).toBe(frame(0));
    expect(ended).toEqual([null]);
  });
});

/** Resolves when the value has stood still for some turns of the event loop: the kernel's buffers are full. */
async function blocked(value: () => number): Promise<void> {
  for (let still = 0, last = -1; still < 200; still++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (value() !== last) still = 0;
    last = value();
  }
}
