export const composerId = 'message';

/** Not where that brings up a keyboard over the page. */
export function focusMessage(): void {
  if (canHover()) document.getElementById(composerId)?.focus();
}

/** Whoever cannot hover has no keys either, most likely. */
export function canHover(): boolean {
  return !matchMedia('(hover: none)').matches;
}
