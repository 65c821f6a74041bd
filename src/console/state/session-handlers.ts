import { changeAttachment } from './composer.ts';
import { forgetSession, seeSession, settleSearch, takeSessions } from './session-list.ts';
import { loadApprovals } from './approvals.ts';
import { missSession, restoreRows, takeFound, takeSession } from './open-session.ts';
import { sessionIdOf } from './state.ts';
import { stay } from './reduced.ts';
import { takeEarlier } from './load-earlier.ts';
import type { Handlers } from './handlers.ts';
import type { SessionAction } from './action.ts';

export const sessionHandlers: Handlers<SessionAction['type']> = {
  session_loaded: takeSession,
  task_found: takeFound,
  rows_restored: (state, { rows, draft }) => restoreRows(state, rows, draft),
  session_missing: missSession,
  earlier_loaded: takeEarlier,
  approvals_loaded: (state, { sessionId, approvals }) =>
    sessionIdOf(state) === sessionId ? loadApprovals(state, approvals) : stay(state),
  files_loaded: (state, { files }) => stay({ ...state, files }),
  sessions_loaded: takeSessions,
  session_seen: (state, { session }) => seeSession(state, session),
  search_settled: settleSearch,
  session_deleted: (state, { sessionId }) => forgetSession(state, sessionId),
  shared: (state, { share }) =>
    stay({ ...state, share: share?.enabled === true ? { kind: 'on', share } : { kind: 'off' } }),
  catalogue_loaded: (state, { models, harnesses, steering }) =>
    stay({ ...state, catalogue: { models, harnesses, steering } }),
  attachment_changed: (state, { attachment }) => stay(changeAttachment(state, attachment)),
};
