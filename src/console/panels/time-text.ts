const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** How long ago, in a word or two: `now`, `5 min`, `3 h`, `Yesterday`, `12 Mar`. */
export function agoText(thenMs: number, nowMs: number): string {
  const ago = Math.max(0, nowMs - thenMs);
  if (ago < minuteMs) return 'now';
  if (ago < 60 * minuteMs) return `${Math.floor(ago / minuteMs)} min`;
  const [then, now] = [new Date(thenMs), new Date(nowMs)];
  if (then.toDateString() === now.toDateString()) return `${Math.floor(ago / (60 * minuteMs))} h`;
  if (then.toDateString() === new Date(nowMs - dayMs).toDateString()) return 'Yesterday';
  const year = then.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const);
  return then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year });
}
