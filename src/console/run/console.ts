// The page without its face: state, effects, and all that goes on without being asked.

import { createActionLoop, type ActionLoop } from './action-loop.ts';
import { createKept } from './kept.ts';
import { createPerformer } from './perform.ts';
import { createSessionFiles } from './session-files.ts';
import { joinTabs } from './other-tabs.ts';
import { lookAgain } from './look-again.ts';
import { sessionIn, watchPage } from './watch-page.ts';
import type { Kept } from './kept.ts';
import type { ConsoleStore, PageEffect } from '../panels/console-store.ts';
import type { Platform } from './platform.ts';

/** Views read `getState`, are told by `subscribe`, and say what a person does by `dispatch`. */
export interface Console extends ConsoleStore {
  /** Leaves the page; tasks go on. */
  close(): void;
}

export interface ConsoleOptions {
  readonly platform: Platform;
  /** Whose page it is: what this browser keeps is kept apart. */
  readonly principal: string;
  /** The browser is signed in no more. */
  readonly onSignedOut: () => void;
}

export function createConsole({ platform, principal, onSignedOut }: ConsoleOptions): Console {
  const { clock } = platform;
  const listeners = new Set<(effect: PageEffect) => void>();
  const patient = { backoffMs: 500, maxBackoffMs: 4_000 };
  const client = platform.connect({ ...patient, maxAttempts: 3, timeoutMs: 20_000 });
  const kept = createKept({
    clock,
    storage: platform.storage,
    owner: principal,
    onFailure: () =>
      loop.dispatch({
        type: 'failed',
        id: 'storage',
        message: 'This browser keeps nothing for the page: drafts and settings are lost when it is closed.',
      }),
  });
  const performer = createPerformer({
    platform,
    client,
    kept,
    onSignedOut() {
      // The page goes with the sign-in; what was written is kept first.
      loop.dispatch({ type: 'signed_out' });
      onSignedOut();
    },
    renamed: (session) => tabs.renamed(session),
    loop: { getState: () => loop.getState(), dispatch: (action) => loop.dispatch(action) },
    cue: (effect) => listeners.forEach((listener) => listener(effect)),
  });
  const loop: ActionLoop = createActionLoop(platform, performer.perform);
  const tabs = joinTabs(platform.openChannel(`reins.${principal}`), loop);
  const unwatch = watchPage({
    platform,
    loop,
    kept,
    silentMs: performer.silentMs,
    giveSlotAway: performer.giveSlotAway,
    wantSlot: performer.wantSlot,
    lookAgain: (how) => void lookAgain({ client, loop, found: tabs.found }, how),
  });
  begin({ loop, kept, path: platform.path() });
  performer.readCatalogue();
  return {
    ...loop,
    onPageEffect(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    files: createSessionFiles({ platform, client, attach: performer.attach, dispatch: loop.dispatch }),
    close() {
      unwatch();
      tabs.close();
      performer.close();
    },
  };
}

/** As it was left: the session of the address, or what is written of a new one. */
function begin({ loop, kept, path }: { readonly loop: ActionLoop; readonly kept: Kept; readonly path: string }): void {
  const preferences = kept.readPreferences();
  const { draft } = kept.readDraft(null);
  loop.dispatch({ type: 'booted', preferences, draft });
  const sessionId = sessionIn(path);
  if (sessionId !== null) loop.dispatch({ type: 'session_opened', sessionId });
  else if (preferences.transport === 'agent') loop.dispatch({ type: 'rows_restored', rows: kept.readRows(), draft });
}
