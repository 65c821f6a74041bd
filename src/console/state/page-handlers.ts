import { boot } from './open-session.ts';
import { connectNow } from './keep-link.ts';
import { stay } from './reduced.ts';
import { stopWaiting } from './stop-turn.ts';
import { withNotice } from './notices.ts';
import type { Handlers } from './handlers.ts';
import type { PageAction } from './action.ts';

export const pageHandlers: Handlers<PageAction['type']> = {
  booted: boot,
  tick: (state, { atMs }) => stopWaiting({ ...state, nowMs: atMs }, atMs),
  network_changed(state, { network }) {
    const next = { ...state, network };
    return network === 'online' ? connectNow(next, 0) : stay(next);
  },
  became_visible: (state, { silentMs }) => connectNow(state, silentMs),
  failed: (state, { id, message }) => {
    const earlier = state.earlier === 'loading' ? ('more' as const) : state.earlier;
    const share = state.share.kind === 'asking' ? ({ kind: 'unknown' } as const) : state.share;
    const sessions = { ...state.sessions, loading: false };
    return withNotice({ ...state, earlier, share, sessions }, { id, text: message });
  },
};
