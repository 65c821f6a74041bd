import { focusMessage } from './focus-message.ts';
import { useLayoutEffect, type RefObject } from 'react';

/** Where what goes has the focus, the next of the list gets it, else the one before, else the message. */
export function usePassedOnFocus(item: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const own = item.current;
    return () => {
      if (own?.contains(document.activeElement) !== true) return;
      const other = own.nextElementSibling ?? own.previousElementSibling;
      const next = other?.querySelector('button');
      if (next instanceof HTMLElement) next.focus();
      else focusMessage();
    };
  }, [item]);
}
