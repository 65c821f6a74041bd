import type { KeyboardEvent } from 'react';

/** Not that of an input method, which only takes what was composed (C-071). */
export function isEnter({ key, nativeEvent }: KeyboardEvent): boolean {
  return key === 'Enter' && !nativeEvent.isComposing && nativeEvent.keyCode !== 229;
}
