import { useLayoutEffect, useRef, type RefObject } from 'react';
import type { Row } from '../state/row.ts';

/** Rows that come in before the first one move nobody who reads (C-038). */
export function useKeptPlace(scroller: RefObject<HTMLElement | null>, rows: readonly Row[], loading: boolean): void {
  const first = useRef<string | undefined>(undefined);
  const toEnd = useRef(0);
  useLayoutEffect(() => {
    const view = scroller.current;
    if (view === null || !loading) return;
    const note = () => void (toEnd.current = view.scrollHeight - view.scrollTop);
    note();
    view.addEventListener('scroll', note, { passive: true });
    return () => view.removeEventListener('scroll', note);
  }, [scroller, loading]);
  useLayoutEffect(() => {
    const view = scroller.current;
    const before = first.current;
    first.current = rows[0]?.id;
    if (view === null || before === undefined || before === first.current) return;
    const grew = rows.some(({ id }, at) => at > 0 && id === before);
    if (grew && toEnd.current > 0) view.scrollTop = view.scrollHeight - toEnd.current;
    toEnd.current = 0;
  }, [scroller, rows]);
}
