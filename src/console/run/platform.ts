import type { clientClock, clientRandom } from '../../client/system.ts';
import type { Client, ClientOptions } from '../../client/index.ts';

/**
 * All that a page has of its browser; time, chance and the network come in here and nowhere else. Whatever else is in this
 * folder names nothing of a browser, and runs in tests without one.
 */
export interface Platform {
  readonly clock: typeof clientClock;
  readonly random: typeof clientRandom;
  connect(options: ClientOptions): Client;
  /** `browser`: of all tabs, and over restarts; `tab`: over reloads. @throws where the browser forbids it */
  readonly storage: (kind: 'browser' | 'tab') => KeptTexts;
  /** Of all tabs; null: this browser has none, or gives none to a page without TLS. */
  readonly locks: Locks | null;
  /** To all other tabs, and from them. */
  openChannel(name: string): Channel;
  /** Before the next picture; soon, where none is drawn. */
  readonly onFrame: (callback: () => void) => void;
  isVisible(): boolean;
  isOnline(): boolean;
  /** Of the address. */
  path(): string;
  pushPath(path: string): void;
  /** Hands a file to the person, under this name. */
  save(bytes: ArrayBuffer, name: string): void;
  /** Read from its head, before anything is drawn; null: it is no picture that the browser knows. */
  pixelsOf(image: Blob): Promise<number | null>;
  /** @returns  Ends it. */
  listen(listener: PlatformListener): () => void;
}

export interface KeptTexts {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

export interface Locks {
  /** The lock is held until what `granted` gives is settled; null: it is not free. */
  request(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly signal?: AbortSignal },
    granted: (lock: object | null) => unknown,
  ): Promise<unknown>;
}

export interface PlatformListener {
  readonly visibilityChanged: () => void;
  readonly networkChanged: () => void;
  /** A person went back or forth. */
  readonly pathChanged: () => void;
  /** The last moment in which the page can do something. */
  readonly leaving: () => void;
}

export interface Channel {
  say(message: unknown): void;
  hear(listener: (message: unknown) => void): void;
  close(): void;
}
