import { startOf } from './read-session.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Client } from '../../client/index.ts';
import type { Effect } from '../state/effect.ts';
import type { ConsoleState } from '../state/state.ts';
import type { OtherTabs } from './other-tabs.ts';

export interface LookParts extends Pick<OtherTabs, 'found'> {
  readonly client: Client;
  readonly loop: ActionLoop;
  readonly perform: (effect: Effect) => void;
}

/** What went on in the open session while nobody looked, begun elsewhere: the newest turn is followed, or all is read anew. */
export async function lookAgain({ client, loop, found, perform }: LookParts): Promise<void> {
  perform({ type: 'loadSessions', cursor: null });
  const session = restingIn(loop.getState());
  if (session === null) return;
  const items = await client.sessions.turns(session.id).catch(() => []);
  const now = restingIn(loop.getState());
  // Meanwhile the person has gone on.
  if (now?.id !== session.id || now.tip !== session.tip) return;
  const at = items.findIndex(({ id }) => id === session.tip);
  const [next, ...more] = items.slice(at + 1);
  if (next === undefined) return;
  if (more.length > 0) return loop.dispatch({ type: 'session_opened', sessionId: session.id });
  found({ sessionId: session.id, running: { ...startOf(next), replayUntil: -1 } });
}

/** The open session, where nothing of it is under way. */
function restingIn(state: ConsoleState) {
  return state.session.kind === 'open' && state.phase.name === 'ready' ? state.session : null;
}
