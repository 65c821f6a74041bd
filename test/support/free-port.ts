import { createServer } from 'node:net';
import { once } from 'node:events';

/** A port of loopback that nobody listens on; somebody else may be quicker to take it. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
