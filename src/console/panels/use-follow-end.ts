// The transcript keeps to its end while it grows, unless a reader has gone up (C-075). What follows from what is decided in
// `state/scroll-follow.ts`; here it is heard and done.
//
// F1. A scroll that is not where we put it is a person's.
// F2. Growth is seen by its size, so that whatever grows later (a picture, highlighted code) is followed as well.

import { useEffect, useRef, useState, type RefObject } from 'react';
import { followsEnd, goesToEnd, scrollFollow, type ScrollEvent } from '../state/scroll-follow.ts';
import { useStore } from './use-console.ts';

export interface FollowEnd {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  readonly following: boolean;
}

export function useFollowEnd(): FollowEnd {
  const store = useStore();
  const [scroller, content] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const [following, setFollowing] = useState(true);
  useEffect(() => {
    const [view, inner] = [scroller.current, content.current];
    if (view === null || inner === null) return;
    const follower = followEnd({ view, inner, onChange: setFollowing });
    const ends = [follower.end, store.onPageEffect((effect) => effect.type === 'follow' && setTimeout(follower.jump))];
    return () => ends.forEach((end) => end());
  }, [store, scroller, content]);
  return { scroller, content, following };
}

interface Follower {
  readonly view: HTMLElement;
  readonly inner: HTMLElement;
  readonly onChange: (following: boolean) => void;
}

interface Following {
  readonly jump: () => void;
  readonly end: () => void;
}

function followEnd({ view, inner, onChange }: Follower): Following {
  let state = followsEnd;
  let own = view.scrollTop;
  const take = (event: ScrollEvent) => {
    const before = state.following;
    state = scrollFollow(state, event);
    if (state.following !== before) onChange(state.following);
  };
  const toEnd = () => {
    view.scrollTop = view.scrollHeight;
    own = view.scrollTop;
  };
  const onScroll = () => {
    const top = view.scrollTop;
    const byPerson = Math.abs(top - own) > 1;
    take({ type: 'scrolled', top, toEnd: view.scrollHeight - view.clientHeight - top, byPerson });
    own = top;
  };
  const onSelect = () => {
    const selection = getSelection();
    const inside = selection !== null && !selection.isCollapsed && view.contains(selection.anchorNode);
    take({ type: 'selection_changed', selecting: inside });
  };
  const onClick = ({ target }: MouseEvent) => {
    if (target instanceof Element && target.closest('[aria-expanded]') !== null)
      take({ type: 'expander_used', atMs: Date.now() });
  };
  const sizes = new ResizeObserver(() => {
    if (goesToEnd(state, Date.now())) toEnd();
  });
  sizes.observe(inner);
  sizes.observe(view);
  const listening = new AbortController();
  const { signal } = listening;
  view.addEventListener('scroll', onScroll, { signal, passive: true });
  view.addEventListener('click', onClick, { signal, capture: true });
  document.addEventListener('selectionchange', onSelect, { signal });
  return {
    jump() {
      take({ type: 'follow_asked' });
      toEnd();
    },
    end() {
      listening.abort();
      sizes.disconnect();
    },
  };
}
