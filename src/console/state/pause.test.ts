import { expect, test } from 'vitest';
import { createRig, event } from './rig.ts';
import { isPaused } from './pause.ts';
import { markOf } from './session-list.ts';
import { session } from './session-rig.ts';
import { statusText } from './status.ts';
import type { UhpSession } from './wire.ts';

const paused: UhpSession = { ...session, status: 'in_progress', reins_paused: true };
const going: UhpSession = { ...session, status: 'in_progress' };

/** A session with a task at rest, whose log is then read from its start. */
function opened() {
  const running = { responseId: 'resp_1', user: 'go', startedMs: 0, replayUntil: -1 };
  const rig = createRig().do(
    { type: 'sessions_loaded', sessions: [paused], next: null, from: null },
    { type: 'session_opened', sessionId: session.id },
    {
      type: 'session_loaded',
      session: paused,
      turns: [],
      more: false,
      running,
      spent: {},
      draft: {},
      chips: [],
    },
  );
  let number = 0;
  const hear = () =>
    rig.do({
      type: 'received',
      turn: 'resp_1',
      from: { kind: 'task', responseId: 'resp_1', number: number++ },
      events: [event.text('so')],
    });
  return { rig, hear };
}

const asked = (rig: ReturnType<typeof createRig>, type: string) => rig.effects.filter((each) => each.type === type);

test('C-031: a task at rest has not ended, and says that it is at rest, in the list as well', () => {
  const { rig } = opened();
  expect([rig.state.phase.name, statusText(rig.state), markOf(paused)]).toEqual(['busy', 'Paused', 'paused']);
});

test('what is heard of it puts that in doubt, once until the server has said', () => {
  const { rig, hear } = opened();
  hear();
  hear();
  expect([statusText(rig.state), asked(rig, 'lookAtSession')]).toEqual([
    'Paused',
    [{ type: 'lookAtSession', sessionId: session.id }],
  ]);
  rig.do({ type: 'session_seen', session: paused });
  hear();
  expect([isPaused(rig.state), asked(rig, 'lookAtSession').length]).toEqual([true, 2]);
  rig.do({ type: 'session_seen', session: going });
  hear();
  expect([statusText(rig.state), asked(rig, 'lookAtSession').length]).toEqual(['Working…', 2]);
});

test('a pause that was made elsewhere is seen with the list; a resume is shown at once, and asked for once', () => {
  const { rig } = opened();
  rig.do({ type: 'session_seen', session: going });
  rig.do({ type: 'sessions_loaded', sessions: [paused], next: null, from: null });
  expect(isPaused(rig.state)).toBe(true);
  rig.do({ type: 'resume' }, { type: 'resume' });
  expect([statusText(rig.state), asked(rig, 'resume')]).toEqual([
    'Working…',
    [{ type: 'resume', sessionId: session.id, responseId: 'resp_1' }],
  ]);
});

test('C-054: a title that a person gives stands at once, everywhere, and is sent; an empty one is none', () => {
  const { rig } = opened();
  rig.do({ type: 'session_renamed', sessionId: session.id, title: ' The hall ' });
  expect([rig.state.sessions.items[0]?.title, rig.state.session]).toMatchObject(['The hall', { title: 'The hall' }]);
  rig.do({ type: 'session_renamed', sessionId: session.id, title: '  ' });
  expect(asked(rig, 'renameSession')).toEqual([{ type: 'renameSession', sessionId: session.id, title: 'The hall' }]);
});
