import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import type { Server } from 'node:http';

/** The HTTP server of this process behind a URL, as Node has it: what it does by itself can be looked at, and hurried. */
export async function nodeServerOf(url: string): Promise<Server> {
  const found = Promise.withResolvers<Server>();
  const look = (message: unknown) => {
    const { server } = message as { readonly server: Server };
    const address = server.address();
    if (typeof address === 'object' && address?.port === Number(new URL(url).port)) found.resolve(server);
  };
  subscribe('http.server.request.start', look);
  onTestFinished(() => void unsubscribe('http.server.request.start', look));
  await fetch(`${url}/healthz`);
  return found.promise;
}
