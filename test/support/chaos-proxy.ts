// A network between a client and a server that loses, delays, cuts up and repeats. Its faults follow from a seed; when they strike
// depends on the machine.

import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { SeededRandom } from './seeded-random.ts';

export interface ChaosProxy extends AsyncDisposable {
  readonly url: string;
  /** Where connections go from now on. */
  upstream: number;
  /** How often each fault has struck. */
  readonly faults: Readonly<Record<Fault, number>>;
}

type Fault = 'refused' | 'answer cut' | 'request cut' | 'repeated' | 'delayed' | 'one byte each';

export async function startChaos(random: SeededRandom): Promise<ChaosProxy> {
  const faults = { refused: 0, 'answer cut': 0, 'request cut': 0, repeated: 0, delayed: 0, 'one byte each': 0 };
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer({ noDelay: true }, (client) => {
    keep(client);
    const strikes = (fault: Fault, percent: number) => random.below(100) < percent && ++faults[fault] > 0;
    if (strikes('refused', 5)) return void client.destroy();
    const target = keep(connect(proxy.upstream, '127.0.0.1'));
    const end = () => [client, target].forEach((socket) => socket.destroy());
    for (const socket of [client, target]) socket.on('error', end).on('close', end);

    // Every byte of the request reaches the server a second time, over a connection of its own.
    const twin = strikes('repeated', 12) ? keep(connect(proxy.upstream, '127.0.0.1')) : null;
    twin?.resume();
    client.on('close', () => twin?.destroy());

    const upTo = strikes('request cut', 8) ? random.below(900) : Infinity;
    const downTo = strikes('answer cut', 40) ? random.below(5_000) : Infinity;
    const delayMs = strikes('delayed', 20) ? random.below(20) : 0;
    const each = strikes('one byte each', 10);
    pass(client, [target, ...(twin === null ? [] : [twin])], { limit: upTo, delayMs: 0, each: false, end });
    pass(target, [client], { limit: downTo, delayMs, each, end });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: ChaosProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upstream: 0,
    faults,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

interface Passage {
  /** Bytes until the connection is gone. */
  readonly limit: number;
  readonly delayMs: number;
  readonly each: boolean;
  end(): void;
}

function pass(from: Socket, to: readonly Socket[], { limit, delayMs, each, end }: Passage): void {
  let passed = 0;
  const forward = (chunk: Buffer) => {
    const some = chunk.subarray(0, limit - passed);
    passed += some.length;
    for (const socket of to) {
      if (socket.destroyed) continue;
      if (each) for (const byte of some) socket.write(Uint8Array.of(byte));
      else socket.write(some);
    }
    // After what was written has left.
    if (passed >= limit) setImmediate(end);
  };
  from.on('data', (chunk: Buffer) => {
    if (delayMs > 0) setTimeout(forward, delayMs, chunk);
    else forward(chunk);
  });
}
