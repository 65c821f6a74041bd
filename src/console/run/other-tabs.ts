// Tabs of one browser tell each other what they begin, so that two on one session show the same (C-040). A hint and no more:
// what is shown comes from the server.

import { textIn } from './loose.ts';
import { sessionIdOf, type ConsoleState } from '../state/state.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Channel } from './platform.ts';
import type { RunningTurn } from '../state/action.ts';
import type { UhpSession } from '../state/wire.ts';

interface Found {
  readonly sessionId: string;
  readonly running: RunningTurn;
}

export interface OtherTabs {
  /** Shown as soon as the page is free. */
  readonly found: (found: Found) => void;
  readonly renamed: (session: UhpSession) => UhpSession;
  close(): void;
}

export function joinTabs(channel: Channel, loop: ActionLoop): OtherTabs {
  let told = loop.getState().responses;
  let waiting: Found | null = null;
  const tell = (state: ConsoleState) => {
    if (state.responses === told) return;
    const sessionId = sessionIdOf(state);
    for (const [turn, responseId] of state.responses) {
      const asked = state.rows.find((row) => row.kind === 'user' && row.turn === turn);
      if (told.has(turn) || sessionId === null || asked?.kind !== 'user') continue;
      channel.say({ sessionId, responseId, user: asked.text });
    }
    told = state.responses;
  };
  const show = (state: ConsoleState) => {
    if (waiting === null || state.phase.name !== 'ready') return;
    const found = waiting;
    waiting = null;
    loop.dispatch({ type: 'task_found', ...found });
  };
  const found = (next: Found) => {
    waiting = next;
    show(loop.getState());
  };
  const unsubscribe = loop.subscribe(() => {
    tell(loop.getState());
    show(loop.getState());
  });
  channel.hear((message) => {
    const [sessionId, responseId] = [textIn(message, 'sessionId'), textIn(message, 'responseId')];
    const [user, title] = [textIn(message, 'user'), textIn(message, 'title')];
    const known = loop.getState().sessions.items.find(({ id }) => id === sessionId);
    if (title !== null && known !== undefined) loop.dispatch({ type: 'session_seen', session: { ...known, title } });
    if (sessionId === null || responseId === null || user === null) return;
    found({ sessionId, running: { responseId, user, startedMs: loop.getState().nowMs, replayUntil: -1 } });
  });
  return {
    found,
    renamed(session) {
      channel.say({ sessionId: session.id, title: session.title });
      return session;
    },
    close() {
      unsubscribe();
      channel.close();
    },
  };
}
