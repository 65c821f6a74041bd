import { useEffect, useRef, type RefObject } from 'react';

/** The element that this is given to has the focus when it comes. */
export function useFocused<T extends HTMLElement>(): RefObject<T | null> {
  const element = useRef<T>(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}
