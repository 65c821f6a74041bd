import { useSyncExternalStore } from 'react';

/** Wide enough for the list of sessions beside the transcript; `styles/layout.css` has the same number. */
export const wide = '(min-width: 56rem)';

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}
