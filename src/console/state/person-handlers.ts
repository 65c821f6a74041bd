import { askEarlier } from './load-earlier.ts';
import { changeComposer, forkAt, kept, recallChip, recallPrompt, submit } from './composer.ts';
import { connectNow } from './keep-link.ts';
import { changeChip } from './queue.ts';
import { changeSearch, moreSessions, moveHighlight, renameSession } from './session-list.ts';
import { dismissApproval, giveVerdict } from './approvals.ts';
import { openSession } from './open-session.ts';
import { resume } from './pause.ts';
import { sessionIdOf, turnOf } from './state.ts';
import { stay, withEffects } from './reduced.ts';
import { toNewest } from './run-turn.ts';
import { stop } from './stop-turn.ts';
import type { Handlers } from './handlers.ts';
import type { PersonAction } from './action.ts';

export const personHandlers: Handlers<PersonAction['type']> = {
  draft_changed: (state, { draft }) => kept(changeComposer(state, { draft })),
  submit: (state, { id, atMs }) => submit(state, id, atMs),
  stop: (state, { atMs }) => stop(state, atMs),
  resume,
  reconnect_asked: (state) => connectNow(state, 0),
  chip_edited: (state, { id, text }) =>
    kept(changeChip(state, id, (chip) => (chip.state === 'waiting' ? { ...chip, text } : chip))),
  chip_removed: (state, { id }) => kept(changeChip(state, id, (chip) => (chip.state === 'waiting' ? null : chip))),
  chip_recalled: (state, { id }) => recallChip(state, id),
  prompt_recalled: recallPrompt,
  row_toggled(state, { row, open }) {
    const turn = turnOf(state);
    const target = state.rows.find(({ id }) => id === row);
    // Thinking is all open while it goes on, and no choice is made of that (C-026).
    if (target === undefined || (target.kind === 'thinking' && target.turn === turn?.id)) return stay(state);
    return stay({ ...state, opened: new Map(state.opened).set(row, open) });
  },
  load_earlier: askEarlier,
  newest_asked: (state) => withEffects(toNewest(state), { type: 'follow' }),
  verdict_given: (state, { approvalId, verdict }) => giveVerdict(state, approvalId, verdict),
  approval_dismissed: (state, { approvalId, atMs }) => dismissApproval(state, approvalId, atMs),
  choice_changed: (state, { choice }) => kept(changeComposer(state, choice)),
  attachment_added(state, { id, name }) {
    const attachments = [...state.composer.attachments, { kind: 'uploading', id, name } as const];
    return withEffects(changeComposer(state, { attachments }), { type: 'upload', id, name });
  },
  attachment_removed: (state, { id }) =>
    stay(changeComposer(state, { attachments: state.composer.attachments.filter((each) => each.id !== id) })),
  forked: (state, { row }) => forkAt(state, row),
  fork_dropped: (state) => stay(changeComposer(state, { fork: null })),
  session_opened: (state, { sessionId }) => openSession(state, sessionId),
  session_renamed: (state, { sessionId, title }) => renameSession(state, sessionId, title),
  session_delete_confirmed: (state, { sessionId }) =>
    withEffects({ ...state, overlay: null }, { type: 'deleteSession', sessionId }),
  share_asked(state, { want }) {
    const sessionId = sessionIdOf(state);
    if (sessionId === null) return stay(state);
    const type = want === 'read' ? 'readShare' : want === 'on' ? 'share' : 'unshare';
    return withEffects({ ...state, share: { kind: 'asking' } }, { type, sessionId });
  },
  search_changed: (state, { query }) => changeSearch(state, query),
  search_moved: (state, { by }) => moveHighlight(state, by),
  sessions_asked: moreSessions,
  overlay_opened: (state, { overlay }) => stay({ ...state, overlay }),
  overlay_closed: (state) => stay(state.overlay === null ? state : { ...state, overlay: null }),
  notice_dismissed: (state, { id }) => stay({ ...state, notices: state.notices.filter((each) => each.id !== id) }),
  preferences_changed(state, { change }) {
    const preferences = { ...state.preferences, ...change };
    return withEffects({ ...state, preferences }, { type: 'savePreferences', preferences });
  },
};
