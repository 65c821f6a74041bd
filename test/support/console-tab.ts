// The console page without its face, in this process: real requests to a real server, real locks, real channels between tabs,
// and of the browser only what the page asks of it.

import { connect, type Client } from '../../src/client/index.ts';
import { createConsole, type Console } from '../../src/console/run/console.ts';
import { clientClock, clientRandom } from '../../src/client/system.ts';
import { short } from '../../src/console/state/rig.ts';
import type { ConsoleState } from '../../src/console/state/state.ts';
import type { PageEffect } from '../../src/console/panels/console-store.ts';
import type { Platform, PlatformListener } from '../../src/console/run/platform.ts';

/** What tabs of one browser share. */
export interface FakeBrowser {
  readonly kept: Map<string, string>;
  readonly name: string;
  /** Null: there is none. */
  locks: Platform['locks'];
  /** True: the browser keeps nothing. */
  forbidden: boolean;
}

let browsers = 0;

export function openBrowser(): FakeBrowser {
  const name = `browser ${browsers++}`;
  // The locks of this process, those of each browser apart.
  const request = (lock: string, ...more: unknown[]) =>
    Reflect.apply(locks.request, locks, [`${name} ${lock}`, ...more]);
  return { name, kept: new Map(), locks: { request }, forbidden: false };
}
const { locks } = navigator;

export interface TabOptions {
  readonly url: string;
  readonly key: string;
  readonly browser?: FakeBrowser;
  readonly path?: string;
  /** Absent: the real ones. */
  readonly clock?: Platform['clock'];
  readonly fetch?: typeof fetch;
}

export interface Tab extends Disposable {
  readonly console: Console;
  readonly state: ConsoleState;
  readonly shown: readonly string[];
  readonly effects: readonly PageEffect[];
  /** Of the address. */
  readonly path: string;
  readonly visits: readonly string[];
  readonly isSignedOut: boolean;
  readonly saved: readonly { readonly name: string; readonly bytes: ArrayBuffer }[];
  /** Writes and sends. */
  say(text: string): void;
  /** Waits until it is so. */
  until(isSo: (state: ConsoleState) => boolean, what?: string): Promise<ConsoleState>;
  hide(): void;
  show(): void;
  offline(): void;
  online(): void;
  back(): void;
  /** The same tab again, as after a reload. */
  reload(): Tab;
}

export function openTab({
  url,
  key,
  browser = openBrowser(),
  path = '/',
  clock = clientClock,
  fetch: by,
}: TabOptions): Tab {
  return open({ url, key, browser, clock, by }, [path], new Map());
}

interface Of {
  readonly url: string;
  readonly key: string;
  readonly browser: FakeBrowser;
  readonly clock: Platform['clock'];
  readonly by: typeof fetch | undefined;
}

function open(of: Of, visits: string[], tabKept: Map<string, string>): Tab {
  const { url, key, browser, clock, by } = of;
  let [isVisible, isOnline, isSignedOut] = [true, true, false];
  let listener: PlatformListener | null = null;
  const saved: { readonly name: string; readonly bytes: ArrayBuffer }[] = [];
  const network: typeof fetch = (...request) =>
    isOnline ? (by ?? fetch)(...request) : Promise.reject(new TypeError('offline'));
  const storageOf = (kept: Map<string, string>) => {
    if (browser.forbidden) throw new Error('The browser forbids it.');
    return {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, text: string) => void kept.set(name, text),
      removeItem: (name: string) => void kept.delete(name),
    };
  };
  const platform: Platform = {
    clock,
    random: clientRandom,
    connect: (options): Client => connect(url, key, { ...options, fetch: network }),
    storage: (kind) => storageOf(kind === 'browser' ? browser.kept : tabKept),
    locks: browser.locks,
    openChannel(name) {
      const channel = new BroadcastChannel(`${browser.name} ${name}`);
      return {
        // Of a window it would need one; a channel has no other origin.
        // oxlint-disable-next-line unicorn/require-post-message-target-origin
        say: (message) => channel.postMessage(message),
        hear: (hear) => channel.addEventListener('message', (event) => hear(Reflect.get(event, 'data'))),
        close: () => channel.close(),
      };
    },
    onFrame: (callback) => void setImmediate(callback),
    isVisible: () => isVisible,
    isOnline: () => isOnline,
    path: () => visits.at(-1) ?? '/',
    pushPath: (path) => void visits.push(path),
    save: (bytes, name) => void saved.push({ name, bytes }),
    pixelsOf: async () => 1,
    listen(heard) {
      listener = heard;
      return () => (listener = null);
    },
  };
  const page = createConsole({ platform, principal: 'owner', onSignedOut: () => (isSignedOut = true) });
  const effects: PageEffect[] = [];
  page.onPageEffect((effect) => effects.push(effect));
  const close = () => {
    listener?.leaving();
    page.close();
  };
  return {
    console: page,
    effects,
    visits,
    saved,
    get state() {
      return page.getState();
    },
    get shown() {
      return page.getState().rows.map(short);
    },
    get path() {
      return platform.path();
    },
    get isSignedOut() {
      return isSignedOut;
    },
    say(text) {
      page.dispatch({ type: 'draft_changed', draft: text });
      page.dispatch({ type: 'submit', id: clientRandom.token() });
    },
    until: (isSo, what = String(isSo)) => until(page, isSo, what),
    hide: () => ((isVisible = false), listener?.visibilityChanged()),
    show: () => ((isVisible = true), listener?.visibilityChanged()),
    offline: () => ((isOnline = false), listener?.networkChanged()),
    online: () => ((isOnline = true), listener?.networkChanged()),
    back: () => (visits.pop(), listener?.pathChanged()),
    reload() {
      close();
      return open(of, visits, tabKept);
    },
    [Symbol.dispose]: close,
  };
}

function until(page: Console, isSo: (state: ConsoleState) => boolean, what: string): Promise<ConsoleState> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!isSo(page.getState())) return;
      clearTimeout(timer);
      unsubscribe();
      resolve(page.getState());
    };
    const timer = setTimeout(() => {
      unsubscribe();
      const { phase, rows, session, notices } = page.getState();
      const at = JSON.stringify({ phase, session, rows: rows.map(short), notices });
      reject(new Error(`It did not come: ${what}. The page stands at ${at}`));
    }, 10_000);
    const unsubscribe = page.subscribe(look);
    look();
  });
}

export const isReady = ({ phase }: ConsoleState) => phase.name === 'ready';
