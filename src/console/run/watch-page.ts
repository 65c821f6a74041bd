// What happens to the page itself: it is seen or not, the network comes and goes, a person goes back, another tab begins a turn.

import { cursorOf } from '../state/status.ts';
import { isUndecided } from '../state/from-uhp.ts';
import { sessionIdOf, turnOf, type ConsoleState } from '../state/state.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Kept } from './kept.ts';
import type { Platform } from './platform.ts';

/** Hidden for so long, a tab gives its stream to another one (C-040). */
const hiddenMs = 60_000;
const tickMs = 1_000;
const glanceMs = 20_000;

export interface WatchParts {
  readonly platform: Platform;
  readonly loop: ActionLoop;
  readonly kept: Kept;
  readonly silentMs: () => number;
  readonly giveSlotAway: () => void;
  readonly wantSlot: () => void;
  readonly lookAgain: (how: 'glance' | 'closely') => void;
}

/** @returns  Ends it. */
export function watchPage(parts: WatchParts): () => void {
  const { platform, loop, kept } = parts;
  let cancelHidden: (() => void) | null = null;
  const network = () => platform.isOnline();
  const ends = [
    watchTime(parts),
    watchOthers(parts),
    platform.listen({
      visibilityChanged() {
        cancelHidden?.();
        cancelHidden = null;
        if (!platform.isVisible()) {
          keep();
          cancelHidden = platform.clock.timer(hiddenMs, () => parts.giveSlotAway());
          return;
        }
        loop.dispatch({ type: 'became_visible', silentMs: parts.silentMs() });
        parts.wantSlot();
        parts.lookAgain('closely');
      },
      networkChanged() {
        loop.dispatch({ type: 'network_changed', network: network() ? 'online' : 'offline' });
        if (network()) parts.lookAgain('closely');
      },
      pathChanged() {
        const sessionId = sessionIn(platform.path());
        if (sessionId !== sessionIdOf(loop.getState())) loop.dispatch({ type: 'session_opened', sessionId });
      },
      leaving: () => keep(),
    }),
  ];
  const keep = () => {
    const cursor = cursorOf(loop.getState());
    if (cursor !== null) kept.saveCursor(cursor);
    kept.flush();
  };
  if (!network()) loop.dispatch({ type: 'network_changed', network: 'offline' });
  return () => {
    keep();
    cancelHidden?.();
    for (const end of ends) end();
  };
}

/** Ticks while something is shown in seconds, and no longer. */
function watchTime({ platform: { clock }, loop }: WatchParts): () => void {
  let cancel: (() => void) | null = null;
  const tick = () => {
    cancel = null;
    loop.dispatch({ type: 'tick' });
  };
  const look = () => {
    if (cancel === null && showsTime(loop.getState())) cancel = clock.timer(tickMs, tick);
  };
  const unsubscribe = loop.subscribe(look);
  look();
  return () => {
    cancel?.();
    unsubscribe();
  };
}

/** Sessions go on elsewhere: a glance now and then, while somebody sees the page. */
function watchOthers({ platform, lookAgain }: WatchParts): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = platform.clock.timer(glanceMs, () => {
      if (platform.isVisible() && platform.isOnline()) lookAgain('glance');
      wait();
    });
  };
  wait();
  return () => cancel();
}

function showsTime(state: ConsoleState): boolean {
  const expires = state.approvals.some(({ approval }) => isUndecided(approval) && approval.expires_at !== null);
  return turnOf(state) !== null || expires;
}

export function pathOf(sessionId: string | null): string {
  return sessionId === null ? '/' : `/s/${encodeURIComponent(sessionId)}`;
}

export function sessionIn(path: string): string | null {
  const name = /^\/s\/([^/]+)\/?$/.exec(path)?.[1];
  if (name === undefined) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
