import { clientClock, clientRandom } from '../../client/system.ts';
import { connect } from '../../client/index.ts';
import type { Platform } from './platform.ts';

/** The browser that this page runs in. What stands for its user is a cookie, so there is no key. */
export const browserPlatform: Platform = {
  clock: clientClock,
  random: clientRandom,
  connect: (options) => connect('', null, options),
  storage: (kind) => (kind === 'browser' ? localStorage : sessionStorage),
  get locks() {
    return 'locks' in navigator ? navigator.locks : null;
  },
  openChannel(name) {
    const channel = new BroadcastChannel(name);
    return {
      // Of a window it would need one; a channel has no other origin.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      say: (message) => channel.postMessage(message),
      hear: (listener) => channel.addEventListener('message', ({ data }) => listener(data)),
      close: () => channel.close(),
    };
  },
  onFrame(callback) {
    let isDone = false;
    const once = () => {
      if (!isDone) callback();
      isDone = true;
    };
    // Nothing is drawn of a page that is hidden, or becomes so, and no frame comes.
    requestAnimationFrame(once);
    setTimeout(once, document.hidden ? 0 : 250);
  },
  isVisible: () => !document.hidden,
  isOnline: () => navigator.onLine,
  path: () => location.pathname,
  pushPath: (path) => history.pushState(null, '', path),
  save,
  pixelsOf,
  listen(listener) {
    const ending = new AbortController();
    const { signal } = ending;
    document.addEventListener('visibilitychange', listener.visibilityChanged, { signal });
    for (const name of ['online', 'offline']) window.addEventListener(name, listener.networkChanged, { signal });
    window.addEventListener('popstate', listener.pathChanged, { signal });
    window.addEventListener('pagehide', listener.leaving, { signal });
    return () => ending.abort();
  },
};

async function pixelsOf(image: Blob): Promise<number | null> {
  const address = URL.createObjectURL(image);
  const element = new Image();
  try {
    return await new Promise<number | null>((resolve) => {
      element.addEventListener('load', () => resolve(element.naturalWidth * element.naturalHeight));
      element.addEventListener('error', () => resolve(null));
      element.src = address;
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** As bytes of no type, so that no browser opens them by itself. */
function save(bytes: ArrayBuffer, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser begins to read it a moment later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
