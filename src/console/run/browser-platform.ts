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
      say: (message) => channel.postMessage(message),
      hear: (listener) => channel.addEventListener('message', ({ data }) => listener(data)),
      close: () => channel.close(),
    };
  },
  // Nothing is drawn of a page that is hidden, and no frame comes.
  onFrame: (callback) => void (document.hidden ? setTimeout(callback) : requestAnimationFrame(callback)),
  isVisible: () => !document.hidden,
  isOnline: () => navigator.onLine,
  path: () => location.pathname,
  pushPath: (path) => history.pushState(null, '', path),
  listen({ visibilityChanged, networkChanged, pathChanged, leaving }) {
    const ending = new AbortController();
    const { signal } = ending;
    document.addEventListener('visibilitychange', visibilityChanged, { signal });
    for (const name of ['online', 'offline']) window.addEventListener(name, networkChanged, { signal });
    window.addEventListener('popstate', pathChanged, { signal });
    window.addEventListener('pagehide', leaving, { signal });
    return () => ending.abort();
  },
};
