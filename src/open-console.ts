// The console's part of a server, and the link that leads to it.

import { allScopes } from './auth/keys.ts';
import { createConsoleSessions, type Keys } from './auth/console-sessions.ts';
import { fileURLToPath } from 'node:url';
import { keysInForce } from './auth/keys-in-force.ts';
import { openConsoleFiles } from './http/console-files.ts';
import { systemRandom } from './system.ts';
import type { Clock } from './core/clock.ts';
import type { ConsoleParts } from './http/routes/console.ts';
import type { KeyRecord, PrincipalStore } from './stores/principal-store.ts';

/** The build lies beside `src/` as it does in the published package. */
const built = fileURLToPath(new URL('../dist/console', import.meta.url));

export interface Console {
  readonly parts: ConsoleParts;
  /** For the person who started the server: where a browser of this machine can follow it, it signs that in as the owner. */
  link(url: string): Promise<string>;
}

export interface ConsoleOptions {
  readonly store: PrincipalStore;
  readonly operatorKey: KeyRecord | null;
  readonly owner: string;
  readonly clock: Clock;
}

export function openConsole({ store, operatorKey, owner, clock }: ConsoleOptions): Console {
  const keys: Keys = keysInForce(store, operatorKey);
  const sessions = createConsoleSessions({ store, keys, clock, random: systemRandom });
  return {
    parts: { sessions, files: openConsoleFiles(built) },
    async link(url) {
      const page = loopbackUrl(url);
      if (page === null) return `${url}/`;
      // The oldest is the one that the first start made. A key of less rights was made for something else.
      const isOwners = ({ principal, revokedAtMs, scopes }: KeyRecord) =>
        principal === owner && revokedAtMs === null && allScopes.every((scope) => scopes.includes(scope));
      const key = operatorKey ?? (await store.keys()).find(isOwners);
      return key === undefined ? `${page}/` : `${page}/#ticket=${sessions.makeTicket(key.keyId)}`;
    },
  };
}

/** Null: the server cannot be reached by a loopback address. */
export function loopbackUrl(url: string): string | null {
  const { protocol, hostname, port } = new URL(url);
  const host = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[hostname] ?? hostname;
  const isLoopback = host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
  return isLoopback ? `${protocol}//${host}${port === '' ? '' : `:${port}`}` : null;
}
