import type { UhpUsage } from './wire.ts';

type Figure = keyof UhpUsage;
const figures: readonly Figure[] = [
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
];

/** What nobody counted stays unknown; it is not zero. */
export function sumUsage(a: UhpUsage | null, b: UhpUsage | null): UhpUsage | null {
  if (a === null || b === null) return a ?? b;
  const sums = figures.flatMap((name) => {
    const [one, other] = [a[name], b[name]];
    return one === undefined && other === undefined ? [] : [[name, (one ?? 0) + (other ?? 0)] as const];
  });
  return Object.fromEntries(sums);
}

/** `12,340 tokens in · 512 out · 9,000 from cache`; null where nothing is known. */
export function usageText(usage: UhpUsage | null): string | null {
  if (usage === null) return null;
  const { input_tokens: sent, output_tokens: made, cache_read_tokens: cached } = usage;
  const parts = [
    sent === undefined ? [] : [`${count(sent)} tokens in`],
    made === undefined ? [] : [`${count(made)}${sent === undefined ? ' tokens' : ''} out`],
    cached === undefined || cached === 0 ? [] : [`${count(cached)} from cache`],
  ].flat();
  return parts.length === 0 ? null : parts.join(' · ');
}

function count(figure: number): string {
  return figure.toLocaleString('en-GB');
}

/** `42 s`, `3 min 5 s`, `1 h 2 min`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
