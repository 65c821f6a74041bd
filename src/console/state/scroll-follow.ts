// Whether the transcript keeps to its end while it grows (C-075). Growth never moves a reader who scrolled up.

export interface ScrollFollow {
  readonly following: boolean;
  readonly selecting: boolean;
  /** Until then nothing moves: a row is being opened or closed. */
  readonly heldUntilMs: number;
  readonly top: number;
}

export const followsEnd: ScrollFollow = { following: true, selecting: false, heldUntilMs: 0, top: 0 };

export type ScrollEvent =
  /** The place that is seen has changed, by a person or by us. `toEnd`: pixels from there to the end. */
  | { readonly type: 'scrolled'; readonly top: number; readonly toEnd: number; readonly byPerson: boolean }
  | { readonly type: 'selection_changed'; readonly selecting: boolean }
  | { readonly type: 'expander_used'; readonly atMs: number }
  /** An own message, or "Jump to latest". */
  | { readonly type: 'follow_asked' };

const nearPx = 64;
const holdMs = 200;

export function scrollFollow(state: ScrollFollow, event: ScrollEvent): ScrollFollow {
  switch (event.type) {
    case 'scrolled': {
      const up = event.byPerson && event.top < state.top;
      const following = up ? false : event.toEnd <= nearPx && event.byPerson ? true : state.following;
      return following === state.following && event.top === state.top ? state : { ...state, following, top: event.top };
    }
    case 'selection_changed':
      return { ...state, selecting: event.selecting };
    case 'expander_used':
      return { ...state, heldUntilMs: event.atMs + holdMs };
    case 'follow_asked':
      return { ...state, following: true, heldUntilMs: 0 };
  }
}

/** Asked after each growth: whether to go to the end now. */
export function goesToEnd({ following, selecting, heldUntilMs }: ScrollFollow, atMs: number): boolean {
  return following && !selecting && atMs >= heldUntilMs;
}
