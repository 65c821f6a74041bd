import { useLayoutEffect, useRef, type RefObject } from 'react';
import type { Row } from '../state/row.ts';

/** So many pictures it takes until the browser has laid out what came into sight. */
const settlingFrames = 4;

/** Rows that come in before the first one move nobody who reads (C-038). */
export function useKeptPlace(scroller: RefObject<HTMLElement | null>, rows: readonly Row[], loading: boolean): void {
  const place = useRef<{ readonly turn: Element; readonly top: number } | null>(null);
  useLayoutEffect(() => {
    const view = scroller.current;
    const turn = view?.querySelector('.turn') ?? null;
    if (view === null || turn === null || !loading) return;
    const note = () => void (place.current = { turn, top: turn.getBoundingClientRect().top });
    note();
    view.addEventListener('scroll', note, { passive: true });
    return () => view.removeEventListener('scroll', note);
  }, [scroller, loading]);
  useLayoutEffect(() => {
    const [view, kept] = [scroller.current, place.current];
    if (view === null || kept === null || loading) return;
    place.current = null;
    let frames = settlingFrames;
    const keep = () => {
      view.scrollTop += kept.turn.getBoundingClientRect().top - kept.top;
      if (frames-- > 0 && kept.turn.isConnected) requestAnimationFrame(keep);
    };
    keep();
  }, [scroller, rows, loading]);
}
