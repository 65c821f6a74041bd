// The network between one node and the database: it can be cut, stand still, be slow, or be gone for a while.

import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

export interface Wire extends AsyncDisposable {
  /** The address of the database, by way of this wire. */
  readonly url: string;
  /** What is connected is cut; who comes anew is let through. */
  cut(): void;
  /** From now on. `stalled`: nothing is heard and nobody is told; `refused`: cut, and nobody is let in; a number: so many ms late. */
  set(state: WireState): void;
}

export type WireState = 'open' | 'stalled' | 'refused' | number;

export async function startWire(database: string): Promise<Wire> {
  const url = new URL(database);
  const target = Number(url.port);
  const sockets = new Set<Socket>();
  const line: { state: WireState } = { state: 'open' };
  let changed = Promise.withResolvers<void>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  async function pass(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const bytes of from) {
        while (line.state === 'stalled') await changed.promise;
        if (typeof line.state === 'number') await pause(line.state);
        if (!to.write(bytes)) await once(to, 'drain');
      }
    } finally {
      from.destroy();
      to.destroy();
    }
  }
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    if (line.state === 'refused') return void client.destroy();
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    // Either direction ends with its connection, whichever way that went.
    for (const passage of [pass(client, upstream), pass(upstream, client)]) passage.catch(() => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cut,
    set(next) {
      line.state = next;
      if (next === 'refused') cut();
      changed.resolve();
      changed = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      line.state = 'refused';
      changed.resolve();
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
