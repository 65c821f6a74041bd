import { listSessions } from './list-server.ts';
import { startOf } from './read-session.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Client } from '../../client/index.ts';
import type { ConsoleState } from '../state/state.ts';
import type { OtherTabs } from './other-tabs.ts';

export interface LookParts extends Pick<OtherTabs, 'found'> {
  readonly client: Client;
  readonly loop: ActionLoop;
}

/**
 * The list, and what went on in the open session, begun elsewhere: the newest turn is followed, or all is read anew.
 * @param how  `glance`: the session is read only where the list says that there is news.
 */
export async function lookAgain({ client, loop, found }: LookParts, how: 'glance' | 'closely'): Promise<void> {
  const session = restingIn(loop.getState());
  const before = changedAt(loop.getState(), session?.id);
  const list = await listSessions(client, { cursor: null }).catch(() => null);
  if (list !== null) loop.dispatch(list);
  if (session === null || (how === 'glance' && changedAt(loop.getState(), session.id) === before)) return;
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

function changedAt({ sessions }: ConsoleState, id: string | undefined): number | undefined {
  return sessions.items.find((each) => each.id === id)?.updated_at;
}
