import type { clientClock, clientRandom } from '../../client/system.ts';
import type { Client, ClientOptions } from '../../client/index.ts';

/** All that a page has of its browser; time, chance and the network come in here and nowhere else. */
export interface Platform {
  readonly clock: typeof clientClock;
  readonly random: typeof clientRandom;
  connect(options: ClientOptions): Client;
  /** `browser`: of all tabs, and over restarts; `tab`: over reloads. @throws where the browser forbids it */
  storage(kind: 'browser' | 'tab'): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** Of all tabs; null: this browser has none, or gives none to a page without TLS. */
  readonly locks: Pick<LockManager, 'request'> | null;
  /** To all other tabs, and from them. */
  openChannel(name: string): Channel;
  /** Before the next picture; soon, where none is drawn. */
  onFrame(callback: () => void): void;
  isVisible(): boolean;
  isOnline(): boolean;
  /** Of the address. */
  path(): string;
  pushPath(path: string): void;
  /** @returns  Ends it. */
  listen(listener: PlatformListener): () => void;
}

export interface PlatformListener {
  visibilityChanged(): void;
  networkChanged(): void;
  /** A person went back or forth. */
  pathChanged(): void;
  /** The last moment in which the page can do something. */
  leaving(): void;
}

export interface Channel {
  say(message: unknown): void;
  hear(listener: (message: unknown) => void): void;
  close(): void;
}
